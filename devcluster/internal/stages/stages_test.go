package stages

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/kubelet"
)

var podRef = internalversion.StageResourceRef{APIGroup: "v1", Kind: "Pod"}

// TestEveryPodIsSimulatedOnce checks that the selector of pod-ready and kubelet.Handles are
// complementary: a pod handled by both would flap, and a pod handled by neither would hang.
func TestEveryPodIsSimulatedOnce(t *testing.T) {
	t.Parallel()
	optional := true
	container := func(change func(*corev1.Container)) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) { change(&spec.Containers[0]) }
	}
	valueFrom := func(source corev1.EnvVarSource) func(*corev1.PodSpec) {
		return container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "B", ValueFrom: &source}}
		})
	}
	envFrom := func(source corev1.EnvFromSource) func(*corev1.PodSpec) {
		return container(func(c *corev1.Container) { c.EnvFrom = []corev1.EnvFromSource{source} })
	}
	volume := func(name string, source corev1.VolumeSource) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) {
			spec.Volumes = []corev1.Volume{{Name: "empty",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, {Name: name,
				VolumeSource: source}}
		}
	}
	projected := func(sources ...corev1.VolumeProjection) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}
	}
	token := []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
		{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
	}
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec)
		kwok   bool
	}{
		"an ordinary pod": {func(*corev1.PodSpec) {}, true},
		"its token":       {volume("kube-api-access-abc", projected(token...)), true},
		"a field of the pod": {valueFrom(corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}), true},
		"a claim": {volume("v", corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}), true},
		"a projected field": {volume("v",
			projected(corev1.VolumeProjection{DownwardAPI: &corev1.DownwardAPIProjection{}})), true},
		"a driver with a Secret": {volume("v",
			corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
				NodePublishSecretRef: &corev1.LocalObjectReference{Name: "s"}}}), true},
		"a similar image": {container(func(c *corev1.Container) {
			c.Image = "example.com/broken.invalid/pull"
		}), true},
		"a healthy init container": {func(spec *corev1.PodSpec) {
			spec.InitContainers = []corev1.Container{{Name: "i", Image: "busybox"}}
		}, true},
		"a broken image":          {container(func(c *corev1.Container) { c.Image = "broken.invalid/pull:1" }), false},
		"an unknown broken image": {container(func(c *corev1.Container) { c.Image = "broken.invalid/" }), false},
		"a broken second image": {func(spec *corev1.PodSpec) {
			spec.Containers = append(spec.Containers, corev1.Container{Name: "b", Image: "broken.invalid/oom"})
		}, false},
		"a broken init image": {func(spec *corev1.PodSpec) {
			spec.InitContainers = []corev1.Container{{Name: "i", Image: "broken.invalid/oom"}}
		}, false},
		"a Secret's key": {valueFrom(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}), false},
		"an optional Secret's key": {valueFrom(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k",
			Optional: &optional}}), false},
		"a ConfigMap's key": {valueFrom(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "k"}}),
			false},
		"a whole Secret":    {envFrom(corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{}}), false},
		"a whole ConfigMap": {envFrom(corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{}}), false},
		"an init container's Secret": {func(spec *corev1.PodSpec) {
			spec.InitContainers = []corev1.Container{{Name: "i", Image: "busybox",
				EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}}}}
		}, false},
		"a mounted Secret": {volume("v", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}),
			false},
		"a mounted ConfigMap": {volume("v", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}), false},
		"a projected Secret": {volume("v", projected(corev1.VolumeProjection{Secret: &corev1.SecretProjection{}})),
			false},
		"a projected ConfigMap": {volume("v", projected(token...)), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := pendingPod()
			c.change(&pod.Spec)
			kwok := slices.Equal(matching(t, pod), []string{"pod-ready"})
			if kwok != c.kwok || kubelet.Handles(pod) == c.kwok {
				t.Errorf("handled by KWOK: %t, by the kubelet: %t; want %t and %t", kwok, kubelet.Handles(pod), c.kwok,
					!c.kwok)
			}
		})
	}
}

