package compute

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// ModifyPlan renders what will be applied, so that the plan shows it, and asks
// the cluster whether it would take what changes.
func (r *computeResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var plan, state model
	creating := req.State.Raw.IsNull()
	if !creating {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(refuseIfProtected(&state)...)
		resp.Diagnostics.Append(owned.PlanDestroy(ctx, r.data, req.Private, "kt_compute", state.ID)...)
		return
	}
	var config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}

	proposed := plan
	remembered, diags := loadNotes(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	p := planner{r: r, plan: &plan, state: &state, config: &config, private: req.Private, notes: remembered, creating: creating}
	if creating { // what is remembered is of the compute that this one replaces, if any
		p.notes = notes{}
		p.replaced, diags = owned.LoadMemory(ctx, req.Private)
		resp.Diagnostics.Append(diags...)
	}
	p.written = r.writtenConfig(ctx, req)
	p.place(ctx)
	if creating {
		p.diags.Append(owned.PlanCreate(r.data, p.creation(), p.replaced.Names(plan.identity()))...)
	} else {
		p.diags.Append(owned.PlanKeep(ctx, r.data, req.Private, "kt_compute", state.ID)...)
	}
	p.defaults()
	if !creating && !plan.Namespace.Equal(state.Namespace) {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("namespace"))
	}
	if p.changesMode() {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("mode"), path.Root("runtime")) // Terraform heeds those that differ
	}
	if req.Config.Raw.IsFullyKnown() && !plan.Namespace.IsUnknown() && r.configured() {
		p.render(ctx)
	} else {
		plan.Manifests = types.MapUnknown(types.StringType)
		p.leaveRendering()
	}
	p.keepWording()
	if !p.diags.HasError() {
		p.dryRun(ctx)
	}
	p.computed()
	p.keepImported()
	if p.replace {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("manifests"))
	}
	if p.notes.Ending {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root("uid"))
	}
	if p.moves() || p.replaces() {
		resp.Diagnostics.Append(refuseIfProtected(&state)...)
	}
	resp.Diagnostics.Append(p.diags...)
	if !plan.computesLike(&proposed) {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

// computesLike says whether all computed attributes are equal. Writing a whole
// model back costs more than all else that a plan without changes does.
func (m *model) computesLike(o *model) bool {
	return m.Replicas.Equal(o.Replicas) && m.Image.Equal(o.Image) && m.ServiceAccountName.Equal(o.ServiceAccountName) &&
		m.OnNotReady.Equal(o.OnNotReady) && m.QueueScheduler.Equal(o.QueueScheduler) && m.GPUType.Equal(o.GPUType) &&
		m.AdoptExisting.Equal(o.AdoptExisting) && m.Manifest.Equal(o.Manifest) && m.ServiceTemplate.Equal(o.ServiceTemplate) &&
		m.KubetorchVersion.Equal(o.KubetorchVersion) && m.RendererRevision.Equal(o.RendererRevision) &&
		m.Namespace.Equal(o.Namespace) && m.ID.Equal(o.ID) && m.Mode.Equal(o.Mode) && m.ServiceName.Equal(o.ServiceName) &&
		m.URL.Equal(o.URL) && m.GRPCTarget.Equal(o.GRPCTarget) && m.Ready.Equal(o.Ready) && m.UID.Equal(o.UID) && m.Manifests.Equal(o.Manifests)
}

func (r *computeResource) configured() bool { return r.data != nil && !r.data.Unknown }

func refuseIfProtected(state *model) diag.Diagnostics {
	return owned.RefuseIfProtected(state.DeletionProtection.ValueBool(), "compute", state.ID.ValueString())
}

// planner works out one plan. Its methods fill in plan, in the order in which
// ModifyPlan calls them.
type planner struct {
	r        *computeResource
	plan     *model
	state    *model // empty when creating
	config   *model
	private  owned.PrivateReader
	notes    notes
	replaced owned.Memory // of the compute that is deleted before this one is created
	creating bool
	written  *written // what lifecycle.ignore_changes has changed, nil for nothing
	diags    diag.Diagnostics

	rendered objects // nil while something is unknown
	replace  bool    // a field changes that Kubernetes never lets change
}

// place finds the namespace and what follows from it. A namespace that the
// configuration leaves out is found once and then kept: another kubeconfig
// context must not move a running compute.
func (p *planner) place(ctx context.Context) {
	var diags diag.Diagnostics
	p.plan.Namespace, diags = owned.Namespace(p.r.data, p.config.Namespace, p.state.Namespace, "compute")
	p.diags.Append(diags...)
	p.plan.ServiceName, p.plan.Mode = p.plan.Name, p.config.mode(ctx)
	p.plan.ID, p.plan.URL, p.plan.GRPCTarget = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	if p.plan.Name.IsUnknown() || p.plan.Namespace.IsUnknown() {
		return
	}
	name, namespace := p.plan.Name.ValueString(), p.plan.Namespace.ValueString()
	p.plan.ID = types.StringValue(namespace + "/" + name)
	p.plan.URL, p.plan.GRPCTarget = address(ctx, p.plan), grpcTarget(p.plan)
}

// address is the attribute url; unknown while the endpoint is, and null where
// nothing speaks HTTP.
func address(ctx context.Context, m *model) types.String {
	if m.Endpoint.IsUnknown() || m.Runtime.IsUnknown() {
		return types.StringUnknown()
	}
	if manifest.RunsTensorServer(m.Runtime.ValueString()) {
		return types.StringNull()
	}
	if !m.Endpoint.IsNull() {
		var endpoint endpointModel
		if tf.Object(ctx, m.Endpoint, &endpoint); !endpoint.URL.IsNull() {
			return endpoint.URL
		}
	}
	return types.StringValue(fmt.Sprintf("http://%s.%s.svc.cluster.local:%d", m.Name.ValueString(), m.Namespace.ValueString(), kind.ServicePort))
}

// grpcTarget is the attribute grpc_target; null where nothing speaks gRPC.
func grpcTarget(m *model) types.String {
	switch {
	case m.Runtime.IsUnknown():
		return types.StringUnknown()
	case !manifest.RunsTensorServer(m.Runtime.ValueString()):
		return types.StringNull()
	}
	return types.StringValue(fmt.Sprintf("%s.%s.svc.cluster.local:%d", m.Name.ValueString(), m.Namespace.ValueString(), kind.TensorServerPort))
}

// render fills in manifests.
func (p *planner) render(ctx context.Context) {
	prior, diags := objectsOf(ctx, p.state.Manifests)
	p.diags.Append(diags...)
	remembered := p.notes
	if remembered.Origin == nil && !p.creating {
		remembered.Origin = observedOrigin(p.state, prior)
	}
	with := p.r.circumstances(ctx, prior, remembered, p.notes.designedFor(p.plan, p.state))
	with.kept = p.keepsReplicas()
	with.held = with.held || p.state.Suspend.ValueBool() || with.resumed
	rendered := p.renderPods(ctx, prior, with)
	if p.diags.HasError() {
		return
	}
	p.rendered = rendered
	p.diags.Append(owned.PlanObjects(p.r.data, p.plan.creation(), maps.Keys(rendered))...)
	p.refuseNothing()
	p.last(ctx, prior)
	if manifest.RunsTensorServer(p.plan.Runtime.ValueString()) {
		p.diags.Append(p.warnOfClaims(ctx)...)
		p.diags.Append(warnOfDropped(ctx, p.state, p.plan)...)
	}
	p.observe()
	p.plan.Manifests = p.rendered.value()
	p.leaveRegistration()
	p.keepUnsaid()
	if p.creating && with.defaults.CompactPlans {
		p.plan.Manifests = types.MapUnknown(types.StringType)
	}
}

// circumstances are those of a compute that has objects already, or none yet.
func (r *computeResource) circumstances(ctx context.Context, prior objects, n notes, designedFor int64) circumstances {
	return circumstances{
		defaults:    n.Origin.keep(owned.PreserveCreator(r.data.Defaults, prior.decoded())),
		designedFor: designedFor,
		registered:  r.registers(ctx, prior, n),
		held:        len(prior) == 0,
		resumed:     hasSuspension(prior),
		hasField: func(gvk schema.GroupVersionKind, path ...string) bool {
			has, err := r.data.Cluster.HasField(ctx, gvk, path...)
			return has || err != nil // who cannot read the schema learns from the dry run
		},
	}
}

// replaces says whether the compute has to be made anew.
func (p *planner) replaces() bool { return p.replace || p.notes.Ending }

// computed decides what the remaining computed attributes will be.
func (p *planner) computed() {
	anew := p.creating || p.replaces()
	changes := anew || !p.plan.Manifests.Equal(p.state.Manifests)
	switch {
	case p.plan.Mode.ValueString() == kind.ModeSelector:
		p.plan.UID = types.StringNull()
	case anew || p.state.UID.IsNull(): // null: the workload was deleted
		p.plan.UID = types.StringUnknown()
	default:
		p.plan.UID = p.state.UID
	}
	waits := p.plan.OnNotReady.ValueString() != ignoreOnNotReady && p.notes.Unready && !p.state.Ready.ValueBool()
	if changes || waits {
		p.plan.Ready = types.BoolUnknown()
	} else {
		p.plan.Ready = p.state.Ready
	}
}

// dryRun asks the server about every object that is new or changes. Objects
// that stay as they are cost no request.
func (p *planner) dryRun(ctx context.Context) {
	prior, _ := objectsOf(ctx, p.state.Manifests) // its diagnostics came with render
	changed, _ := p.rendered.changedFrom(prior)
	if len(changed) == 0 {
		return
	}
	if p.moves() {
		return // the plan of the replacement is asked for next, as a creation
	}
	decoded, err := changed.decode()
	if err != nil {
		p.diags.AddError("The plan cannot be read", err.Error())
		return
	}
	cluster := p.r.data.Cluster
	memory, diags := owned.LoadMemory(ctx, p.private)
	p.diags.Append(diags...)
	goesOn := true
	preview := func() { goesOn = p.preview(ctx, decoded, prior, memory) }
	if p.creating {
		cluster.PreviewCreation(ctx, preview)
	} else {
		preview()
	}
	if !goesOn {
		return
	}
	p.kept(prior)
	p.restarts(prior)
	p.queue(ctx, decoded)
	p.gpus(ctx, decoded)
	if p.plan.Mode.ValueString() == kind.ModeSelector {
		return
	}
	account := p.plan.ServiceAccountName.ValueString()
	if account != "" && !cluster.ServiceAccountExists(ctx, p.plan.Namespace.ValueString(), account) {
		p.diags.AddAttributeWarning(path.Root("service_account_name"), "The service account does not exist yet",
			fmt.Sprintf("Kubernetes refuses pods whose service account is missing. Create it before the compute:\n  kubectl create serviceaccount %s -n %s", account, p.plan.Namespace.ValueString()))
	}
}

// preview runs the apply of objects dry. It is false where that says all there is
// to say.
func (p *planner) preview(ctx context.Context, changed []*unstructured.Unstructured, prior objects, memory owned.Memory) bool {
	creation := p.creation()
	for _, obj := range changed {
		key := manifest.Key(obj)
		before, known := prior[key]
		asNew := creation
		if known {
			asNew = nil
		}
		if sent, err := p.r.carry(ctx, memory, key, before, obj); err == nil {
			obj = sent // else the dry run meets the same error
		}
		verdict := owned.Preview(ctx, p.r.data.Cluster, obj, asNew, p.goes(ctx, key, obj))
		p.replace = p.replace || (verdict.Immutable && known)
		p.diags.Append(verdict.Diagnostics(p.creating, known)...)
		if known {
			p.diags.Append(memory.Staying(verdict.Ref, key, verdict.After)...)
		}
		if verdict.Unreachable || p.diags.HasError() {
			return false // the next object would only say the same again
		}
	}
	return true
}

func (p *planner) creation() *owned.Creation {
	creation := p.plan.creation()
	creation.Replaced, creation.Apart = p.replaced, !p.creating
	if p.creating && p.r.configured() {
		creation.HeldBy = p.r.data.Cluster.HeldBy
	}
	return creation
}

// queue warns of what can already be seen to keep a workload in its queue.
func (p *planner) queue(ctx context.Context, changed []*unstructured.Unstructured) {
	if p.plan.QueueName.IsNull() || p.plan.Suspend.ValueBool() {
		return
	}
	for _, obj := range changed {
		if roleOf(obj) != manifest.RoleWorkload {
			continue
		}
		pods, requests := manifest.Demand(obj, fieldPath(p.plan.PodTemplatePath)...)
		causes, err := p.r.data.Cluster.QueueOutlook(ctx, p.plan.QueueScheduler.ValueString(), obj.GetNamespace(), p.plan.QueueName.ValueString(),
			ready.Ask{Pods: int(pods), Requests: requests}, obj.GetKind()+" "+p.plan.ID.ValueString())
		if err != nil {
			return // the dry run has said what is wrong with the cluster
		}
		for _, cause := range causes {
			p.diags.AddAttributeWarning(path.Root("queue_name"), "The compute will wait in its queue", ready.Explain(cause, nil))
		}
	}
}

// gpus warns of GPUs that no node can ever hold.
func (p *planner) gpus(ctx context.Context, changed []*unstructured.Unstructured) {
	if p.r.data.Defaults.IgnoreGPUs || p.plan.Suspend.ValueBool() {
		return
	}
	for _, obj := range changed {
		if roleOf(obj) != manifest.RoleWorkload {
			continue
		}
		seen := p.plan.observe(obj)
		pods, _ := manifest.Demand(obj, fieldPath(p.plan.PodTemplatePath)...)
		ask := kube.GPUAsk{NodeSelector: manifest.NodeSelector(seen), Each: seen.GPUs, Pods: pods}
		causes, err := p.r.data.Cluster.GPUOutlook(ctx, ask, obj.GetKind()+" "+p.plan.ID.ValueString())
		if err != nil {
			return // the dry run has said what is wrong with the cluster
		}
		for _, cause := range causes {
			at := path.Root("gpus")
			if cause.Subject == "gpu_type" {
				at = path.Root("gpu_type")
			}
			p.diags.AddAttributeWarning(at, "No node can hold the pods", ready.Explain(cause, nil))
		}
	}
}

// moves says whether another name, namespace or mode makes it another compute.
func (p *planner) moves() bool {
	return p.changesMode() || !p.creating && (!p.plan.Name.Equal(p.state.Name) || !p.plan.Namespace.Equal(p.state.Namespace))
}
