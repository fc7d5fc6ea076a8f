package compute

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// planner completes one plan. Its methods set attributes of Plan, in the order in which the hook calls them.
type planner struct {
	*planning

	converter *converter
	unignored *unignoredConfig // nil if lifecycle.ignore_changes has changed nothing
	prior     owned.Objects    // nil while the configuration is not fully known
	rendered  owned.Objects    // nil while the configuration is not fully known
	// otherIdentity reports whether the name, the namespace or the mode changes, or an object must be deleted with the
	// compute before the planned ones are valid.
	otherIdentity bool
}

// Plan renders the objects that will be applied, and validates the changes with a server-side dry run.
func (hooks) Plan(ctx context.Context, planning *planning) {
	p := &planner{
		planning: planning, converter: newConverter(ctx),
		unignored: unignoredConfigOf(ctx, planning.Data, planning.Request),
	}
	p.addresses()
	p.defaults()
	before := len(p.Replace)
	p.ReplaceIfMoved()
	if p.changesMode() {
		p.Replace.Append(path.Root("mode"), path.Root("runtime")) // Terraform ignores those that do not differ
	}
	p.otherIdentity = len(p.Replace) > before
	if p.ConfigKnown() && !p.Plan.Namespace.IsUnknown() && p.Data.Configured() {
		p.render(ctx)
	} else {
		p.Plan.Manifests = types.MapUnknown(types.StringType)
		p.setUnknownVersions()
		p.replaceIfTemplateUnknown()
	}
	p.preserveImportedText()
	p.recreateExpired()
	if !p.Diags.HasError() {
		(&preview{p}).run(ctx)
	}
	p.status()
	p.preserveImportedSettings()
}

// replaceObjects plans a replacement because of an immutable field. Values of variables are not in manifests. Terraform
// ignores attributes that do not differ.
func (p *planner) replaceObjects() {
	p.Replace.Append(path.Root("manifests"), path.Root("env_vars"), path.Root("init_containers"), path.Root("sidecars"))
}

// addresses sets the mode, and the attributes that depend on the name, the namespace and the mode.
func (p *planner) addresses() {
	p.Plan.ServiceName, p.Plan.Mode = p.Plan.Name, p.Config.mode(p.converter)
	p.Plan.URL, p.Plan.GRPCTarget = types.StringUnknown(), types.StringUnknown()
	p.Plan.fillAddresses()
}

// fillAddresses sets unknown addresses, unless the name or the namespace is unknown.
func (m *model) fillAddresses() {
	if m.Name.IsUnknown() || m.Namespace.IsUnknown() {
		return
	}
	if m.URL.IsUnknown() {
		m.URL = address(m)
	}
	if m.GRPCTarget.IsUnknown() {
		m.GRPCTarget = grpcTarget(m)
	}
}

// address returns the attribute url, which is null for tensor servers and with manifest_only.
func address(m *model) types.String {
	if m.Endpoint.IsUnknown() || m.Runtime.IsUnknown() || m.ManifestOnly.IsUnknown() ||
		m.Job.IsUnknown() || !m.Job.IsNull() && m.Port.IsUnknown() {
		return types.StringUnknown()
	}
	if manifest.RunsTensorServer(m.Runtime.ValueString()) || m.ManifestOnly.ValueBool() {
		return types.StringNull()
	}
	if url := memberOf[types.String](m.Endpoint, "url"); !url.IsNull() {
		return url
	}
	if !m.Job.IsNull() && m.Port.IsNull() {
		return types.StringNull()
	}
	return types.StringValue(fmt.Sprintf("http://%s:%d",
		kind.ServiceHost(m.Namespace.ValueString(), m.Name.ValueString()), kind.ServicePort))
}

// grpcTarget returns the attribute grpc_target, which is null except for tensor servers.
func grpcTarget(m *model) types.String {
	switch {
	case m.Runtime.IsUnknown():
		return types.StringUnknown()
	case !manifest.RunsTensorServer(m.Runtime.ValueString()):
		return types.StringNull()
	}
	return types.StringValue(fmt.Sprintf("%s:%d",
		kind.ServiceHost(m.Namespace.ValueString(), m.Name.ValueString()), kind.TensorServerPort))
}

