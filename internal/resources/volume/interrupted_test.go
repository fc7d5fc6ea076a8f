package volume

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// Otherwise, the apply after the killed one would succeed with a volume that is smaller than requested.
func TestPlanAfterAKilledUpdateWaitsUntilTheVolumeHasGrown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size, capacity string
		waits          bool
	}{
		"unchanged":                      {"10Gi", "10Gi", false},
		"grown by a killed run":          {"20Gi", "10Gi", true},
		"grown by a killed run, resized": {"20Gi", "20Gi", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, sent, memory := kubetest.NewServer(t), &unstructured.Unstructured{}, owned.Memory{}
			if err := yaml.Unmarshal([]byte(boundClaim), &sent.Object); err != nil {
				t.Fatal(err)
			}
			for _, field := range []string{"uid", "resourceVersion"} {
				unstructured.RemoveNestedField(sent.Object, "metadata", field)
			}
			delete(sent.Object, "status")
			grown := sent.DeepCopy()
			kind.SetAt(grown.Object, []string{"spec", "resources", "requests", "storage"}, c.size)
			_, err := memory.Remember(manifest.Key(sent), sent, server.Apply(t, kube.Manager, sent))
			if err != nil {
				t.Fatal(err)
			}
			server.Apply(t, kube.Manager, grown)
			server.Edit(t, kubetest.PathOf(t, sent), "resizer", func(live *unstructured.Unstructured) {
				live.Object["status"] = map[string]any{"phase": "Bound",
					"capacity": map[string]any{"storage": c.capacity}}
			})
			r := &reading{Data: dataAt(t, server.URL), Memory: memory, State: boundVolume()}
			if r.State.Manifests, err = owned.ManifestsOf(sent); err != nil {
				t.Fatal(err)
			}
			if err := (hooks{}).Refresh(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if r.State.Capacity.ValueString() != c.capacity || r.PrivateState.Waiting != c.waits {
				t.Errorf("capacity %s, the next apply waits: %t, want %t: %v", r.State.Capacity, r.PrivateState.Waiting,
					c.waits, r.Diags)
			}
		})
	}
}
