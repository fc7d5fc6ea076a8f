package secret

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Plan reads the source, shows by key what changes, and asks the cluster whether it
// would take that.
func (hooks) Plan(ctx context.Context, planned *planning) {
	p := planner{planning: planned}
	if p.Creating {
		p.PrivateState = remembered{ledger: spec.NewLedger(sealerOf(p.Data))}
	}
	p.ReplaceIfMoved()
	if p.PrivateState.privateState.Ending {
		p.Replace.Append(path.Root("uid"))
	}
	p.gather()
	if p.kept {
		p.Plan.Keys, p.Plan.Ref, p.Plan.Manifests = p.State.Keys, p.State.Ref, p.State.Manifests
	} else {
		p.describe()
	}
	p.Plan.UID = p.uid()
	if !p.Diags.HasError() && p.asks() {
		if p.Creating {
			p.Data.Cluster.PreviewCreation(ctx, func() { p.ask(ctx) })
		} else {
			p.ask(ctx)
		}
	}
	if len(p.Replace) > 0 {
		p.Plan.UID = types.StringUnknown()
	}
}

// planner works out one plan. Its methods fill in Plan, in the order in which
// [hooks.Plan] calls them.
type planner struct {
	*planning

	content content
	object  *unstructured.Unstructured // without values; nil while something is unknown
	kept    bool                       // the Secret stays as it is, since its source cannot be read
}

// gather reads the source and fills in keys. Where the source cannot be read
// and nothing else changes, the Secret stays as it is: a machine without the
// files must be able to plan other things, and to destroy.
func (p *planner) gather() {
	source, diags := gather(p.Config, machineOf(p.Data))
	if diags.HasError() && p.rests() {
		for _, d := range diags {
			warning := diag.NewWarningDiagnostic(d.Summary(), d.Detail()+"\n\n"+
				"The Secret in the cluster stays as it is: whether its values are still those of the source is not known, "+
				"and nothing is put back. Any other change of it needs the source.")
			if at, ok := d.(diag.DiagnosticWithPath); ok {
				p.Diags.Append(diag.WithPath(at.Path(), warning))
			} else {
				p.Diags.Append(warning)
			}
		}
		p.kept = true
		return
	}
	p.Diags.Append(diags...)
	p.content = source
	p.Plan.Keys = p.revisions().planned(source)
}

// same says whether nothing of the Secret changes.
func (p *planner) same() bool {
	return p.Plan.Keys.Equal(p.State.Keys) && p.Plan.Manifests.Equal(p.State.Manifests)
}

// uid is that of the Secret in state. Where state has none, since the answer to
// the creation was lost, the next apply tells it.
func (p *planner) uid() types.String {
	if p.Creating || p.State.UID.IsNull() && !p.same() {
		return types.StringUnknown()
	}
	return p.State.UID
}

func (p *planner) revisions() revisions {
	return revisionsOf(p.Plan, p.State, p.PrivateState.ledger, p.Config, p.Creating)
}

// rests says whether the configuration asks for nothing else than what is there.
func (p *planner) rests() bool {
	plan, state := p.Plan, p.State
	return !p.Creating && len(p.Replace) == 0 && !state.Ref.IsNull() &&
		plan.ProviderName.Equal(state.ProviderName) && plan.Path.Equal(state.Path) && plan.Filenames.Equal(state.Filenames) &&
		plan.EnvVars.Equal(state.EnvVars) && plan.MountPath.Equal(state.MountPath) &&
		plan.DefaultMode.Equal(state.DefaultMode) && plan.Labels.Equal(state.Labels) &&
		plan.Annotations.Equal(state.Annotations) && plan.AdoptExisting.Equal(state.AdoptExisting)
}

// machineOf is nil while the provider's configuration is not known.
func machineOf(data *tf.ProviderData) *machine {
	if !data.Configured() {
		return nil
	}
	env := data.Cluster.Env()
	return &machine{home: env.Home, getenv: env.Get}
}

