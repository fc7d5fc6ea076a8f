package compute

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// importForeign sets the attributes from a workload of another client. While the configuration renders the same as
// these attributes, a plan changes nothing; see [planner.preserveAdopted].
func (r *reader) importForeign(ctx context.Context, live *unstructured.Unstructured, found owned.Objects) error {
	adoption := manifest.AdoptionOf(live)
	if adoption == manifest.AsSettings {
		r.adoptSeen(ctx, adoptableSettings(manifest.Observe(live)), found[manifest.Key(live)])
		r.PrivateState.Foreign = append(r.PrivateState.Foreign, manifest.Key(live))
		return nil
	}
	document, err := adoptable(live)
	if err != nil {
		return err
	}
	autoscaled := r.isAutoscaled(ctx, live)
	if adoption == manifest.AsAttributes {
		before := *r.State
		r.Diags.Append(r.State.adopt(ctx, manifest.ObserveAdoptable(document, live), r.Data.Defaults)...)
		rendered := r.renderedWorkload(ctx, live)
		if autoscaled || rendered != nil && !manifest.KeepsReferences(rendered, live) {
			*r.State, adoption = before, manifest.AsManifest
		}
	}
	if adoption == manifest.AsManifest {
		if err := r.importAsManifest(ctx, document, autoscaled); err != nil {
			return err
		}
	}
	r.PrivateState.Foreign = append(r.PrivateState.Foreign, manifest.Key(live))
	if r.Listing != nil {
		return nil
	}
	workload := r.renderedWorkload(ctx, live)
	if workload == nil {
		return nil // the fields become owned with the next apply
	}
	_, err = found.Adopt(ctx, r.Data.Cluster, r.Memory, live, workload)
	return err
}

// renderedWorkload returns the workload that a configuration for the imported attributes renders, or nil if they cannot
// be rendered.
func (r *reader) renderedWorkload(ctx context.Context, live *unstructured.Unstructured) *unstructured.Unstructured {
	config, prior := *r.State, owned.Objects{manifest.Key(live): {Content: live}}
	hooks{}.Generate(ctx, &config)
	options := renderOptionsOf(ctx, r.Data, r.State, prior, r.PrivateState)
	// The queue of a workload of another client owns what suspends it.
	options.heldByQueue = options.heldByQueue && !r.Memory.NeverApplied(manifest.Key(live))
	current, _, diags := versionsOf(r.Data, &config, r.State, prior)
	if diags.HasError() {
		return nil
	}
	options.versions = current
	rendered, diags := render(ctx, &config, options)
	if diags.HasError() {
		return nil
	}
	return workloadIn(rendered)
}

// adoptable returns a workload with only the fields that clients have set; see [manifest.Adoptable].
func adoptable(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	given, err := owned.GivenFields(live)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: manifest.Adoptable(
		&unstructured.Unstructured{Object: fields.Project(live.Object, given)})}, nil
}

// importAsManifest sets manifest to an adoptable workload, without its number of pods if an autoscaler sets it.
func (r *reader) importAsManifest(ctx context.Context, document *unstructured.Unstructured, autoscaled bool) error {
	if autoscaled {
		unstructured.RemoveNestedField(document.Object, "spec", "replicas")
	}
	seen := manifest.Observe(document)
	text, err := manifest.JSON(document)
	if err != nil {
		return err
	}
	r.Diags.Append(r.State.adopt(ctx, manifest.Compute{
		Replicas: seen.Replicas, Image: seen.Image, ServiceAccountName: seen.ServiceAccountName,
	}, r.Data.Defaults)...)
	r.State.Manifest, r.State.ManifestOnly = tf.DocumentOf(text), types.BoolValue(true)
	r.State.Suspend = types.BoolValue(false) // manifest contains the suspension
	if !r.State.Replicas.IsNull() {
		r.State.Replicas = types.Int64Value(seen.Replicas)
	}
	return nil
}

// isAutoscaled reports whether a HorizontalPodAutoscaler, which KEDA also uses, sets the number of pods of a workload.
// Without permission to list them, none does.
func (r *reader) isAutoscaled(ctx context.Context, live *unstructured.Unstructured) bool {
	if _, counted := kind.Find(live.Object, []string{"spec", "replicas"}); !counted {
		return false
	}
	listing := r.Listing
	if listing == nil {
		listing = r.Data.Cluster.API.Listing(live.GetNamespace())
	}
	autoscalers, err := listing.All(ctx, kind.HorizontalPodAutoscaler().All())
	return err == nil && manifest.AutoscalerOf(live, autoscalers) != nil
}

// preserveAdopted returns the prior objects if the configuration renders the same as the state of an import of objects
// of another client. They become owned with the first change of an attribute, or when an apply restores them. Objects
// that were in state and no longer exist are created again; others that the import did not find are not.
func (p *planner) preserveAdopted(
	ctx context.Context, rendered, prior owned.Objects, options renderOptions,
) owned.Objects {
	if len(p.PrivateState.Foreign) == 0 || slices.ContainsFunc(p.PrivateState.Foreign, p.Memory().Drifted) {
		return rendered
	}
	config := *p.State
	hooks{}.Generate(ctx, &config)
	imported, diags := render(ctx, &config, options)
	if diags.HasError() || !imported.Value().Equal(rendered.Value()) {
		return rendered
	}
	out := maps.Clone(prior)
	for key := range p.Memory() {
		if object := rendered[key]; object != nil && prior[key] == nil {
			out[key] = object
		}
	}
	return out
}
