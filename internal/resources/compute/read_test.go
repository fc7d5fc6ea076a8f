package compute

import (
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// deploymentThat is a live Deployment with that UID, which is being deleted or not.
func deploymentThat(uid string, ends bool) *unstructured.Unstructured {
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	live.SetUID(apitypes.UID(uid))
	if ends {
		live.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	}
	return live
}

// What is remembered of a deletion ends with the object that it was of: the next
// workload of that name is not replaced for it.
func TestDeletionOfAWorkloadIsRecordedUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"}
	for name, c := range map[string]struct {
		look func(*reader)
		was  bool
		want bool
		uid  types.String
	}{
		"it begins": {
			func(l *reader) { l.workload(t.Context(), ref, deploymentThat("old", true)) }, false, true,
			types.StringValue("old"),
		},
		"it goes on": {
			func(l *reader) { l.workload(t.Context(), ref, deploymentThat("old", true)) }, true, true,
			types.StringValue("old"),
		},
		"another workload is there": {
			func(l *reader) { l.workload(t.Context(), ref, deploymentThat("new", false)) }, true, false,
			types.StringValue("new"),
		},
		"no workload is there": {(*reader).workloadGone, true, false, types.StringNull()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &reader{&reading{State: planned(t), PrivateState: privateState{Ending: c.was}}}
			c.look(l)
			if l.PrivateState.Ending != c.want || !l.State.UID.Equal(c.uid) || l.State.Ready.ValueBool() {
				t.Errorf("ending %t, uid %s, ready %s", l.PrivateState.Ending, l.State.UID, l.State.Ready)
			}
			if warned := len(l.Diags) > 0; warned != c.want {
				t.Errorf("warnings %v", l.Diags)
			}
		})
	}
}
