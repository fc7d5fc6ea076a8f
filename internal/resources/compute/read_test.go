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
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// liveDeployment returns a Deployment with a UID, which may be terminating.
func liveDeployment(uid string, terminating bool) *unstructured.Unstructured {
	live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	live.SetUID(apitypes.UID(uid))
	if terminating {
		live.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	}
	return live
}

// The life cycle records it until the next refresh.
func TestDeletionOfAWorkloadIsReported(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"}
	for name, c := range map[string]struct {
		read func(*reader)
		want bool
		uid  types.String
	}{
		"the deletion has started": {
			func(r *reader) { r.setStatus(t.Context(), ref, liveDeployment("old", true)) }, true,
			types.StringValue("old"),
		},
		"another workload exists": {
			func(r *reader) { r.setStatus(t.Context(), ref, liveDeployment("new", false)) }, false,
			types.StringValue("new"),
		},
		"no workload exists": {(*reader).clearStatus, false, types.StringNull()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &reader{reading: &reading{State: planned(t)}}
			c.read(r)
			if r.Terminating != c.want || !r.State.UID.Equal(c.uid) || r.State.Ready.ValueBool() {
				t.Errorf("terminating %t, uid %s, ready %s", r.Terminating, r.State.UID, r.State.Ready)
			}
			if warned := len(r.Diags) > 0; warned != c.want {
				t.Errorf("warnings %v", r.Diags)
			}
		})
	}
}

// An apply does not own the number of pods of a compute with an autoscaler, so state has it only while it suspends the
// compute.
func TestASuspensionIsFollowed(t *testing.T) {
	t.Parallel()
	path := []string{"spec", "replicas"}
	with := func(replicas any) *unstructured.Unstructured {
		object := liveDeployment("1", false)
		kind.SetAt(object.Object, path, replicas)
		return object
	}
	for name, c := range map[string]struct {
		scaler              string
		inState, live, want any
	}{
		"resumed, with an autoscaler":    {manifest.ScalerHPA, int64(0), int64(5), nil},
		"resumed, with KEDA":             {manifest.ScalerKEDA, int64(0), int64(5), nil},
		"resumed, without an autoscaler": {"", int64(0), int64(5), int64(5)},
		"suspended, with an autoscaler":  {manifest.ScalerHPA, nil, int64(0), int64(0)},
		"scaled by an autoscaler":        {manifest.ScalerHPA, nil, int64(5), nil},
		"drift, with an autoscaler":      {manifest.ScalerHPA, int64(5), int64(5), int64(5)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := planned(t, func(m *model) {
				if c.scaler != "" {
					m.Autoscale = autoscaled(c.scaler, types.Int64Null())
				}
			})
			live := with(c.live)
			if c.live == int64(0) {
				live.SetAnnotations(map[string]string{kind.SuspendedAnnotation: "[]"})
			}
			got := state.followSuspension(with(c.inState), live)
			if got, _ := kind.Find(got.Object, path); got != c.want {
				t.Errorf("%v replicas, want %v", got, c.want)
			}
		})
	}
}
