package compute

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// planner completes one plan. Its methods fill in Plan, in the order in which
// the hook calls them.
type planner struct {
	*planning

	written  *written // what lifecycle.ignore_changes has changed, nil for nothing
	prior    objects  // of the state; nil while something is unknown
	rendered objects  // nil while something is unknown
	replace  bool     // a field changes that Kubernetes never lets change
}

// Plan renders what will be applied, so that the plan shows it, and asks the
// cluster to validate the changes.
func (hooks) Plan(ctx context.Context, planned *planning) {
	p := &planner{planning: planned, written: writtenConfig(ctx, planned.Data, planned.Request)}
	p.addresses(ctx)
	p.defaults(ctx)
	p.ReplaceIfMoved()
	if p.changesMode() {
		p.Replace.Append(path.Root("mode"), path.Root("runtime")) // Terraform heeds those that differ
	}
	if p.Request.Config.Raw.IsFullyKnown() && !p.Plan.Namespace.IsUnknown() && p.Data.Configured() {
		p.render(ctx)
	} else {
		p.Plan.Manifests = types.MapUnknown(types.StringType)
		p.leaveRendering()
	}
	p.keepWording()
	if !p.Diags.HasError() {
		p.dryRun(ctx)
	}
	p.computed()
	p.keepImported()
	if p.replace {
		p.Replace.Append(path.Root("manifests"))
	}
	if p.PrivateState.Ending {
		p.Replace.Append(path.Root("uid"))
	}
}

// computesLike reports whether all computed attributes are equal. Writing a whole
// model back costs more than all else that a plan without changes does.
func (m *model) computesLike(o *model) bool {
	return m.Replicas.Equal(o.Replicas) && m.Image.Equal(o.Image) &&
		m.ImageRef.Equal(o.ImageRef) && m.ImageSetup.Equal(o.ImageSetup) &&
		m.ServiceAccountName.Equal(o.ServiceAccountName) &&
		m.OnNotReady.Equal(o.OnNotReady) && m.QueueScheduler.Equal(o.QueueScheduler) && m.GPUType.Equal(o.GPUType) &&
		m.AdoptExisting.Equal(o.AdoptExisting) && m.Manifest.Equal(o.Manifest) &&
		m.ServiceTemplate.Equal(o.ServiceTemplate) &&
		m.KubetorchVersion.Equal(o.KubetorchVersion) && m.RendererRevision.Equal(o.RendererRevision) &&
		m.Namespace.Equal(o.Namespace) && m.ID.Equal(o.ID) && m.Mode.Equal(o.Mode) &&
		m.ServiceName.Equal(o.ServiceName) &&
		m.URL.Equal(o.URL) && m.GRPCTarget.Equal(o.GRPCTarget) && m.Ready.Equal(o.Ready) && m.UID.Equal(o.UID) &&
		m.Manifests.Equal(o.Manifests)
}

// addresses fills in what follows from the name, the namespace and the mode.
func (p *planner) addresses(ctx context.Context) {
	p.Plan.ServiceName, p.Plan.Mode = p.Plan.Name, p.Config.mode(ctx)
	p.Plan.URL, p.Plan.GRPCTarget = types.StringUnknown(), types.StringUnknown()
	p.Plan.fillAddresses(ctx)
}

// fillAddresses fills in the addresses that are unknown, unless the name or the
// namespace is.
func (m *model) fillAddresses(ctx context.Context) {
	if m.Name.IsUnknown() || m.Namespace.IsUnknown() {
		return
	}
	if m.URL.IsUnknown() {
		m.URL = address(ctx, m)
	}
	if m.GRPCTarget.IsUnknown() {
		m.GRPCTarget = grpcTarget(m)
	}
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
	return types.StringValue(fmt.Sprintf("http://%s.%s.svc.cluster.local:%d",
		m.Name.ValueString(), m.Namespace.ValueString(), kind.ServicePort))
}

// grpcTarget is the attribute grpc_target; null where nothing speaks gRPC.
func grpcTarget(m *model) types.String {
	switch {
	case m.Runtime.IsUnknown():
		return types.StringUnknown()
	case !manifest.RunsTensorServer(m.Runtime.ValueString()):
		return types.StringNull()
	}
	return types.StringValue(fmt.Sprintf("%s.%s.svc.cluster.local:%d",
		m.Name.ValueString(), m.Namespace.ValueString(), kind.TensorServerPort))
}

