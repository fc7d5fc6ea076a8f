package e2e

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// cluster is the dev cluster that the tests of workloads share. Each test has its own namespace.
type cluster struct {
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
}

// namespace creates a namespace and waits for its service account.
func (c cluster) namespace(t *testing.T, ns string) {
	t.Helper()
	if _, err := c.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the service account of the namespace", func(ctx context.Context) (string, bool) {
		_, err := c.client.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
		return fmt.Sprint(err), err == nil
	})
}

func (c cluster) deploy(t *testing.T, ns, name string, replicas int32, spec corev1.PodSpec) {
	t.Helper()
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
	if _, err := c.client.AppsV1().Deployments(ns).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c cluster) available(t *testing.T, ns, name string, want int32) {
	t.Helper()
	eventually(t, "the Deployment to be available", func(ctx context.Context) (string, bool) {
		got, err := c.client.AppsV1().Deployments(ns).Get(ctx, name, metav1.GetOptions{})
		return fmt.Sprintf("%+v, %v", got.Status, err), err == nil && got.Status.AvailableReplicas == want
	})
}

func (c cluster) pod(t *testing.T, ns string, spec corev1.PodSpec) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: spec}
	if _, err := c.client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// until waits until the only pod of the namespace meets a condition.
func (c cluster) until(t *testing.T, ns, what string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, what, func(ctx context.Context) (string, bool) {
		pods, err := c.client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil || len(pods.Items) != 1 {
			return fmt.Sprintf("%d pods, %v", len(pods.Items), err), false
		}
		pod = &pods.Items[0]
		return fmt.Sprintf("%+v", pod.Status), wanted(pod)
	})
	return pod
}

func (c cluster) event(t *testing.T, ns, kind, reason, message string) {
	t.Helper()
	eventually(t, "an event "+reason, func(ctx context.Context) (string, bool) {
		events, err := c.client.CoreV1().Events(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		var saw strings.Builder
		for _, e := range events.Items {
			fmt.Fprintf(&saw, "\n%s %s %s %s", e.InvolvedObject.Kind, e.Type, e.Reason, e.Message)
			if e.InvolvedObject.Kind == "Pod" && e.Type == kind && e.Reason == reason &&
				strings.Contains(e.Message, message) {
				return "", true
			}
		}
		return saw.String(), false
	})
}

func (c cluster) log(t *testing.T, ns string, opts corev1.PodLogOptions) (string, error) {
	t.Helper()
	stream, err := c.client.CoreV1().Pods(ns).GetLogs("pod", &opts).Stream(t.Context())
	if err != nil {
		return "", err
	}
	defer stream.Close()
	log, err := io.ReadAll(stream)
	return string(log), err
}

func (c cluster) secret(t *testing.T, ns string, data map[string]string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}, StringData: data}
	if _, err := c.client.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func imagePod(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}}
}

func gpuPod(gpus int64) corev1.PodSpec {
	spec := imagePod("nginx")
	spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": *resource.NewQuantity(gpus,
		resource.DecimalSI)}
	return spec
}

func state(pod *corev1.Pod) corev1.ContainerState {
	if len(pod.Status.ContainerStatuses) == 0 {
		return corev1.ContainerState{}
	}
	return pod.Status.ContainerStatuses[0].State
}

func waitingFor(reason string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { w := state(pod).Waiting; return w != nil && w.Reason == reason }
}

func waitingWith(message string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { w := state(pod).Waiting; return w != nil && w.Message == message }
}

func ready(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && condition(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}