// describe fills in ref and manifests.
func (p *planner) describe() {
	p.Plan.Ref = types.ObjectUnknown(refTypes())
	p.Plan.Manifests = types.MapUnknown(types.StringType)
	if p.Diags.HasError() || p.content.open || anyUnknown(p.Plan.Name, p.Plan.MountPath, p.Plan.DefaultMode) {
		return
	}
	mount := mountPath(p.Plan, p.content)
	mode := defaultMode(p.Plan, p.State, mount)
	p.Diags.Append(refuseUnusedMode(p.Plan, mount)...)
	p.Plan.Ref = reference(p.Plan.Name, mount, mode, p.content.keys())
	plan := p.Plan
	if !p.Data.Configured() ||
		anyUnknown(plan.Namespace, plan.Labels, plan.Annotations, plan.ProviderName, plan.AdoptExisting) {
		return
	}
	defaults := owned.PreserveCreator(p.Data.Defaults, owned.Manifests(p.State.Manifests))
	object, text, diags := render(plan, p.content, mode, defaults)
	p.Diags.Append(diags...)
	p.object, p.Plan.Manifests = object, text
}

// mountPath is where the keys are mounted in the container, "" for nowhere.
func mountPath(m *model, c content) string {
	if !m.MountPath.IsNull() {
		return m.MountPath.ValueString()
	}
	return spec.MountPath(c.folder)
}

// reference is the attribute ref.
func reference(name types.String, mount, mode string, keys []string) types.Object {
	ref := map[string]attr.Value{
		"name": name, "env_vars": types.ListNull(types.StringType),
		"mount_path": types.StringNull(), "default_mode": types.StringNull(),
	}
	if mount != "" {
		ref["mount_path"] = types.StringValue(mount)
		if mode != "" {
			ref["default_mode"] = types.StringValue(mode)
		}
		return types.ObjectValueMust(refTypes(), ref)
	}
	names := make([]attr.Value, len(keys))
	for i, key := range keys {
		names[i] = types.StringValue(key)
	}
	ref["env_vars"] = types.ListValueMust(types.StringType, names)
	return types.ObjectValueMust(refTypes(), ref)
}

// render makes the object without its values, and the attribute manifests.
func render(
	m *model, c content, mode string, defaults tf.Defaults,
) (*unstructured.Unstructured, types.Map, diag.Diagnostics) {
	s := spec.Secret{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Username: defaults.Username,
		Provider: m.ProviderName.ValueString(), Adopt: m.AdoptExisting.ValueBool(),
		Folder: c.folder, Filenames: c.keys(), DefaultMode: mode,
		DefaultLabels: defaults.Labels, DefaultAnnotations: defaults.Annotations,
		Labels: texts(m.Labels), Annotations: texts(m.Annotations),
	}
	if !m.MountPath.IsNull() {
		s.Folder = m.MountPath.ValueString()
	}
	object, err := s.Object()
	if err == nil {
		var text string
		if text, err = manifest.JSON(object); err == nil {
			return object, textMap(map[string]string{manifest.Key(object): text}), nil
		}
	}
	failure := diag.NewErrorDiagnostic("The secret cannot be rendered", err.Error())
	return nil, types.MapUnknown(types.StringType), diag.Diagnostics{failure}
}

// asks says whether there is something to ask the server.
func (p *planner) asks() bool {
	known := p.object != nil && p.content.known()
	return !p.same() && (known || p.Creating) && len(p.Replace) == 0 && !p.Plan.ID.IsUnknown() && p.Data.Configured()
}