// render fills in manifests.
func (p *planner) render(ctx context.Context) {
	prior, diags := objectsOf(ctx, p.State.Manifests)
	p.Diags.Append(diags...)
	p.prior = prior
	remembered := p.PrivateState
	if remembered.Origin == nil && !p.Creating {
		remembered.Origin = observedOrigin(p.State, prior)
	}
	with := renderOptionsOf(ctx, p.Data, prior, remembered, p.PrivateState.designedFor(p.Plan, p.State))
	with.kept = p.keepsReplicas()
	with.held = with.held || p.State.Suspend.ValueBool() || with.resumed
	rendered := p.renderPods(ctx, prior, with)
	if p.Diags.HasError() {
		return
	}
	p.rendered = rendered
	p.Diags.Append(owned.PlanObjects(p.Data, p.Creation(), maps.Keys(rendered))...)
	p.refuseNothing()
	p.last(ctx, prior)
	if manifest.RunsTensorServer(p.Plan.Runtime.ValueString()) {
		p.Diags.Append(p.warnOfClaims(ctx)...)
		p.Diags.Append(warnOfDropped(ctx, p.State, p.Plan)...)
	}
	p.observe()
	p.Plan.Manifests = p.rendered.value()
	p.leaveRegistration()
	p.keepUnsaid()
	if p.Creating && with.defaults.CompactPlans {
		p.Plan.Manifests = types.MapUnknown(types.StringType)
	}
}

// renderOptionsOf are those of a compute that has objects already, or none yet.
func renderOptionsOf(
	ctx context.Context, data *tf.ProviderData, prior objects, n privateState, designedFor int64,
) renderOptions {
	return renderOptions{
		defaults:    n.Origin.keep(owned.PreserveCreator(data.Defaults, prior.decoded())),
		designedFor: designedFor,
		registered:  registers(ctx, data.Cluster, prior, n),
		held:        len(prior) == 0,
		resumed:     hasSuspension(prior),
		hasField: func(gvk schema.GroupVersionKind, path ...string) bool {
			has, err := data.Cluster.HasField(ctx, gvk, path...)
			return has || err != nil // who cannot read the schema learns from the dry run
		},
	}
}

// replaces reports whether the compute has to be made anew.
func (p *planner) replaces() bool { return p.replace || p.PrivateState.Ending }

// computed decides what the remaining computed attributes will be.
func (p *planner) computed() {
	anew := p.Creating || p.replaces()
	changes := anew || !p.Plan.Manifests.Equal(p.State.Manifests)
	switch {
	case p.Plan.Mode.ValueString() == kind.ModeSelector:
		p.Plan.UID = types.StringNull()
	case anew || p.State.UID.IsNull(): // null: the workload was deleted
		p.Plan.UID = types.StringUnknown()
	default:
		p.Plan.UID = p.State.UID
	}
	waits := p.Plan.OnNotReady.ValueString() != ignoreOnNotReady && p.PrivateState.Unready && !p.State.Ready.ValueBool()
	if changes || waits {
		p.Plan.Ready = types.BoolUnknown()
	} else {
		p.Plan.Ready = p.State.Ready
	}
}

// dryRun asks the server about every object that is new or changes. Objects
// that stay as they are cost no request.
func (p *planner) dryRun(ctx context.Context) {
	prior := p.prior
	changed, _ := p.rendered.changedFrom(prior)
	if len(changed) == 0 {
		return
	}
	if p.moves() {
		return // the plan of the replacement is asked for next, as a creation
	}
	decoded, err := changed.decode()
	if err != nil {
		p.Diags.AddError("Cannot read the plan", err.Error())
		return
	}
	cluster := p.Data.Cluster
	goesOn := true
	preview := func() { goesOn = p.preview(ctx, decoded, prior) }
	if p.Creating {
		cluster.PreviewCreation(ctx, preview)
	} else {
		preview()
	}
	if !goesOn {
		return
	}
	p.warnOfUnchangedPods(prior)
	p.restarts(prior)
	p.queue(ctx, decoded)
	p.gpus(ctx, decoded)
	if p.Plan.Mode.ValueString() == kind.ModeSelector {
		return
	}
	account := p.Plan.ServiceAccountName.ValueString()
	if account != "" && !cluster.ServiceAccountExists(ctx, p.Plan.Namespace.ValueString(), account) {
		p.Diags.AddAttributeWarning(path.Root("service_account_name"), "The service account does not exist yet",
			fmt.Sprintf("Kubernetes rejects pods whose service account does not exist.\n\nNext step: Create it "+
				"before the compute:\n"+
				"  kubectl create serviceaccount %s -n %s", account, p.Plan.Namespace.ValueString()))
	}
}

