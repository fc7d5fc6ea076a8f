package kube

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

func TestEventsOfFormerObjectsAreLeftOut(t *testing.T) {
	t.Parallel()
	meta := func(name, uid string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, UID: types.UID(uid)} }
	known := ready.Snapshot{
		Workload:    deployment("1", 0), // trainer, its UID is u
		ReplicaSets: []*appsv1.ReplicaSet{{ObjectMeta: meta("trainer-1", "rs")}},
		Pods:        []*corev1.Pod{{ObjectMeta: meta("trainer-1-a", "pod")}},
		Claims:      map[string]*corev1.PersistentVolumeClaim{"weights": {ObjectMeta: meta("weights", "claim")}, "missing": nil},
	}
	unread := known
	unread.ReplicaSets = nil
	for name, test := range map[string]struct {
		known           ready.Snapshot
		kind, name, uid string
		want            bool
	}{
		"the Deployment":                    {known, "Deployment", "trainer", "u", true},
		"a former Deployment":               {known, "Deployment", "trainer", "v", false},
		"another Deployment":                {known, "Deployment", "trainer-b", "u", false},
		"a ReplicaSet":                      {known, "ReplicaSet", "trainer-1", "rs", true},
		"a former ReplicaSet":               {known, "ReplicaSet", "trainer-1", "former", false},
		"a ReplicaSet of another":           {known, "ReplicaSet", "trainer-2", "x", false},
		"ReplicaSets that may not be read":  {unread, "ReplicaSet", "trainer-2", "x", true},
		"a ReplicaSet of a longer name":     {unread, "ReplicaSet", "trainer-b-2", "x", false},
		"a pod":                             {known, "Pod", "trainer-1-a", "pod", true},
		"a pod, from who names no UID":      {known, "Pod", "trainer-1-a", "", true},
		"a former pod":                      {known, "Pod", "trainer-1-b", "pod", false},
		"a claim":                           {known, "PersistentVolumeClaim", "weights", "claim", true},
		"a former claim":                    {known, "PersistentVolumeClaim", "weights", "former", false},
		"a claim that is missing":           {known, "PersistentVolumeClaim", "missing", "former", true},
		"a claim that nobody mounts":        {known, "PersistentVolumeClaim", "other", "x", false},
		"a Service of the workload's name":  {known, "Service", "trainer", "x", false},
		"an Endpoint of the workload's too": {known, "Endpoints", "trainer", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := concerns(test.known, &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: test.kind, Name: test.name, UID: types.UID(test.uid)}}); got != test.want {
				t.Errorf("concerns: %v, want %v", got, test.want)
			}
		})
	}
}
