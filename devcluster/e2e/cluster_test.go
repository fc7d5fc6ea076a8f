package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestClusterRunsWorkloads(t *testing.T) { //nolint:tparallel // the code after the group must wait for it
	t.Parallel()
	dir, audit := t.TempDir(), filepath.Join(t.TempDir(), "audit.log")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	p := launch(t, nil, "--dir", dir, "--kubeconfig", kubeconfig, "--audit-log", audit,
		"--crds", filepath.Join("testdata", "widgets.yaml"),
		"--node", "name=gpu-0,gpus=8,product=NVIDIA-H100-80GB-HBM3,label.pool=a",
		"--node", "name=cpu-0", "--node", "name=kept,gpus=64,taint.team=ml:NoSchedule")
	if got := p.ready(t); got != kubeconfig {
		t.Errorf("READY %s; want %s", got, kubeconfig)
	}
	c := cluster{kubeconfig: kubeconfig}
	c.config, c.client = connect(t, kubeconfig)

	var volume string
	// The group ends when all of its parallel tests have ended.
	t.Run("workloads", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, cluster, string){
			"nodes-as-asked-for":     testNodes,
			"deployment":             testDeployment,
			"gpus-decide-the-node":   testGPUs,
			"nine-gpus-fit-nowhere":  testUnschedulable,
			"broken-pull":            testPull,
			"broken-crash":           testCrash,
			"broken-oom":             testOOM,
			"broken-config":          testConfig,
			"broken-heals":           testHeals,
			"broken-slow":            testSlow,
			"missing-secret":         testMissingSecret,
			"missing-volume":         testMissingVolume,
			"log-of-a-sound-pod":     testLog,
			"job":                    testJob,
			"claim":                  func(t *testing.T, c cluster, ns string) { volume = testClaim(t, c, ns) },
			"service-account":        testServiceAccount,
			"tokens-and-permissions": testToken,
			"quota":                  testQuota,
			"custom-resource":        testCustomResource,
			"kubectl":                testKubectl,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c.namespace(t, name)
				test(t, c, name)
			})
		}
	})

	p.stop(t, syscall.SIGTERM)
	wantEntries(t, dir, "devcluster-data", "devcluster.log")
	if _, err := os.Stat(volume); volume == "" || !os.IsNotExist(err) {
		t.Errorf("the directory of the volume %q still exists: %v", volume, err)
	}
	if log, err := os.ReadFile(audit); err != nil || !strings.Contains(string(log), `"username":"devcluster-admin"`) {
		t.Errorf("the audit log (%d bytes, %v) does not contain the user", len(log), err)
	}
}

func testNodes(t *testing.T, c cluster, _ string) {
	node, err := c.client.CoreV1().Nodes().Get(t.Context(), "gpu-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Labels["nvidia.com/gpu.product"] != "NVIDIA-H100-80GB-HBM3" || node.Labels["pool"] != "a" {
		t.Errorf("labels %v", node.Labels)
	}
	if gpus := node.Status.Allocatable["nvidia.com/gpu"]; gpus.Value() != 8 {
		t.Errorf("%s GPUs", gpus.String())
	}
	kept, err := c.client.CoreV1().Nodes().Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || len(kept.Spec.Taints) != 1 || kept.Spec.Taints[0].Key != "team" {
		t.Errorf("taints %+v, %v", kept.Spec.Taints, err)
	}
}

func testDeployment(t *testing.T, c cluster, ns string) {
	c.deploy(t, ns, "web", 3, corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}})
	c.available(t, ns, "web", 3)
	foreground := metav1.DeletePropagationForeground
	if err := c.client.AppsV1().Deployments(ns).Delete(t.Context(), "web",
		metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion of the Deployment and its pods", func(ctx context.Context) (string, bool) {
		_, err := c.client.AppsV1().Deployments(ns).Get(ctx, "web", metav1.GetOptions{})
		pods, listErr := c.client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		return fmt.Sprintf("%v, %v", err, listErr), apierrors.IsNotFound(err) && listErr == nil && len(pods.Items) == 0
	})
}

func testGPUs(t *testing.T, c cluster, ns string) {
	c.pod(t, ns, gpuPod(8))
	pod := c.until(t, ns, "the pod to be ready", ready)
	if pod.Spec.NodeName != "gpu-0" {
		t.Errorf("the pod runs on %s", pod.Spec.NodeName)
	}
}

func testUnschedulable(t *testing.T, c cluster, ns string) {
	c.pod(t, ns, gpuPod(9))
	pod := c.until(t, ns, "the scheduler's verdict", func(pod *corev1.Pod) bool {
		return condition(pod, corev1.PodScheduled).Reason == corev1.PodReasonUnschedulable
	})
	if message := condition(pod, corev1.PodScheduled).Message; !strings.Contains(message,
		"Insufficient nvidia.com/gpu") || !strings.Contains(message, "untolerated taint") {
		t.Errorf("message %q", message)
	}
}