// preview runs the apply of objects dry. It is false where that says all there is
// to say.
func (p *planner) preview(ctx context.Context, changed []*unstructured.Unstructured, prior objects) bool {
	creation := p.Creation()
	for _, obj := range changed {
		key := manifest.Key(obj)
		before, known := prior[key]
		asNew := creation
		if known {
			asNew = nil
		}
		if sent, err := carry(ctx, p.Data.Cluster, p.Memory(), before, obj); err == nil {
			obj = sent // else the dry run meets the same error
		}
		verdict := owned.Preview(ctx, p.Data.Cluster, obj, asNew, p.goes(ctx, key, obj))
		p.replace = p.replace || (verdict.Immutable && known)
		p.Diags.Append(verdict.Diagnostics(p.Creating, known)...)
		if known {
			p.Diags.Append(p.Memory().RetainedWarning(verdict.Ref, key, verdict.After)...)
		}
		if verdict.Unreachable || p.Diags.HasError() {
			return false // the next object would only say the same again
		}
	}
	return true
}

// queue warns of what can already be seen to keep a workload in its queue.
func (p *planner) queue(ctx context.Context, changed []*unstructured.Unstructured) {
	if p.Plan.QueueName.IsNull() || p.Plan.Suspend.ValueBool() {
		return
	}
	for _, obj := range changed {
		if roleOf(obj) != manifest.RoleWorkload {
			continue
		}
		pods, requests := manifest.Demand(obj, fieldPath(p.Plan.PodTemplatePath)...)
		causes, err := observe.QueueForecast(ctx, p.Data.Cluster,
			p.Plan.QueueScheduler.ValueString(), obj.GetNamespace(), p.Plan.QueueName.ValueString(),
			ready.Ask{Pods: int(pods), Requests: requests}, obj.GetKind()+" "+p.Plan.ID.ValueString())
		if err != nil {
			return // the dry run has said what is wrong with the cluster
		}
		for _, cause := range causes {
			p.Diags.AddAttributeWarning(path.Root("queue_name"), "The queue will not admit the compute immediately",
				tf.Explain(tf.ComputeType, *cause, nil))
		}
	}
}

// gpus warns of GPUs that no node can ever hold.
func (p *planner) gpus(ctx context.Context, changed []*unstructured.Unstructured) {
	if p.Data.Defaults.IgnoreGPUs || p.Plan.Suspend.ValueBool() {
		return
	}
	for _, obj := range changed {
		if roleOf(obj) != manifest.RoleWorkload {
			continue
		}
		seen := p.Plan.observe(obj)
		pods, _ := manifest.Demand(obj, fieldPath(p.Plan.PodTemplatePath)...)
		ask := observe.GPUAsk{NodeSelector: manifest.NodeSelector(seen), Each: seen.GPUs, Pods: pods}
		causes, err := observe.GPUForecast(ctx, p.Data.Cluster, ask, obj.GetKind()+" "+p.Plan.ID.ValueString())
		if err != nil {
			return // the dry run has said what is wrong with the cluster
		}
		for _, cause := range causes {
			at := path.Root("gpus")
			if cause.Subject == "GPU product" {
				at = path.Root("gpu_type")
			}
			p.Diags.AddAttributeWarning(at, "No node can run the pods", tf.Explain(tf.ComputeType, *cause, nil))
		}
	}
}

// moves reports whether another name, namespace or mode makes it another compute.
func (p *planner) moves() bool {
	return p.changesMode() ||
		!p.Creating && (!p.Plan.Name.Equal(p.State.Name) || !p.Plan.Namespace.Equal(p.State.Namespace))
}