// render sets the attribute manifests.
func (p *planner) render(ctx context.Context) {
	prior, err := p.State.objects()
	if err != nil {
		p.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	p.prior = prior
	remembered := p.PrivateState
	remembered.Origin = remembered.origin(p.State, prior)
	options := renderOptionsOf(ctx, p.Data, p.State, prior, remembered)
	spec, diags := p.configured().spec(p.converter, options.defaults)
	p.Diags.Append(diags...)
	if p.Diags.HasError() {
		return
	}
	rendered := p.renderVersions(ctx, spec, prior, options)
	if p.Diags.HasError() {
		return
	}
	p.rendered = rendered
	p.Diags.Append(owned.PlanObjects(p.Data, p.Creation(), maps.Keys(rendered))...)
	p.requireObjects()
	p.replaceIfImmutable(ctx)
	if manifest.RunsTensorServer(p.Plan.Runtime.ValueString()) {
		p.warnOfClaims(ctx)
		p.warnOfOmitted()
	}
	p.fillFromWorkload()
	p.Plan.Manifests = p.Plan.manifestsOf(p.rendered, p.State, prior)
	p.planRegistration()
}

// renderOptionsOf returns the options for the prior state and objects of a compute, which a new one lacks.
func renderOptionsOf(
	ctx context.Context, data *tf.ProviderData, state *model, prior owned.Objects, remembered privateState,
) renderOptions {
	wasSuspended := hasSuspension(prior)
	return renderOptions{
		defaults:     remembered.Origin.override(owned.PreserveCreator(data.Defaults, sorted(prior))),
		registered:   wantsRegistration(ctx, data.Cluster, prior, remembered),
		heldByQueue:  len(prior) == 0 || state.Suspend.ValueBool() || wasSuspended,
		wasSuspended: wasSuspended,
		selector:     remembered.Selector,
		hasField: func(gvk schema.GroupVersionKind, path ...string) bool {
			has, err := data.Cluster.Discovery.HasField(ctx, gvk, path...)
			return has || err != nil // the dry run reports the error
		},
	}
}

// requireObjects rejects a plan without objects. For a new compute this is a warning, since the same run may install
// the CRD of the registration, and the apply checks again.
func (p *planner) requireObjects() {
	switch {
	case len(p.rendered) > 0:
	case p.Creating:
		p.Diags.AddAttributeWarning(endpointURL(), noObjects,
			noObjectsDetail("The apply fails unless the same run installs it before."))
	default:
		p.Diags.AddAttributeError(endpointURL(), noObjects, noObjectsDetail(""))
	}
}

func endpointURL() path.Path { return path.Root("endpoint").AtName("url") }

const noObjects = "The compute has no objects"

// noObjectsDetail explains that the pods and the Service of a compute exist already, and that it cannot be registered.
func noObjectsDetail(consequence string) string {
	return fmt.Sprintf("With selector and endpoint.url, a compute consists only of a %s, and its CRD is not installed "+
		"in this cluster. %s\n\nNext step: Install Kubetorch's CRDs first, or remove endpoint.url so that a Service "+
		"is created.", kind.KubetorchWorkload().Kind, consequence)
}

// status sets uid and ready.
func (p *planner) status() {
	recreates := p.PrivateState.recreatesExpired(p.Plan, p.State)
	p.Plan.UID = p.UID(p.State.UID, recreates || len(p.PrivateState.Expired) == 0)
	if p.Plan.Mode.ValueString() == kind.ModeSelector {
		p.Plan.UID = types.StringNull()
	}
	// wait_for_completion is in no object, and changes what ready means.
	changes := p.Creating || len(p.Replace) > 0 || recreates || !p.sameObjects() ||
		p.Plan.WaitForCompletion.ValueBool() != p.State.WaitForCompletion.ValueBool()
	waits := p.Plan.OnNotReady.ValueString() != ignoreOnNotReady && p.PrivateState.Unready && !p.State.Ready.ValueBool()
	if changes || waits {
		p.Plan.Ready = types.BoolUnknown()
	} else {
		p.Plan.Ready = p.State.Ready
	}
}

// outsideOfPods are the attributes that change no pod template.
func outsideOfPods() []string {
	return []string{"adopt_existing", "deletion_protection", "endpoint", "expose", "on_expiry", "on_not_ready",
		"pod_disruption_budget", "sensitive_fields", "service", "suspend", "timeouts", "wait_for_completion"}
}

// replaceIfTemplateUnknown plans a replacement if an unknown value may change a pod template that is immutable, as
// Terraform does for an unknown value of any attribute that forces a replacement. Otherwise, the update would become a
// replacement during the apply, which Terraform rejects as an inconsistent plan.
func (p *planner) replaceIfTemplateUnknown() {
	if p.Creating || p.ConfigKnown() {
		return
	}
	prior, err := p.State.objects()
	workload := workloadIn(prior)
	if err != nil || workload == nil || !manifest.HasImmutablePods(workload) {
		return
	}
	var config map[string]tftypes.Value
	if p.Request.Config.Raw.As(&config) != nil {
		return
	}
	for name, value := range config {
		if !value.IsFullyKnown() && !slices.Contains(outsideOfPods(), name) {
			p.replaceObjects()
		}
	}
}
