package portforward

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Backend is the target of forwarded connections: a port of one pod, or of any ready pod that a selector matches.
type Backend struct {
	kube.PodSource

	// Port is the port of the pod, by number or name. Zero means the first port that the pod declares.
	Port intstr.IntOrString
}

// Dial connects to a backend, as [DialPod] does. An error is a *kube.Error, or a *NoPodError.
func Dial(ctx context.Context, c *kube.Cluster, b Backend) (net.Conn, error) {
	pod, err := target(ctx, c, b)
	if err != nil {
		return nil, err
	}
	port, err := PodPort(pod, b.Port)
	if err != nil {
		return nil, &NoPodError{Backend: b, Pods: []*corev1.Pod{pod}, err: err}
	}
	return DialPod(ctx, c, pod.Namespace, pod.Name, port)
}

// target selects the pod of a connection.
func target(ctx context.Context, c *kube.Cluster, b Backend) (*corev1.Pod, error) {
	if b.Pod != "" {
		pod, err := kube.PodNow(ctx, c.API, b.Namespace, b.Pod)
		if err != nil {
			return nil, err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return nil, &NoPodError{Backend: b, Pods: []*corev1.Pod{pod}}
		}
		return pod, nil
	}
	pods, err := b.Pods(ctx, c)
	if err == nil && FirstReady(pods) == nil { // the watch may be slightly outdated
		if pods, err = kube.PodsNow(ctx, c.API, b.Namespace, b.Labels); err == nil {
			pods, err = b.Own(ctx, c, pods)
		}
	}
	if err != nil {
		return nil, err
	}
	if pod := FirstReady(pods); pod != nil {
		return pod, nil
	}
	return nil, &NoPodError{Backend: b, Pods: pods}
}

// FirstReady returns the first pod that is [Ready], or nil.
func FirstReady(pods []*corev1.Pod) *corev1.Pod {
	if i := slices.IndexFunc(pods, Ready); i >= 0 {
		return pods[i]
	}
	return nil
}

// Ready reports whether a pod is ready and not being deleted.
func Ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && ready.PodReady(pod)
}

// PodPort returns a port of a pod by its number or name.
func PodPort(pod *corev1.Pod, port intstr.IntOrString) (int32, error) {
	if port.Type == intstr.Int && port.IntVal > 0 {
		return port.IntVal, nil
	}
	var names []string
	for _, container := range kind.LastingContainers(pod) {
		for _, p := range container.Ports {
			if port.Type == intstr.Int || p.Name == port.StrVal {
				return p.ContainerPort, nil
			}
			names = append(names, p.Name)
		}
	}
	if port.Type == intstr.Int {
		return 0, fmt.Errorf("pod %s/%s does not declare a port: specify the port", pod.Namespace, pod.Name)
	}
	return 0, fmt.Errorf("pod %s/%s has no port named %q; it has %q", pod.Namespace, pod.Name, port.StrVal, names)
}

// NoPodError reports that there is no pod or port to connect to.
type NoPodError struct {
	Backend Backend
	Pods    []*corev1.Pod // existing pods, none of which can be used
	err     error
}

func (e *NoPodError) Error() string {
	switch {
	case e.err != nil:
		return e.err.Error()
	case e.Backend.Pod != "":
		return fmt.Sprintf("pod %s/%s is not running: it is %s", e.Backend.Namespace, e.Backend.Pod,
			describe(e.Pods[0]))
	case len(e.Pods) == 0:
		return fmt.Sprintf("no pod of namespace %s has the labels %s", e.Backend.Namespace,
			labels.Set(e.Backend.Labels))
	}
	states := kind.Each(e.Pods[:min(len(e.Pods), 5)],
		func(pod *corev1.Pod) string { return pod.Name + " is " + describe(pod) })
	return fmt.Sprintf("none of %d pods is ready: %s", len(e.Pods), strings.Join(states, ", "))
}

func (e *NoPodError) Unwrap() error { return e.err }

// Explain implements the same method as [kube.Error.Explain].
func (e *NoPodError) Explain() (summary string, cause ready.Cause) {
	command := ready.Kubectl(e.Backend.Namespace, "get", "pods", "-l", labels.Set(e.Backend.Labels).String())
	if e.Backend.Pod != "" {
		command = ready.Kubectl(e.Backend.Namespace, "describe", "pod", e.Backend.Pod)
	}
	return "No pod to connect to", ready.Cause{
		Summary: "Cannot connect now: " + e.Error() + ".",
		Hint:    advice.Of("%s, and resume it if it is suspended.", advice.WaitReady),
		Command: command,
	}
}

// describe returns the reason why a pod is not ready, for messages.
func describe(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "being deleted"
	}
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting != nil && waiting.Reason != "" {
			return waiting.Reason
		}
	}
	if pod.Status.Phase == corev1.PodRunning {
		return "not ready yet"
	}
	return string(pod.Status.Phase)
}

// TargetPort returns the port of the pods for a port of a Service.
func TargetPort(p corev1.ServicePort) intstr.IntOrString {
	if p.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(p.Port)
	}
	return p.TargetPort
}

// TargetPortOf returns the port of the pods for one of the ports of a Service by its number, or for the first one if it
// is 0. A port that the Service does not have is a port of the pods.
func TargetPortOf(ports []corev1.ServicePort, port int32) intstr.IntOrString {
	for _, p := range ports {
		if port == 0 || p.Port == port {
			return TargetPort(p)
		}
	}
	return intstr.FromInt32(port)
}

// ServiceBackend returns the backend of a port of a Service, as [TargetPortOf] does.
func ServiceBackend(ctx context.Context, c *kube.Cluster, namespace, name string, port int32) (Backend, error) {
	service, err := kube.As[corev1.Service](c.Store.Get(ctx, kube.Ref{Kind: kind.Service().All(), Namespace: namespace,
		Name: name}))
	if err != nil {
		return Backend{}, err
	}
	if len(service.Spec.Selector) == 0 {
		return Backend{}, fmt.Errorf("no pod to connect to: Service %s/%s has no selector; "+
			"specify a pod or another Service", namespace, name)
	}
	return Backend{PodSource: kube.PodSource{Namespace: namespace, Labels: service.Spec.Selector},
		Port: TargetPortOf(service.Spec.Ports, port)}, nil
}
