package observe

import (
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// FuzzEvent assesses a pod with an arbitrary event, and confirms the cause. The event must not choose the namespace,
// the method or the form of the path of a request.
func FuzzEvent(f *testing.F) {
	type event struct{ reason, message, name string }
	seeds := map[event]bool{}
	for _, seed := range []event{
		{"FailedMount", `MountVolume.SetUp failed for volume "v" : secret "s" not found`, "s"},
		{"FailedMount", `MountVolume.SetUp failed for volume "v" : references non-existent config key: k`, "s"},
		{"FailedMount", `MountVolume.SetUp failed for volume "v" : configmap "../../kube-system/secrets/s" not found`,
			"../../kube-system/secrets/s"},
		{"Failed", `Error: couldn't find key k in Secret ml/s`, "s"},
		{"Failed", `Error: secret "%2e%2e" not found`, "%2e%2e"},
		{"FailedCreate", `pods "trainer-" is forbidden: error looking up service account kube-system/s: ` +
			`serviceaccount "s" not found`, "s"},
		{"FailedCreate", `pods "trainer-" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: ` +
			`pods=1`, "s"},
		{"FailedScheduling", `0/1 nodes are available: persistentvolumeclaim "s" not found.`, "s"},
		{"FailedScheduling", `0/1 nodes are available: no PriorityClass with name s was found`, ".."},
	} {
		seeds[seed] = true
		f.Add(seed.reason, seed.message, seed.name)
	}
	f.Fuzz(func(t *testing.T, reason, message, name string) {
		var requests atomic.Int32
		cluster := clusterOf(t, kubetest.API{Answer: func(verb, at string, request *http.Request) (int, any) {
			requests.Add(1)
			isDryRun := request.URL.Query().Get("dryRun") == metav1.DryRunAll
			if verb != "get" && verb != "list" && !isDryRun || path.Clean(at) != strings.TrimSuffix(at, "/") &&
				at != "/apis/" || strings.Contains(at, "/namespaces/") && !strings.Contains(at, "/namespaces/ml/") {
				t.Errorf("the server receives %s %s", verb, request.URL)
			}
			return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
		}})
		labels := map[string]string{"app": "trainer"}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&appsv1.StatefulSet{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "trainer", UID: "w", Generation: 1},
			Spec:       appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
			Status:     appsv1.StatefulSetStatus{ObservedGeneration: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "trainer-0", UID: "p", Labels: labels}}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "A",
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k",
				LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}}}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}}
		pod.Spec.ServiceAccountName, pod.Status.Phase = name, corev1.PodPending
		scheduled := pod.DeepCopy() // other events count for it
		scheduled.Spec.NodeName = "n"
		invalid := scheduled.DeepCopy()
		invalid.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: message}}}}
		for _, pods := range [][]*corev1.Pod{nil, {pod}, {scheduled}, {invalid}} {
			about := corev1.ObjectReference{Kind: "Pod", Namespace: "ml", Name: "trainer-0", UID: "p"}
			if pods == nil {
				about = corev1.ObjectReference{Kind: "StatefulSet", Namespace: "ml", Name: "trainer", UID: "w"}
			}
			snapshot := ready.Snapshot{Workload: &unstructured.Unstructured{Object: object}, Pods: pods,
				Events: []*corev1.Event{{InvolvedObject: about, Type: corev1.EventTypeWarning, Reason: reason,
					Message: message, Count: 9}}}
			verdict := ready.Assess(snapshot)
			if cause := verdict.Cause; cause != nil {
				cause.Claimed = true
				refuted(t.Context(), cluster, trainer(), cause)
			}
		}
		// An invalid name is in no request.
		if seeds[event{reason, message, name}] && !strings.ContainsAny(name, "./%") && requests.Load() == 0 {
			t.Error("the cause is not confirmed by any request")
		}
	})
}