func testPull(t *testing.T, c cluster, ns string) {
	c.pod(t, ns, imagePod("broken.invalid/pull:1"))
	pod := c.until(t, ns, "the back-off", waitingFor("ImagePullBackOff"))
	if message := state(pod).Waiting.Message; !strings.Contains(message,
		`Back-off pulling image "broken.invalid/pull:1": ErrImagePull: `) {
		t.Errorf("message %q", message)
	}
	c.event(t, ns, corev1.EventTypeWarning, "Failed", `Failed to pull image "broken.invalid/pull:1"`)
	c.event(t, ns, corev1.EventTypeNormal, "BackOff", `Back-off pulling image "broken.invalid/pull:1"`)
	if log, err := c.log(t, ns, corev1.PodLogOptions{}); !apierrors.IsBadRequest(err) ||
		!strings.Contains(err.Error(), "trying and failing to pull image") {
		t.Errorf("log: %q, %v", log, err)
	}
}

func testCrash(t *testing.T, c cluster, ns string) {
	c.pod(t, ns, imagePod("broken.invalid/crash:1"))
	pod := c.until(t, ns, "the back-off", waitingFor("CrashLoopBackOff"))
	status := pod.Status.ContainerStatuses[0]
	last := status.LastTerminationState.Terminated
	if last == nil || last.ExitCode != 1 || last.Reason != "Error" || status.RestartCount == 0 || status.Ready {
		t.Errorf("status %+v", status)
	}
	c.event(t, ns, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container main")
	for _, previous := range []bool{false, true} {
		log, err := c.log(t, ns, corev1.PodLogOptions{Previous: previous})
		if err != nil || !strings.HasSuffix(log, "ModuleNotFoundError: No module named 'kubetorch'\n") {
			t.Errorf("log (previous: %t): %q, %v", previous, log, err)
		}
	}
	restarts := status.RestartCount
	c.until(t, ns, "another restart",
		func(pod *corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount > restarts })
}

func testOOM(t *testing.T, c cluster, ns string) {
	c.pod(t, ns, imagePod("broken.invalid/oom:1"))
	pod := c.until(t, ns, "the back-off", waitingFor("CrashLoopBackOff"))
	last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.Reason != "OOMKilled" || last.ExitCode != 137 {
		t.Errorf("last termination %+v", last)
	}
}

func testConfig(t *testing.T, c cluster, ns string) {
	c.pod(t, ns, imagePod("broken.invalid/config/token:1"))
	pod := c.until(t, ns, "the configuration error", waitingFor("CreateContainerConfigError"))
	if message := state(pod).Waiting.Message; message != `secret "token" not found` {
		t.Errorf("message %q", message)
	}
	c.event(t, ns, corev1.EventTypeWarning, "Failed", `Error: secret "token" not found`)
}

func testHeals(t *testing.T, c cluster, ns string) {
	c.deploy(t, ns, "heals", 1, imagePod("broken.invalid/heals:1"))
	c.until(t, ns, "the back-off", waitingFor("ImagePullBackOff"))
	c.available(t, ns, "heals", 1)
}

func testSlow(t *testing.T, c cluster, ns string) {
	c.pod(t, ns, imagePod("broken.invalid/slow:1"))
	c.until(t, ns, "the creation of the container", waitingFor("ContainerCreating"))
	c.until(t, ns, "the pod to be ready", ready)
}

func testMissingSecret(t *testing.T, c cluster, ns string) {
	spec := imagePod("nginx")
	spec.Containers[0].Env = []corev1.EnvVar{{Name: "TOKEN",
		ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "token"}, Key: "api",
		}}}}
	c.pod(t, ns, spec)
	c.until(t, ns, "the missing Secret", waitingWith(`secret "token" not found`))
	c.event(t, ns, corev1.EventTypeWarning, "Failed", `Error: secret "token" not found`)
	c.secret(t, ns, map[string]string{"other": "x"})
	c.until(t, ns, "the missing key", waitingWith("couldn't find key api in Secret "+ns+"/token"))
	if err := c.client.CoreV1().Secrets(ns).Delete(t.Context(), "token", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.secret(t, ns, map[string]string{"api": "x"})
	c.until(t, ns, "the pod to be ready", ready)
}

