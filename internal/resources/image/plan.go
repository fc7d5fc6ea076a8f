package image

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Plan renders the ConfigMap that will be applied, so that the plan shows its
// changes, and sends a server-side dry run.
func (hooks) Plan(ctx context.Context, planned *planning) {
	p := planner{planning: planned}
	p.render(ctx)
	p.ReplaceIfMoved()
	if !p.Diags.HasError() {
		p.dryRun(ctx)
	}
	p.Plan.UID = p.UID(p.State.UID, true)
	p.PreserveImported(p.PrivateState.Imported)
}

// planner computes one plan. Its methods fill in Plan, in the order in which
// [hooks.Plan] calls them.
type planner struct {
	*planning

	object *unstructured.Unstructured // nil if an input is unknown
}

// render sets the attributes of the image and its setup, and renders the object.
func (p *planner) render(ctx context.Context) {
	p.Plan.Manifests = types.MapUnknown(types.StringType)
	c := p.Config
	if !tf.FullyKnown(ctx, c.ImageID, c.Base, c.PythonPath, c.InstallCmd, c.Dockerfile, c.Steps, c.PinDigest) {
		p.Plan.setUnknown(p.Config, types.StringUnknown())
		return
	}
	in, diags := loadInputs(ctx, p.Config)
	p.Diags.Append(diags...)
	if diags.HasError() {
		return
	}
	pin, known := p.pin(ctx, in)
	rendered, diags := in.render(pin.Image)
	p.Diags.Append(diags...)
	if p.Diags.HasError() {
		return
	}
	if !known {
		p.Plan.setUnknown(p.Config, types.StringValue(rendered.Digest)) // the digest does not depend on the image
		return
	}
	p.Plan.setComputed(p.Config, pin, rendered)
	if p.Plan.ID.IsUnknown() || !tf.FullyKnown(ctx, p.Config.Labels, p.Config.Annotations) || !p.Data.Configured() {
		return
	}
	obj, manifests, diags := p.Plan.object(in, rendered, p.Data.Defaults, p.State.Manifests)
	p.Diags.Append(diags...)
	if !diags.HasError() {
		p.object, p.Plan.Manifests = obj, manifests
	}
}

// pin returns the digest of the last refresh if the reference is the same, and otherwise false: the apply determines
// it. Terraform plans again in the apply, with another process and without the result of the plan. A digest that both
// request would differ if the tag was moved in between. The request shows whether the image exists.
func (p *planner) pin(ctx context.Context, in inputs) (registry.Pin, bool) {
	if pin, ok := in.withoutRegistry(); ok {
		return pin, true
	}
	if p.PrivateState.Reference == in.reference && p.PrivateState.Pin.Digest != "" {
		return p.PrivateState.Pin, true
	}
	_, err := p.Data.Images.Resolve(ctx, in.reference)
	if err == nil {
		return registry.Pin{}, false
	}
	consequence := "The plan continues, but the image is unknown until apply, which requests it again."
	if failed, ok := errors.AsType[*registry.Error](err); ok && failed.Reason == registry.Invalid {
		consequence = "" // retrying does not help
	}
	p.Diags.Append(pinFailure(err, consequence))
	return registry.Pin{}, false
}

// dryRun sends a server-side dry run of a new or changed ConfigMap.
func (p *planner) dryRun(ctx context.Context) {
	if p.Creating && p.object == nil && !p.Plan.ID.IsUnknown() && p.Data.Configured() {
		p.Data.Run.Preview(func() {
			forecast := owned.PreviewOwner(ctx, p.Data.Cluster, p.Plan.ref(), p.Creation())
			p.Diags.Append(forecast.Diagnostics(true, false)...)
		})
	}
	if p.object == nil || p.Plan.Manifests.Equal(p.State.Manifests) || len(p.Replace) > 0 || p.Short() {
		return
	}
	inState := len(p.State.Manifests.Elements()) > 0
	replaced := p.Replaced[manifest.Key(p.object)].UID
	p.Data.Run.Preview(func() {
		if p.DryRun(ctx, p.object, inState, replaced).Is(kube.Immutable) && inState {
			p.Replace.Append(path.Root("manifests"))
		}
	})
}
