package compute

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// mode is the attribute mode, unknown while what decides it is.
func (m *model) mode(ctx context.Context) types.String {
	for _, decides := range []attr.Value{m.Autoscale, m.Distribute, m.Manifest, m.Selector, m.Runtime} {
		if decides.IsUnknown() {
			return types.StringUnknown()
		}
	}
	d := decoder{ctx: ctx}
	c := manifest.Compute{Manifest: d.manifest(m.Manifest), Runtime: m.Runtime.ValueString()}
	if !m.Autoscale.IsNull() {
		c.Autoscale = &manifest.Autoscale{}
	}
	if !m.Selector.IsNull() {
		c.Selector = map[string]string{"": ""} // its labels may not be known yet
	}
	if !m.Distribute.IsNull() {
		way, _ := m.Distribute.Attributes()["type"].(types.String)
		if way.IsUnknown() {
			return types.StringUnknown()
		}
		c.Distribute = &manifest.Distribute{Type: way.ValueString()}
	}
	return types.StringValue(c.Mode())
}

// changesMode reports whether the pods will be run by another kind of workload.
func (p *planner) changesMode() bool {
	moves := func(planned, before types.String) bool { return !planned.IsUnknown() && !planned.Equal(before) }
	return !p.Creating && (moves(p.Plan.Mode, p.State.Mode) || moves(p.Plan.Runtime, p.State.Runtime))
}

// defaults fills in what the configuration leaves out and depends on the mode.
// What a manifest says is known when it is rendered: see observe.
func (p *planner) defaults(ctx context.Context) {
	plan, config := p.Plan, p.Config
	plan.Replicas, plan.ServiceAccountName, plan.ImageRef = config.Replicas, config.ServiceAccountName, config.ImageRef
	plan.Image, plan.ImageSetup = config.imageAndSetup(ctx)
	byo := plan.Mode.IsUnknown() || !config.Manifest.IsNull()
	mode := plan.Mode.ValueString()
	podless := !byo && (mode == kind.ModeSelector || mode == kind.ModeCompute) // or the operator's own
	for attribute, otherwise := range map[*types.String]string{
		&plan.Image: manifest.DefaultImage, &plan.ServiceAccountName: manifest.DefaultServiceAccount,
	} {
		switch {
		case !attribute.IsNull() || podless:
		case byo:
			*attribute = types.StringUnknown()
		default:
			*attribute = types.StringValue(otherwise)
		}
	}
	switch {
	case !plan.Replicas.IsNull():
	case byo:
		plan.Replicas = types.Int64Unknown()
	case manifest.HasReplicas(plan.Mode.ValueString()):
		plan.Replicas = workers(config.Distribute)
	}
}

// imageAndSetup returns image and image_setup, or the values of image_ref if that is set.
func (m *model) imageAndSetup(ctx context.Context) (types.String, types.Object) {
	if m.ImageRef.IsUnknown() {
		return types.StringUnknown(), types.ObjectUnknown(m.ImageSetup.AttributeTypes(ctx))
	}
	image, isText := m.ImageRef.Attributes()["image"].(types.String)
	setup, isObject := m.ImageRef.Attributes()["setup"].(types.Object)
	if isText && isObject {
		return image, setup
	}
	return m.Image, m.ImageSetup
}

// workers is how many pods a compute is spread over; one where it says nothing.
func workers(distribute types.Object) types.Int64 {
	if distribute.IsUnknown() {
		return types.Int64Unknown()
	}
	if number, ok := distribute.Attributes()["workers"].(types.Int64); ok && !number.IsNull() {
		return number
	}
	return types.Int64Value(1)
}

// observe reads a workload of this compute back.
func (m *model) observe(workload *unstructured.Unstructured) manifest.Compute {
	return manifest.Observe(workload, fieldPath(m.PodTemplatePath)...)
}

// observe takes from the rendered workload what only its manifest says.
func (p *planner) observe() {
	workload, err := p.rendered.workload()
	if err != nil || workload == nil {
		return
	}
	seen := p.Plan.observe(workload)
	for attribute, text := range map[*types.String]string{
		&p.Plan.Image: seen.Image, &p.Plan.ServiceAccountName: seen.ServiceAccountName,
	} {
		if attribute.IsUnknown() {
			*attribute = textOrNull(text)
		}
	}
	if p.Plan.Replicas.IsUnknown() {
		p.Plan.Replicas = types.Int64Null()
		if manifest.HasReplicas(p.Plan.Mode.ValueString()) {
			p.Plan.Replicas = types.Int64Value(seen.Replicas)
		}
	}
}

// keepWording keeps the texts that an import found where the configuration
// renders the same objects: they are the objects' own. Terraform allows a plan to
// keep a value that is not null.
func (p *planner) keepWording() {
	if !p.rendersWhatWasImported() {
		return
	}
	if !p.State.Manifest.IsNull() && !p.Config.Manifest.IsNull() {
		p.Plan.Manifest = p.State.Manifest
	}
	if !p.State.ServiceTemplate.IsNull() && !p.Config.ServiceTemplate.IsNull() {
		p.Plan.ServiceTemplate = p.State.ServiceTemplate
	}
}

func (p *planner) rendersWhatWasImported() bool {
	return !p.Creating && p.rendered != nil && len(p.PrivateState.Imported) > 0 &&
		p.Plan.Manifests.Equal(p.State.Manifests)
}

// keepImported keeps what an import gave to settings that no object has, where
// the plan then changes nothing at all: an update takes every setting from the
// configuration.
func (p *planner) keepImported() {
	if p.PrivateState.Configured || !p.rendersWhatWasImported() {
		return
	}
	state, config := p.State, p.Config
	owned.PreserveImported(p.Plan, state, func(plan *model) {
		owned.PreserveSetting(&plan.OnNotReady, state.OnNotReady, config.OnNotReady)
		owned.PreserveSetting(&plan.QueueScheduler, state.QueueScheduler, config.QueueScheduler)
		owned.PreserveSetting(&plan.GPUType, state.GPUType, config.GPUType)
		owned.PreserveSetting(&plan.AdoptExisting, state.AdoptExisting, config.AdoptExisting)
		// of a suspended compute, no object has it
		owned.PreserveSetting(&plan.Replicas, state.Replicas, config.Replicas)
		if config.ImageRef.IsNull() {
			plan.ImageRef = state.ImageRef // the objects do not show whether image_ref was set
		}
	})
}

// asConfigured is the plan without what defaults filled in, as the renderer
// takes it.
func (m *model) asConfigured(config *model) *model {
	out := *m
	out.Replicas, out.ServiceAccountName = config.Replicas, config.ServiceAccountName
	out.Image, out.ImageSetup = config.Image, config.ImageSetup
	out.KubetorchVersion = config.KubetorchVersion
	if config.Manifest.IsNull() {
		out.Replicas = m.Replicas
	}
	return &out
}