func testMissingVolume(t *testing.T, c cluster, ns string) {
	spec := imagePod("nginx")
	spec.Volumes = []corev1.Volume{{Name: "v",
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "token"}}}}
	c.pod(t, ns, spec)
	c.event(t, ns, corev1.EventTypeWarning, "FailedMount",
		`MountVolume.SetUp failed for volume "v" : secret "token" not found`)
	c.until(t, ns, "the pod to wait for the Secret", waitingFor("ContainerCreating"))
	c.secret(t, ns, nil)
	c.until(t, ns, "the pod to be ready", ready)
}

func testLog(t *testing.T, c cluster, ns string) {
	c.pod(t, ns, imagePod("nginx"))
	c.until(t, ns, "the pod to be ready", ready)
	if log, err := c.log(t, ns, corev1.PodLogOptions{}); err != nil ||
		!strings.Contains(log, "nothing runs on this node") {
		t.Errorf("log: %q, %v", log, err)
	}
}

func testJob(t *testing.T, c cluster, ns string) {
	spec := imagePod("nginx")
	spec.RestartPolicy = corev1.RestartPolicyNever
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}
	if _, err := c.client.BatchV1().Jobs(ns).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Job to succeed", func(ctx context.Context) (string, bool) {
		job, err := c.client.BatchV1().Jobs(ns).Get(ctx, "job", metav1.GetOptions{})
		return fmt.Sprintf("%+v, %v", job.Status, err), err == nil && job.Status.Succeeded == 1
	})
}

// testClaim returns the directory of the provisioned volume.
func testClaim(t *testing.T, c cluster, ns string) string {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if _, err := c.client.CoreV1().PersistentVolumeClaims(ns).Create(t.Context(), claim,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	spec := imagePod("nginx")
	spec.Volumes = []corev1.Volume{{Name: "v",
		VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	c.pod(t, ns, spec)
	c.until(t, ns, "the pod to be ready", ready)
	bound, err := c.client.CoreV1().PersistentVolumeClaims(ns).Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil || bound.Status.Phase != corev1.ClaimBound {
		t.Fatalf("%+v, %v", bound.Status, err)
	}
	volume, err := c.client.CoreV1().PersistentVolumes().Get(t.Context(), bound.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || volume.Spec.HostPath == nil {
		t.Fatalf("%+v, %v", volume, err)
	}
	if _, err := os.Stat(volume.Spec.HostPath.Path); err != nil {
		t.Error(err)
	}
	return volume.Spec.HostPath.Path
}

func testServiceAccount(t *testing.T, c cluster, ns string) {
	spec := imagePod("nginx")
	spec.ServiceAccountName = "missing"
	_, err := c.client.CoreV1().Pods(ns).Create(t.Context(),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}, Spec: spec}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `serviceaccount "missing" not found`) {
		t.Errorf("error %v", err)
	}
}

func testToken(t *testing.T, c cluster, ns string) {
	token, err := c.client.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), "default",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = token.Status.Token
	account, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := account.Discovery().ServerVersion(); err != nil {
		t.Errorf("the token is not accepted: %v", err)
	}
	_, err = account.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "system:serviceaccount:"+ns+":default") {
		t.Errorf("without any role: %v", err)
	}
}

func testQuota(t *testing.T, c cluster, ns string) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "gpus"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"requests.nvidia.com/gpu": resource.MustParse("2")}}}
	if _, err := c.client.CoreV1().ResourceQuotas(ns).Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the quota to reject 4 GPUs", func(ctx context.Context) (string, bool) {
		_, err := c.client.CoreV1().Pods(ns).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"},
			Spec: gpuPod(4)}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return fmt.Sprint(err), apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota: gpus")
	})
}

func testCustomResource(t *testing.T, c cluster, ns string) {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
		"spec": map[string]any{},
	}}
	got, err := client.Resource(widgets).Namespace(ns).Create(t.Context(), widget, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(got.Object, "spec", "size"); size != 3 {
		t.Errorf("size %d; want the default of the schema", size)
	}
}

func testKubectl(t *testing.T, c cluster, ns string) {
	out, err := exec.CommandContext(t.Context(), binary(t), "kubectl", "--kubeconfig", c.kubeconfig, "-n", ns, "get",
		"serviceaccount,nodes", "-o", "name").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "node/gpu-0") {
		t.Errorf("%s, %v", out, err)
	}
	out, err = exec.CommandContext(t.Context(), binary(t), "kubectl", "--kubeconfig", c.kubeconfig, "get",
		"unknown").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the server doesn't have a resource type") {
		t.Errorf("an error: %s, %v", out, err)
	}
	version, err := exec.CommandContext(t.Context(), binary(t), "version").Output()
	server, serverErr := c.client.Discovery().ServerVersion()
	if err != nil || serverErr != nil || strings.TrimSpace(string(version)) != server.GitVersion {
		t.Errorf("version %q (%v), server %+v (%v)", version, err, server, serverErr)
	}
}
