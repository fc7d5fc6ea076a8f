package ready

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func TestExitCodesHaveTheirNextStep(t *testing.T) {
	t.Parallel()
	for code, want := range map[int32]string{
		0: "exited without an error", 1: "Read the log", 126: "cannot be executed", 127: "was not found",
		128: "could not start it", 137: "SIGKILL", 139: "segmentation fault", 143: "SIGTERM",
	} {
		if got := exitHint(&corev1.ContainerStateTerminated{ExitCode: code}).In(); !strings.Contains(got, want) {
			t.Errorf("%d: %q does not contain %q", code, got, want)
		}
	}
	if got := exitHint(nil).In(); got != "Read the log of the container." {
		t.Errorf("without an exit code: %q", got)
	}
}

// The reasons are those of the kubelet (pkg/kubelet/kuberuntime, pkg/kubelet/container).
func TestContainersThatCannotBeStartedEndAWait(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		"CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError",
	} {
		s := load(t, "start-error")
		s.Pods[0].Status.ContainerStatuses[0].State.Waiting.Reason = reason
		if c := Assess(s).Cause; c == nil || c.Reason != ReasonContainerStartFailed || !c.Terminal {
			t.Errorf("%s: %+v", reason, c)
		} else if ran := reason == "PostStartHookError"; ran != (c.Logs != nil) { // by whose pod its output is masked
			t.Errorf("%s: log %+v", reason, c.Logs)
		}
	}
}

func TestMainContainerIsFoundAmongSidecars(t *testing.T) {
	t.Parallel()
	pod := func(names ...string) *corev1.Pod {
		p := &corev1.Pod{}
		for _, name := range names {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name})
		}
		return p
	}
	annotated := pod("istio-proxy", kind.ContainerName, "main")
	annotated.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "main"}
	for want, p := range map[string]*corev1.Pod{
		kind.ContainerName:         pod("istio-proxy", kind.ContainerName),
		kind.TensorServerContainer: pod("istio-proxy", kind.TensorServerContainer),
		"main":                     annotated,
		"first":                    pod("first", "second"),
		"":                         pod(),
	} {
		if got := MainContainer(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRestartsAreThoseOfTheContainer(t *testing.T) {
	t.Parallel()
	p := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "proxy", RestartCount: 1}, {Name: "main", RestartCount: 7}}}}
	main, other := StatusOf(p, "main").RestartCount, StatusOf(p, "other").RestartCount
	if main != 7 || other != 0 {
		t.Errorf("got %d and %d, want 7 and 0", main, other)
	}
}

// Each of these lists has an image and requests of its own.
func TestNextStepNamesTheListOfAnotherContainer(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	words := map[advice.Field]string{advice.Image: "`image`", advice.InitContainers: "`init_containers`",
		advice.Memory: "`memory`", advice.MemoryLimit: "`limits`", advice.Sidecars: "`sidecars`"}
	for name, test := range map[string]struct {
		fixture string
		place   func(*corev1.PodSpec, corev1.Container)
		want    advice.Text
	}{
		"an init container": {"image-missing", func(spec *corev1.PodSpec, c corev1.Container) {
			spec.InitContainers = append(spec.InitContainers, c)
		}, advice.Of("Check the name and tag in %s of container proxy in %s: ", "the image", advice.InitContainers)},
		"a sidecar": {"image-missing", func(spec *corev1.PodSpec, c corev1.Container) {
			c.RestartPolicy = &always
			spec.InitContainers = append(spec.InitContainers, c)
		}, advice.Of("Check the name and tag in %s of container proxy in %s: ", "the image", advice.Sidecars)},
		"a sidecar of a Knative Service": {"image-missing", func(spec *corev1.PodSpec, c corev1.Container) {
			spec.Containers = append(spec.Containers, c)
		}, advice.Of("Check the name and tag in %s of container proxy in %s: ", "the image", advice.Sidecars)},
		"a memory limit": {"oom-twice", func(spec *corev1.PodSpec, c corev1.Container) {
			spec.Containers = append(spec.Containers, c)
		}, advice.Of("Raise %s of container proxy in %s, ", "the memory limit", advice.Sidecars)},
		"the memory of a node": {"oom-node", func(spec *corev1.PodSpec, c corev1.Container) {
			spec.Containers = append(spec.Containers, c)
		}, advice.Of("%s of container proxy in %s to ", "the memory request", advice.Sidecars)},
	} {
		s := load(t, test.fixture)
		pod := s.Pods[0]
		other := pod.Spec.Containers[0]
		other.Name, other.Image = "proxy", "proxy:1"
		test.place(&pod.Spec, other)
		pod.Status.ContainerStatuses[0].Name = "proxy"
		if c := Assess(s).Cause; c == nil || !strings.Contains(c.Hint.In(words), test.want.In(words)) {
			t.Errorf("%s: %+v, want %q", name, c, test.want)
		}
	}
}
