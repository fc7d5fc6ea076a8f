package kubelet

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// epoch is the time at which the pods of these tests are scheduled. It is not a full second, like real times.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)

// TestSyncOverTime simulates pods for a minute and compares their statuses with golden files.
func TestSyncOverTime(t *testing.T) {
	t.Parallel()
	for name, pod := range map[string]*corev1.Pod{
		"pull":              podOf("broken.invalid/pull:1"),
		"pull-unknown-name": podOf("broken.invalid/team/app"),
		"crash":             podOf("broken.invalid/crash:1"),
		"crash-never-restart": with(podOf("broken.invalid/crash:1"),
			func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }),
		"crash-logs-in-message": with(podOf("broken.invalid/crash:1"), func(p *corev1.Pod) {
			p.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
		}),
		"crash-beside-sound": podOf("broken.invalid/crash:1", "nginx"),
		"oom":                podOf("broken.invalid/oom:1"),
		"config":             podOf("broken.invalid/config"),
		"config-named":       podOf("broken.invalid/config/hf-token:2"),
		"heals":              podOf("broken.invalid/heals:1"),
		"slow":               podOf("broken.invalid/slow:1"),
		"never":              podOf("broken.invalid/never:1"),
		"init-crash":         with(podOf("nginx"), initContainers("busybox", "broken.invalid/crash:1")),
		"init-crash-never": with(podOf("nginx"), initContainers("broken.invalid/crash:1"), func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
		}),
		"init-slow": with(podOf("nginx"), initContainers("broken.invalid/slow:1")),
		"sidecar-heals": with(podOf("nginx"), initContainers("broken.invalid/heals:1"), func(p *corev1.Pod) {
			always := corev1.ContainerRestartPolicyAlways
			p.Spec.InitContainers[0].RestartPolicy = &always
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, play(t, pod, none{}, time.Minute))
		})
	}
}

// TestSyncRecoversWhenObjectsAreCreated checks changes that do not depend on time alone.
func TestSyncRecoversWhenObjectsAreCreated(t *testing.T) {
	t.Parallel()
	for name, pod := range map[string]*corev1.Pod{
		"env": with(podOf("nginx"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: secretKey("token", "key", false)}}
		}),
		"volume": with(podOf("nginx"), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{secretVolume("v", "token")}
		}),
		"volume before init": with(podOf("nginx"), initContainers("busybox"), func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{secretVolume("v", "token")}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := pod.DeepCopy()
			before := syncOnce(t, pod, none{}, epoch)
			if ready(before.Status) || before.Status.Phase != corev1.PodPending || len(before.Events) == 0 {
				t.Fatalf("without the Secret: %+v", before)
			}
			pod.Status = before.Status
			after := syncOnce(t, pod, objects{"token": {"key": nil}}, epoch.Add(5*time.Second))
			if !ready(after.Status) || after.Status.Phase != corev1.PodRunning || after.Again != 0 {
				t.Fatalf("with the Secret: %+v", after)
			}
			started := after.Status.ContainerStatuses[0].State.Running.StartedAt.Time
			if want := epoch.Add(5 * time.Second).Truncate(time.Second); !started.Equal(want) {
				t.Errorf("started at %s; want %s, when the Secret was created", started, want)
			}
			pod.Status = after.Status
			// The deletion of the Secret does not stop running containers.
			if gone := syncOnce(t, pod, none{}, epoch.Add(time.Minute)); !ready(gone.Status) || len(gone.Events) > 0 {
				t.Errorf("after the Secret was deleted: %+v", gone)
			}
		})
	}
}

func TestSyncRetriesMounts(t *testing.T) {
	t.Parallel()
	pod := with(podOf("nginx"), func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{secretVolume("v", "token")} })
	for _, at := range []time.Duration{0, 10 * time.Second} {
		result := syncOnce(t, pod, none{}, epoch.Add(at))
		want := []Event{{Type: "Warning", Reason: "FailedMount",
			Message: `MountVolume.SetUp failed for volume "v" : secret "token" not found`}}
		if !reflect.DeepEqual(result.Events, want) || result.Again != retryMount {
			t.Errorf("after %s: %+v, next call in %s", at, result.Events, result.Again)
		}
		if result.Status.PodIP != "" {
			t.Errorf("after %s the pod has the address %s, but no sandbox", at, result.Status.PodIP)
		}
		pod.Status = result.Status
	}
}

// TestSyncIsStable also calls Sync at unrelated times: additional calls must not change the result.
func TestSyncIsStable(t *testing.T) {
	t.Parallel()
	for _, image := range []string{"pull", "crash", "oom", "config", "heals", "slow", "never"} {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			pod := podOf(brokenPrefix + image)
			for elapsed := time.Duration(0); elapsed < 3*time.Minute; {
				now := epoch.Add(elapsed)
				result := syncOnce(t, pod, none{}, now)
				pod.Status = result.Status
				again := syncOnce(t, pod, none{}, now)
				if !apiequality.Semantic.DeepEqual(again.Status, result.Status) || len(again.Events) > 0 ||
					again.Again != result.Again {
					t.Fatalf("after %s, a second call returns %+v", elapsed, again)
				}
				if result.Again == 0 {
					return
				}
				if result.Again > time.Millisecond {
					early := syncOnce(t, pod, none{}, now.Add(result.Again-time.Millisecond))
					if !apiequality.Semantic.DeepEqual(early.Status, result.Status) {
						t.Fatalf("after %s, the status changed earlier than the announced %s", elapsed, result.Again)
					}
				}
				elapsed += result.Again
			}
		})
	}
}