func TestStagesFollowEachOther(t *testing.T) {
	t.Parallel()
	pod := pendingPod()
	expect := func(when string, want ...string) {
		t.Helper()
		if got := matching(t, pod); !slices.Equal(got, want) {
			t.Fatalf("%s: stages %q; want %q", when, got, want)
		}
	}
	expect("fresh", "pod-ready")
	play(t, pod, "pod-ready")
	status := pod.Status.ContainerStatuses[0]
	if pod.Status.Phase != corev1.PodRunning || !status.Ready || status.State.Running == nil || status.Started == nil ||
		!*status.Started {
		t.Errorf("played: %+v", pod.Status)
	}
	if pod.Status.PodIP != "10.0.0.7" || pod.Status.HostIP != "127.0.0.1" {
		t.Errorf("addresses %s on %s", pod.Status.PodIP, pod.Status.HostIP)
	}
	if init := pod.Status.InitContainerStatuses; init[0].State.Terminated == nil || init[1].State.Running == nil {
		t.Errorf("init containers: %+v", init)
	}
	expect("running")

	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j"}}
	expect("running for a Job", "pod-complete")
	play(t, pod, "pod-complete")
	if terminated := pod.Status.ContainerStatuses[0].State.Terminated; pod.Status.Phase != corev1.PodSucceeded ||
		terminated == nil || terminated.Reason != "Completed" {
		t.Errorf("completed: %+v", pod.Status)
	}
	expect("succeeded")

	now := metav1.Now()
	pod.DeletionTimestamp = &now
	expect("deleted", "pod-delete")
}

func TestNodesHaveStages(t *testing.T) {
	t.Parallel()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	nodes := all[internalversion.StageResourceRef{APIGroup: "v1", Kind: "Node"}]
	if len(nodes) != 2 || len(all) != 2 {
		t.Errorf("%d stages for nodes, %d kinds; want 2 and 2", len(nodes), len(all))
	}
}

// matching returns the names of the stages that KWOK would play for a pod.
func matching(t *testing.T, pod *corev1.Pod) []string {
	t.Helper()
	var names []string
	for _, stage := range possible(t, pod) {
		names = append(names, stage.Name())
	}
	return names
}

// play renders the next stage of a pod with the engine of KWOK, and sets the resulting status of the pod.
func play(t *testing.T, pod *corev1.Pod, name string) {
	t.Helper()
	renderer := gotpl.NewRenderer(gotpl.FuncMap{
		"NodeIPsWith": func(string) []string { return []string{"127.0.0.1"} },
		"PodIPsWith":  func(string, bool, string, string, string) []string { return []string{"10.0.0.7"} },
	})
	played := false
	stage := possible(t, pod)[0]
	_, err := stage.DoSteps(0, nil, pod, renderer, nil, nil, func(patch *lifecycle.Patch) error {
		if patch.Subresource != "status" {
			t.Errorf("%s changes the subresource %q", name, patch.Subresource)
		}
		var next struct{ Status corev1.PodStatus }
		if err := json.Unmarshal(patch.Data, &next); err != nil {
			return err
		}
		pod.Status, played = next.Status, true
		return nil
	}, nil)
	if err != nil || !played || stage.Name() != name {
		t.Fatalf("played %s instead of %s: %t, %v", stage.Name(), name, played, err)
	}
}

// possible returns the stages from which KWOK would choose.
func possible(t *testing.T, pod *corev1.Pod) []*lifecycle.Stage {
	t.Helper()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	stages, err := lifecycle.NewLifecycle(all[podRef])
	if err != nil {
		t.Fatal(err)
	}
	found, err := stages.ListAllPossible(t.Context(), &lifecycle.Event{Labels: pod.Labels, Annotations: pod.Annotations,
		Data: pod})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func pendingPod() *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns", UID: "uid"},
		Spec: corev1.PodSpec{
			NodeName: "node",
			InitContainers: []corev1.Container{{Name: "i", Image: "busybox"},
				{Name: "sidecar", Image: "proxy", RestartPolicy: &always}},
			Containers: []corev1.Container{{Name: "main", Image: "nginx"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}
