package compute

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// mode returns the attribute mode. It is unknown if an attribute is that determines it.
func (m *model) mode(c *converter) types.String {
	scaler, distribution := memberOf[types.String](m.Autoscale, "scaler"), memberOf[types.String](m.Distribute, "type")
	for _, value := range []attr.Value{
		m.Autoscale, m.Distribute, m.Job, m.Manifest, m.Selector, m.Runtime, scaler, distribution,
	} {
		if value.IsUnknown() {
			return types.StringUnknown()
		}
	}
	out := manifest.Compute{Manifest: c.decodeManifest(m.Manifest), Runtime: m.Runtime.ValueString()}
	if !m.Autoscale.IsNull() {
		out.Autoscale = &manifest.Autoscale{Scaler: scaler.ValueString()}
	}
	if !m.Job.IsNull() {
		out.Job = &manifest.Job{}
	}
	if !m.Selector.IsNull() {
		out.Selector = map[string]string{"": ""} // its values may be unknown
	}
	if !m.Distribute.IsNull() {
		out.Distribute = &manifest.Distribute{Type: distribution.ValueString()}
	}
	return types.StringValue(out.Mode())
}

// changesMode reports whether another kind of workload will run the pods.
func (p *planner) changesMode() bool {
	differs := func(planned, before types.String) bool { return !planned.IsUnknown() && !planned.Equal(before) }
	return !p.Creating && (differs(p.Plan.Mode, p.State.Mode) || differs(p.Plan.Runtime, p.State.Runtime))
}

// defaults sets the attributes that the configuration omits and whose defaults depend on the mode. A manifest may set
// them too, so they are then unknown until it is rendered: see fillFromWorkload.
func (p *planner) defaults() {
	plan, config := p.Plan, p.Config
	plan.Replicas, plan.ServiceAccountName, plan.ImageRef = config.Replicas, config.ServiceAccountName, config.ImageRef
	plan.Image = config.imageOfRef()
	mayBeInManifest := plan.Mode.IsUnknown() || !config.Manifest.IsNull()
	mode := plan.Mode.ValueString()
	hasDefaults := mode != kind.ModeSelector && mode != kind.ModeCompute // those of operators are not known
	for attribute, value := range map[*types.String]string{
		&plan.Image: manifest.DefaultImage, &plan.ServiceAccountName: manifest.DefaultServiceAccount,
	} {
		switch {
		case !attribute.IsNull():
		case mayBeInManifest:
			*attribute = types.StringUnknown()
		case hasDefaults:
			*attribute = types.StringValue(value)
		}
	}
	switch {
	case !plan.Replicas.IsNull():
	case mayBeInManifest:
		plan.Replicas = types.Int64Unknown()
	default:
		plan.Replicas = config.defaultReplicas(mode)
	}
}

// imageOfRef returns image, or that of image_ref if it is set.
func (m *model) imageOfRef() types.String {
	if m.ImageRef.IsUnknown() {
		return types.StringUnknown()
	}
	if m.ImageRef.IsNull() {
		return m.Image
	}
	return memberOf[types.String](m.ImageRef, "image")
}

// scalesWorkload reports whether an autoscaler beside the workload sets its number of pods.
func (m *model) scalesWorkload() bool {
	return manifest.ScalesWorkload(memberOf[types.String](m.Autoscale, "scaler").ValueString())
}

// startsFromZero reports whether an autoscaler beside the workload starts its first pod. A HorizontalPodAutoscaler does
// only with a minimum of zero.
func (m *model) startsFromZero() bool {
	scaler, least := memberOf[types.String](m.Autoscale, "scaler"), memberOf[types.Int64](m.Autoscale, "min_scale")
	isZero := isKnown(least) && least.ValueInt64() == 0
	return m.scalesWorkload() && (scaler.ValueString() != manifest.ScalerHPA || isZero)
}

// hasReplicas reports whether a compute of a mode has the attribute replicas.
func (m *model) hasReplicas(mode string) bool { return kind.OfMode(mode).Scales && !m.scalesWorkload() }

