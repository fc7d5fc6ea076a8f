package volume

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// imported completes a state that contains only the name. For a claim that is not ours, the next apply takes over
// labels and annotations, which the plan shows.
func (l reader) imported(ctx context.Context) error {
	ref := l.State.claimRef()
	live, err := l.Data.Cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		l.Diags.AddError("Nothing to import", fmt.Sprintf("%s does not exist.\n\n"+
			"Investigate with:\n  kubectl get persistentvolumeclaims -n %s", ref, ref.Namespace))
		return owned.ErrGone
	}
	if err != nil {
		return err
	}
	if modes, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "accessModes"); len(modes) > 1 {
		l.Diags.AddError("The claim has several access modes",
			fmt.Sprintf("%s has %s, but a kt_volume has one access mode.\n\n"+
				"Next step: Add the claim to the volumes of a compute by its name instead.", ref,
				strings.Join(modes, ", ")))
		return owned.ErrGone
	}
	set, ours, err := kube.OwnedFields(live)
	if err != nil {
		return err
	}
	if !ours {
		set = fieldpath.NewSet() // only its name is known
	}
	doc := &unstructured.Unstructured{Object: fields.Project(live.Object, set)}
	if _, err := l.Memory.RememberSet(l.State.key(), doc, live, set); err != nil {
		return err
	}
	l.MemoryChanged, l.PrivateState.Imported = true, true
	l.State.observe(live)
	l.State.AdoptExisting, l.State.DeletionProtection = types.BoolValue(false), types.BoolValue(false)
	if ours {
		defaults, seen := l.Data.Defaults, claim.Observe(doc)
		l.State.VolumeName = tf.TextOrNull(seen.VolumeName)
		l.State.Labels = tf.TextMapOrNull(tf.WithoutDefaults(seen.Labels, defaults.Labels))
		l.State.Annotations = tf.TextMapOrNull(tf.WithoutDefaults(seen.Annotations, defaults.Annotations))
	}
	if l.State.Manifests, err = manifestsOf(doc); err != nil {
		return err
	}
	l.updateStatus(ref, live)
	return nil
}
