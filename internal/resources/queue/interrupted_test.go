package queue

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// Otherwise, the apply after the killed one would succeed with a queue that is not active.
func TestPlanAfterAKilledUpdateWaitsUntilTheQueueIsActive(t *testing.T) {
	t.Parallel()
	clusterQueue := func(cohort string) *unstructured.Unstructured {
		queue := kind.ClusterQueue(kind.KueueVersion).Named("", "vision")
		kind.SetAt(queue.Object, []string{"spec", "cohortName"}, cohort)
		return queue
	}
	for name, c := range map[string]struct {
		author, cohort, active string
		waits                  bool
	}{
		"unchanged":                       {kube.Manager, "a", "False", false},
		"changed by a killed run":         {kube.Manager, "b", "False", true},
		"changed by a killed run, active": {kube.Manager, "b", "True", false},
		"changed by another client":       {"kubectl", "b", "False", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, sent, memory := kubetest.NewServer(t), clusterQueue("a"), owned.Memory{}
			key := manifest.Key(sent)
			if _, err := memory.Remember(key, sent, server.Apply(t, kube.Manager, sent)); err != nil {
				t.Fatal(err)
			}
			path := kubetest.PathOf(t, sent)
			if c.author == kube.Manager {
				server.Apply(t, kube.Manager, clusterQueue(c.cohort))
			} else {
				server.Edit(t, path, c.author, func(live *unstructured.Unstructured) {
					live.Object["spec"] = clusterQueue(c.cohort).Object["spec"]
				})
			}
			server.Edit(t, path, "kueue", func(live *unstructured.Unstructured) {
				kind.SetAt(live.Object, []string{"status", "conditions"}, []any{map[string]any{"type": "Active",
					"status": c.active, "observedGeneration": live.GetGeneration()}})
			})
			object, err := owned.ObjectOf(sent)
			if err != nil {
				t.Fatal(err)
			}
			r := &reading{Data: &tf.ProviderData{Run: run.New(t.Context(), clusterAt(t, server.URL), nil)},
				Memory: memory, State: &model{Common: lifecycle.Common{Name: types.StringValue("vision"),
					Namespace: types.StringValue("ml"), Manifests: owned.Objects{key: object}.Value()}}}
			if err := (hooks{}).Refresh(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if r.State.Active.ValueBool() != (c.active == "True") || r.PrivateState.Waiting != c.waits {
				t.Errorf("active %s, the next apply waits: %t, want %t: %v", r.State.Active, r.PrivateState.Waiting,
					c.waits, r.Diags)
			}
		})
	}
}