// ask has the server run the apply dry, and looks at the Secret that is there.
func (p *planner) ask(ctx context.Context) {
	known := p.object != nil && p.content.known()
	cluster, ref := p.Data.Cluster, p.Plan.ref()
	if p.Creating && known && p.Replaced[secretKey(ref)].UID == "" {
		created, err := cluster.DryRunNewSecret(ctx, spec.WithData(p.object, p.revisions().toSend(p.content, nil)))
		if created && err == nil {
			return
		}
	}
	live, err := cluster.GetSecret(ctx, ref)
	switch {
	case kube.IsNotFound(err):
	case kube.ClassOf(err) == kube.Denied:
		if !p.admitUnread(ctx, ref) {
			return
		}
	case err != nil:
		p.Diags.Append(owned.PlanRejection(err, p.Creating))
		return
	case p.Creating && p.Replaced[secretKey(ref)].UID == live.GetUID():
		return // it goes first
	case p.Creating:
		p.takeOver(ref, live)
	case rigid(live) != "" && p.changesWhatIsRigid(live):
		p.Diags.AddWarning(ref.String()+" has to be replaced",
			rigid(live)+" The plan deletes it and makes it again; pods that run keep what they have.")
		p.Replace.Append(path.Root("keys"))
		return
	}
	if p.Diags.HasError() || !known {
		return
	}
	answer, err := cluster.ApplySecret(ctx, spec.WithData(p.object, p.revisions().toSend(p.content, live)), true)
	if err != nil {
		p.Diags.Append(owned.PlanRejection(err, p.Creating))
		return
	}
	if !p.Creating {
		p.Diags.Append(p.Memory.RetainedWarning(ref, manifest.Key(p.object), answer)...)
	}
}

// admitUnread is admit of a Secret that may not be read, and says whether the
// server can be asked about the apply. Only a Secret that is known not to exist
// counts as none.
func (p *planner) admitUnread(ctx context.Context, ref kube.Ref) bool {
	if !p.Creating {
		return true
	}
	there, err := p.Data.Cluster.SecretMetadata(ctx, ref)
	switch {
	case err == nil:
		p.admit(ref, there)
	case !kube.IsNotFound(err):
		p.Diags.Append(owned.PlanRejection(err, p.Creating))
		return false
	}
	return true
}

// admit refuses a Secret that cannot become this resource's.
func (p *planner) admit(ref kube.Ref, live *unstructured.Unstructured) {
	if err := p.Creation().Admit(ref, live); err != nil {
		p.Diags.Append(owned.Failure(err))
	}
}

// changesWhatIsRigid says whether the values differ from those of the cluster,
// or the type does.
func (p *planner) changesWhatIsRigid(live *unstructured.Unstructured) bool {
	there, wanted := kube.SecretData(live), p.revisions().toSend(p.content, live)
	return secretType(live) != opaque || !maps.EqualFunc(there, wanted, bytes.Equal)
}

// takeOver says whether a Secret that is there can become ours, and what of it
// will go.
func (p *planner) takeOver(ref kube.Ref, live *unstructured.Unstructured) {
	if !p.Plan.AdoptExisting.ValueBool() {
		p.admit(ref, live)
		return
	}
	if p.object == nil || !p.content.known() {
		return
	}
	if rigid(live) != "" && p.changesWhatIsRigid(live) {
		p.Diags.AddError(ref.String()+" cannot be taken over",
			fmt.Sprintf("%s Choose another name, or delete it and apply again:\n  kubectl delete secret %s -n %s",
				rigid(live), ref.Name, ref.Namespace))
		return
	}
	if extra := beyond(live, p.content.keys()); len(extra) > 0 {
		p.Diags.AddWarning(ref.String()+" loses keys",
			fmt.Sprintf("It exists, and adopt_existing takes it over. "+
				"Its keys %s are not among those of the source: the apply removes them.", strings.Join(extra, ", ")))
	}
}

// beyond are the keys of a Secret that are not among the given ones.
func beyond(live *unstructured.Unstructured, keys []string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(kube.SecretData(live))) {
		if !slices.Contains(keys, key) {
			out = append(out, key)
		}
	}
	return out
}