// defaultReplicas returns distribute.workers, or 1 if it is not set. It returns null for a mode without replicas.
func (m *model) defaultReplicas(mode string) types.Int64 {
	if !m.hasReplicas(mode) {
		return types.Int64Null()
	}
	if m.Distribute.IsUnknown() {
		return types.Int64Unknown()
	}
	if number := memberOf[types.Int64](m.Distribute, "workers"); !number.IsNull() {
		return number
	}
	return types.Int64Value(1)
}

// fillFromWorkload sets the unknown attributes that the manifest may have set, from the rendered workload.
func (p *planner) fillFromWorkload() {
	workload := workloadIn(p.rendered)
	if workload == nil ||
		!p.Plan.Image.IsUnknown() && !p.Plan.ServiceAccountName.IsUnknown() && !p.Plan.Replicas.IsUnknown() {
		return
	}
	seen := p.Plan.observe(workload)
	for attribute, value := range map[*types.String]string{
		&p.Plan.Image: seen.Image, &p.Plan.ServiceAccountName: seen.ServiceAccountName,
	} {
		if attribute.IsUnknown() {
			*attribute = tf.TextOrNull(value)
		}
	}
	if p.Plan.Replicas.IsUnknown() {
		p.Plan.Replicas = types.Int64Null()
		if p.Plan.hasReplicas(p.Plan.Mode.ValueString()) {
			p.Plan.Replicas = types.Int64Value(seen.Replicas)
		}
	}
}

// preserveImportedText keeps the texts of an import if the configuration renders the same objects. Terraform allows a
// plan to keep the prior value instead of the configured one.
func (p *planner) preserveImportedText() {
	if !p.rendersImported() {
		return
	}
	owned.PreserveSetting(&p.Plan.Manifest, p.State.Manifest, p.Config.Manifest)
	owned.PreserveSetting(&p.Plan.ServiceTemplate, p.State.ServiceTemplate, p.Config.ServiceTemplate)
	owned.PreserveSetting(&p.Plan.Expose, p.State.Expose, p.Config.Expose)          // no Ingress contains the protocol
	owned.PreserveSetting(&p.Plan.Autoscale, p.State.Autoscale, p.Config.Autoscale) // defaults, such as the scaler
	owned.PreserveSetting(&p.Plan.Affinity, p.State.Affinity, p.Config.Affinity)
	owned.PreserveSetting(&p.Plan.Ports, p.State.Ports, p.Config.Ports) // nor do objects contain these defaults
	owned.PreserveSetting(&p.Plan.Service, p.State.Service, p.Config.Service)
	owned.PreserveSetting(&p.Plan.Probes, p.State.Probes, p.Config.Probes)
	owned.PreserveSetting(&p.Plan.PreStop, p.State.PreStop, p.Config.PreStop)
}

// rendersImported reports whether the configuration renders the imported objects.
func (p *planner) rendersImported() bool {
	return !p.Creating && p.rendered != nil && len(p.PrivateState.Imported) > 0 &&
		p.sameObjects()
}

// preserveImportedSettings keeps the settings of an import that no object contains, if the plan then has no changes at
// all. An update sets all of them from the configuration.
func (p *planner) preserveImportedSettings() {
	plan, state, config := p.Plan, p.State, p.Config
	p.PreserveImported(!p.PrivateState.Configured && p.rendersImported(), func() {
		owned.PreserveSetting(&plan.OnNotReady, state.OnNotReady, config.OnNotReady)
		owned.PreserveSetting(&plan.QueueScheduler, state.QueueScheduler, config.QueueScheduler)
		owned.PreserveSetting(&plan.GPUType, state.GPUType, config.GPUType)
		// No object of a suspended compute contains the number of replicas.
		owned.PreserveSetting(&plan.Replicas, state.Replicas, config.Replicas)
	})
}

// asConfigured returns the plan without the defaults that the renderer or a manifest sets, as the renderer requires it.
func (m *model) asConfigured(config *model) *model {
	out := *m
	out.Replicas, out.ServiceAccountName = config.Replicas, config.ServiceAccountName
	out.Image, out.ImageRef = config.Image, config.ImageRef
	out.KubetorchVersion = config.KubetorchVersion
	return &out
}
