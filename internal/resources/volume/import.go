package volume

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// importClaim completes a state that contains only the name. If another client created the claim, its labels and
// annotations are not imported; see [planner.preserveForeign].
func (r reader) importClaim(ctx context.Context) error {
	ref := r.State.claimRef()
	live, err := r.Read(ctx, ref)
	if kube.IsNotFound(err) {
		return r.NothingToImport(fmt.Sprintf("%s does not exist.\n\n"+
			"Investigate with:\n  kubectl get persistentvolumeclaims -n %s", ref, ref.Namespace))
	}
	if err != nil {
		return err
	}
	if modes, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "accessModes"); len(modes) > 1 {
		r.Diags.AddError("The claim has several access modes",
			fmt.Sprintf("%s has %s, but a kt_volume has one access mode.\n\n"+
				"Next step: Add the claim to the volumes of a compute by its name instead.", ref,
				strings.Join(modes, ", ")))
		return owned.ErrGone
	}
	doc, ours, err := r.Memory.Import(live)
	if err != nil {
		return err
	}
	r.PrivateState.Imported = true
	r.State.observe(live)
	r.State.AdoptExisting, r.State.DeletionProtection = types.BoolValue(false), types.BoolValue(false)
	if ours {
		defaults, observed := r.Data.Defaults, claim.Observe(doc)
		r.State.VolumeName = tf.TextOrNull(observed.VolumeName)
		r.State.Labels = tf.TextMapOrNull(manifest.Without(observed.Labels, defaults.Labels))
		r.State.Annotations = tf.TextMapOrNull(manifest.Without(observed.Annotations, defaults.Annotations))
	}
	if r.State.Manifests, err = owned.ManifestsOf(doc); err != nil {
		return err
	}
	r.updateStatus(ref, live)
	return nil
}
