package observe

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

func TestInUseErrorNamesPodsAndTheirWorkloads(t *testing.T) {
	t.Parallel()
	controlled := func(name, kind, owner string, labels map[string]string) *corev1.Pod {
		yes := true
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &yes}}}}
	}
	deployed := controlled("web-5d4f-x", "ReplicaSet", "web-5d4f", map[string]string{"pod-template-hash": "5d4f"})
	alone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shell"}}
	ended := controlled("train-0", "Job", "train", nil)
	ended.Status.Phase = corev1.PodSucceeded
	going := controlled("db-0", "StatefulSet", "db", nil)
	going.DeletionTimestamp = &metav1.Time{}
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		err  error
		says []string
	}{
		"of a Deployment": {pods: []*corev1.Pod{deployed}, says: []string{"Pod web-5d4f-x (of Deployment web)"}},
		"of a ReplicaSet without a Deployment": {pods: []*corev1.Pod{controlled("rs-x", "ReplicaSet", "rs-1", nil)},
			says: []string{"Pod rs-x (of ReplicaSet rs-1)"}},
		"without a controller": {pods: []*corev1.Pod{alone}, says: []string{"mounted by Pod shell."}},
		"completed": {pods: []*corev1.Pod{ended},
			says: []string{"Pod train-0 (of Job train, completed, but not deleted)"}},
		"being deleted": {pods: []*corev1.Pod{going}, err: context.DeadlineExceeded,
			says: []string{"Pod db-0 (of StatefulSet db, being deleted)", context.DeadlineExceeded.Error()}},
		"interrupted": {pods: []*corev1.Pod{going}, err: context.Canceled, says: []string{"was interrupted"}},
		"many pods": {pods: []*corev1.Pod{alone, alone, alone, alone, alone, alone, alone},
			says: []string{"and 2 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &InUseError{Claim: kube.Ref{Kind: kind.PersistentVolumeClaim(), Namespace: "ml", Name: "data"},
				Pods: test.pods, Err: test.err}
			summary, cause := e.Explain()
			detail := ready.Explain(&cause, nil)
			if summary != "PersistentVolumeClaim ml/data is in use" {
				t.Errorf("the summary is %q", summary)
			}
			for _, text := range append(test.says, "Nothing was deleted",
				"kubectl -n ml describe persistentvolumeclaim data") {
				if !strings.Contains(detail, text) {
					t.Errorf("%q is missing in: \n%s", text, detail)
				}
			}
		})
	}
}