func TestSyncPreservesFieldsOfOthers(t *testing.T) {
	t.Parallel()
	pod := podOf("broken.invalid/pull")
	pod.Status.QOSClass = corev1.PodQOSBurstable
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	got := syncOnce(t, pod, none{}, epoch).Status
	if got.QOSClass != corev1.PodQOSBurstable || !conditionTrue(&got, corev1.PodScheduled) {
		t.Errorf("%+v", got)
	}
	if len(pod.Status.Conditions) != 1 {
		t.Errorf("the given pod was modified: %+v", pod.Status)
	}
}

// play records each status of a pod over time, with the events that precede it.
func play(t *testing.T, pod *corev1.Pod, objects Objects, until time.Duration) string {
	t.Helper()
	pod = pod.DeepCopy()
	var out strings.Builder
	for elapsed := time.Duration(0); elapsed <= until; {
		result := syncOnce(t, pod, objects, epoch.Add(elapsed))
		fmt.Fprintf(&out, "after %s: %s\n", elapsed, result.Status.Phase)
		for _, status := range slices.Concat(result.Status.InitContainerStatuses, result.Status.ContainerStatuses) {
			fmt.Fprintf(&out, "  %s: %s\n", status.Name, describe(status))
		}
		for _, event := range result.Events {
			fmt.Fprintf(&out, "  event: %s %s %s %s\n", event.Type, event.Reason, cmp.Or(event.Container, "-"),
				event.Message)
		}
		for _, c := range result.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				out.WriteString("  the pod is ready\n")
			}
		}
		pod.Status = result.Status
		if result.Again == 0 {
			break
		}
		elapsed += result.Again
	}
	return out.String()
}

func describe(status corev1.ContainerStatus) string {
	text := describeState(status.State)
	if status.LastTerminationState.Terminated != nil {
		text += ", before " + describeState(status.LastTerminationState)
	}
	if status.RestartCount > 0 {
		text += fmt.Sprintf(", restarts %d", status.RestartCount)
	}
	if status.Ready {
		text += ", ready"
	}
	return text
}

func describeState(state corev1.ContainerState) string {
	switch {
	case state.Waiting != nil:
		return strings.TrimSpace(fmt.Sprintf("waiting %s %s", state.Waiting.Reason, state.Waiting.Message))
	case state.Running != nil:
		return "running since " + state.Running.StartedAt.UTC().Format(time.TimeOnly)
	case state.Terminated != nil:
		t := state.Terminated
		text := fmt.Sprintf("terminated %s %d from %s to %s", t.Reason, t.ExitCode,
			t.StartedAt.UTC().Format(time.TimeOnly), t.FinishedAt.UTC().Format(time.TimeOnly))
		if t.Message != "" {
			text += fmt.Sprintf(" %q", t.Message)
		}
		return text
	}
	return "nothing"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "timeline", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update to accept); got:\n%s", file, got)
	}
}

func syncOnce(t *testing.T, pod *corev1.Pod, objects Objects, now time.Time) Result {
	t.Helper()
	result, err := Sync(pod, objects, now, "127.0.0.1", "10.80.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func podOf(images ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "ns", UID: "uid"},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways, NodeName: "node"},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	for i, image := range images {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprintf("c%d", i), Image: image})
	}
	return pod
}

func with(pod *corev1.Pod, changes ...func(*corev1.Pod)) *corev1.Pod {
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func initContainers(images ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for i, image := range images {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers,
				corev1.Container{Name: fmt.Sprintf("i%d", i), Image: image})
		}
	}
}

func secretKey(name, key string, optional bool) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional,
	}}
}

func secretVolume(volume, secret string) corev1.Volume {
	return corev1.Volume{Name: volume,
		VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
}

func ready(status corev1.PodStatus) bool { return conditionTrue(&status, corev1.PodReady) }

// objects contains Secrets and, for names that start with cm-, ConfigMaps, with their keys.
type objects map[string]map[string][]byte

// none is a namespace without objects.
type none = objects

func (o objects) Secret(namespace, name string) (*corev1.Secret, error) {
	data, found := o[name]
	if !found || strings.HasPrefix(name, "cm-") {
		return nil, nil
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}, nil
}

func (o objects) ConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	data, found := o[name]
	if !found || !strings.HasPrefix(name, "cm-") {
		return nil, nil
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data: map[string]string{}}
	for key, value := range data {
		configMap.Data[key] = string(value)
	}
	return configMap, nil
}
