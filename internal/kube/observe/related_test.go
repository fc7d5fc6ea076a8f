package observe

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestEventsOfFormerObjectsAreExcluded(t *testing.T) {
	t.Parallel()
	meta := func(name, uid string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, UID: types.UID(uid)} }
	known := ready.Snapshot{
		Workload:    kubetest.Deployment("1", 0), // trainer, its UID is u
		ReplicaSets: []*appsv1.ReplicaSet{{ObjectMeta: meta("trainer-1", "rs")}},
		Pods:        []*corev1.Pod{{ObjectMeta: meta("trainer-1-a", "pod")}},
		Claims: map[string]*corev1.PersistentVolumeClaim{"weights": {ObjectMeta: meta("weights", "claim")},
			"missing": nil},
	}
	unread := known
	unread.ReplicaSets = nil
	for name, test := range map[string]struct {
		known           ready.Snapshot
		kind, name, uid string
		want            bool
	}{
		"the Deployment":                          {known, "Deployment", "trainer", "u", true},
		"a former Deployment":                     {known, "Deployment", "trainer", "v", false},
		"another Deployment":                      {known, "Deployment", "trainer-b", "u", false},
		"a ReplicaSet":                            {known, "ReplicaSet", "trainer-1", "rs", true},
		"a former ReplicaSet":                     {known, "ReplicaSet", "trainer-1", "former", false},
		"a ReplicaSet of another Deployment":      {known, "ReplicaSet", "trainer-2", "x", false},
		"no permission to read ReplicaSets":       {unread, "ReplicaSet", "trainer-2", "x", true},
		"a ReplicaSet of a longer name":           {unread, "ReplicaSet", "trainer-b-2", "x", false},
		"a pod":                                   {known, "Pod", "trainer-1-a", "pod", true},
		"a pod, in an event without a UID":        {known, "Pod", "trainer-1-a", "", true},
		"a former pod":                            {known, "Pod", "trainer-1-b", "pod", false},
		"a claim":                                 {known, "PersistentVolumeClaim", "weights", "claim", true},
		"a former claim":                          {known, "PersistentVolumeClaim", "weights", "former", false},
		"a missing claim":                         {known, "PersistentVolumeClaim", "missing", "former", true},
		"a claim that no pod mounts":              {known, "PersistentVolumeClaim", "other", "x", false},
		"a Service with the name of the workload": {known, "Service", "trainer", "x", false},
		"Endpoints with the name of the workload": {known, "Endpoints", "trainer", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := concerns(test.known, &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: test.kind,
				Name: test.name, UID: types.UID(test.uid)}}); got != test.want {
				t.Errorf("concerns: %v, want %v", got, test.want)
			}
		})
	}
}

func TestEventsOfObjectsBetweenAWorkloadAndItsPods(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		workload         kube.Kind
		apiVersion, kind string
		object           string
		before           bool // the event is from before the creation of the workload
		uid              types.UID
		want             bool
	}{
		"a Knative Service": {row("serving.knative.dev", "Service"), "serving.knative.dev/v1", "Service", "trainer",
			false, "u", true},
		"the core Service with its name": {row("serving.knative.dev", "Service"), "v1", "Service", "trainer", false, "",
			false},
		"its Configuration": {row("serving.knative.dev", "Service"), "serving.knative.dev/v1", "Configuration",
			"trainer", false, "x", true},
		"its Revision": {row("serving.knative.dev", "Service"), "serving.knative.dev/v1", "Revision", "trainer-00002",
			false, "x", true},
		"the ReplicaSet of its Revision": {row("serving.knative.dev", "Service"), "apps/v1", "ReplicaSet",
			"trainer-00002-deployment-5d4c", false, "x", true},
		"a Revision of another Service": {row("serving.knative.dev", "Service"), "serving.knative.dev/v1", "Revision",
			"trainer-b-00002", false, "x", false},
		"a Revision of a former Service": {row("serving.knative.dev", "Service"), "serving.knative.dev/v1", "Revision",
			"trainer-00002", true, "x", false},
		"a Job of a JobSet": {row("jobset.x-k8s.io", "JobSet"), "batch/v1", "Job", "trainer-workers-0", false, "x",
			true},
		"a Job of a former JobSet": {row("jobset.x-k8s.io", "JobSet"), "batch/v1", "Job", "trainer-workers-0", true,
			"x", false},
		"a StatefulSet of leaders": {row("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), "apps/v1", "StatefulSet",
			"trainer", false, "x", true},
		"a StatefulSet of a group": {row("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), "apps/v1", "StatefulSet",
			"trainer-1", false, "x", true},
		"a StatefulSet of another set": {row("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), "apps/v1", "StatefulSet",
			"trainer-b-1", false, "x", false},
		"a Job named like one of a Deployment": {kind.Deployment(), "batch/v1", "Job", "trainer-workers-0", false, "x",
			false},
		"a Job of a CronJob": {row("batch", "CronJob"), "batch/v1", "Job", "trainer-29384756", false, "x", true},
		"a Job with another suffix than of a CronJob": {row("batch", "CronJob"), "batch/v1", "Job", "trainer-workers-0",
			false, "x", false},
		"a training job": {row("kubeflow.org", "PyTorchJob"), "kubeflow.org/v1", "PyTorchJob", "trainer", false, "u",
			true},
		"a former training job": {row("kubeflow.org", "PyTorchJob"), "kubeflow.org/v1", "PyTorchJob", "trainer", false,
			"v", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workload := &unstructured.Unstructured{}
			workload.SetGroupVersionKind(test.workload.GroupVersionKind)
			workload.SetName("trainer")
			workload.SetUID("u")
			workload.SetCreationTimestamp(metav1.NewTime(made))
			at := made.Add(time.Minute)
			if test.before {
				at = made.Add(-time.Minute)
			}
			got := concerns(ready.Snapshot{Workload: workload}, &corev1.Event{
				InvolvedObject: corev1.ObjectReference{APIVersion: test.apiVersion, Kind: test.kind, Name: test.object,
					UID: test.uid},
				LastTimestamp: metav1.NewTime(at),
			})
			if got != test.want {
				t.Errorf("concerns: %v, want %v", got, test.want)
			}
		})
	}
}
