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
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// ModifyPlan reads the source, shows by key what changes, and asks the cluster
// whether it would take that.
func (r *secretResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	p := planner{r: r, creating: req.State.Raw.IsNull()}
	if !p.creating {
		resp.Diagnostics.Append(req.State.Get(ctx, &p.state)...)
	}
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(refuseIfProtected(&p.state)...)
		resp.Diagnostics.Append(owned.PlanDestroy(ctx, r.data, req.Private, "kt_secret", p.state.ID)...)
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &p.plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &p.config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	known, diags := recall(ctx, req.Private, r.sealer())
	p.diags.Append(diags...)
	if p.creating { // what is remembered is of the Secret that this one replaces, if any
		p.replaced, known = known.memory, remembered{ledger: spec.NewLedger(r.sealer())}
	}
	p.known = known

	p.place()
	if p.creating {
		p.diags.Append(owned.PlanCreate(r.data, p.creation(), p.replaced.Remembers(secretKey(p.plan.ref())))...)
	} else {
		p.diags.Append(owned.PlanKeep(ctx, r.data, req.Private, "kt_secret", p.state.ID)...)
	}
	p.gather()
	if p.kept {
		p.plan.Keys, p.plan.Ref, p.plan.Manifests = p.state.Keys, p.state.Ref, p.state.Manifests
	} else {
		p.describe()
	}
	p.plan.UID = p.uid()
	if !p.diags.HasError() && !p.moves() && p.asks() {
		if p.creating {
			r.data.Cluster.PreviewCreation(ctx, func() { p.ask(ctx) })
		} else {
			p.ask(ctx)
		}
	}
	for _, reason := range p.replaceFor {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root(reason))
	}
	if len(p.replaceFor) > 0 {
		p.plan.UID = types.StringUnknown()
	}
	if p.moves() || len(p.replaceFor) > 0 {
		p.diags.Append(refuseIfProtected(&p.state)...)
	}
	resp.Diagnostics.Append(p.diags...)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &p.plan)...)
}

func refuseIfProtected(state *model) diag.Diagnostics {
	return owned.RefuseIfProtected(state.DeletionProtection.ValueBool(), "secret", state.ID.ValueString())
}

// planner works out one plan. Its methods fill in plan, in the order in which
// ModifyPlan calls them.
type planner struct {
	r                   *secretResource
	plan, state, config model // state is empty when creating
	known               remembered
	replaced            owned.Memory // of the Secret that is deleted before this one is created
	creating            bool
	diags               diag.Diagnostics

	content    content
	object     *unstructured.Unstructured // without values; nil while something is unknown
	replaceFor []string                   // attributes
	kept       bool                       // the Secret stays as it is, since its source cannot be read
}

// place finds the namespace, which is found once and then kept, and the id.
func (p *planner) place() {
	var diags diag.Diagnostics
	p.plan.Namespace, diags = owned.Namespace(p.r.data, p.config.Namespace, p.state.Namespace, "secret")
	p.diags.Append(diags...)
	if !p.creating && !p.plan.Namespace.Equal(p.state.Namespace) {
		p.replaceFor = append(p.replaceFor, "namespace")
	}
	if p.known.notes.Ending {
		p.replaceFor = append(p.replaceFor, "uid")
	}
	p.plan.ID = owned.Identity{Namespace: p.plan.Namespace, Name: p.plan.Name}.ID()
}

// moves says whether another name or namespace makes it another Secret.
func (p *planner) moves() bool {
	return !p.creating && (!p.plan.Name.Equal(p.state.Name) || !p.plan.Namespace.Equal(p.state.Namespace))
}

// gather reads the source and fills in keys. Where the source cannot be read
// and nothing else changes, the Secret stays as it is: a machine without the
// files must be able to plan other things, and to destroy.
func (p *planner) gather() {
	source, diags := gather(&p.config, p.r.machine())
	if diags.HasError() && p.rests() {
		for _, d := range diags {
			warning := diag.NewWarningDiagnostic(d.Summary(), d.Detail()+"\n\nThe Secret in the cluster stays as it is: whether its values are still those of the source is not known, and nothing is put back. Any other change of it needs the source.")
			if at, ok := d.(diag.DiagnosticWithPath); ok {
				p.diags.Append(diag.WithPath(at.Path(), warning))
			} else {
				p.diags.Append(warning)
			}
		}
		p.kept = true
		return
	}
	p.diags.Append(diags...)
	p.content = source
	p.plan.Keys = p.revisions().planned(source)
}

// same says whether nothing of the Secret changes.
func (p *planner) same() bool {
	return p.plan.Keys.Equal(p.state.Keys) && p.plan.Manifests.Equal(p.state.Manifests)
}

// uid is that of the Secret in state. Where state has none, since the answer to
// the creation was lost, the next apply tells it.
func (p *planner) uid() types.String {
	if p.creating || p.state.UID.IsNull() && !p.same() {
		return types.StringUnknown()
	}
	return p.state.UID
}

func (p *planner) revisions() revisions {
	return revisionsOf(&p.plan, &p.state, p.known.ledger, &p.config, p.creating)
}

// rests says whether the configuration asks for nothing else than what is there.
func (p *planner) rests() bool {
	plan, state := p.plan, p.state
	return !p.creating && !p.moves() && len(p.replaceFor) == 0 && !state.Ref.IsNull() &&
		plan.ProviderName.Equal(state.ProviderName) && plan.Path.Equal(state.Path) && plan.Filenames.Equal(state.Filenames) &&
		plan.EnvVars.Equal(state.EnvVars) && plan.MountPath.Equal(state.MountPath) &&
		plan.DefaultMode.Equal(state.DefaultMode) && plan.Labels.Equal(state.Labels) &&
		plan.Annotations.Equal(state.Annotations) && plan.AdoptExisting.Equal(state.AdoptExisting)
}

// machine is nil while the provider's configuration is not known.
func (r *secretResource) machine() *machine {
	if !r.configured() {
		return nil
	}
	env := r.data.Cluster.Env()
	return &machine{home: env.Home, getenv: env.Get}
}

// describe fills in ref and manifests.
func (p *planner) describe() {
	p.plan.Ref = types.ObjectUnknown(refTypes())
	p.plan.Manifests = types.MapUnknown(types.StringType)
	if p.diags.HasError() || p.content.open || anyUnknown(p.plan.Name, p.plan.MountPath, p.plan.DefaultMode) {
		return
	}
	mount := mountPath(&p.plan, p.content)
	mode := defaultMode(&p.plan, &p.state, mount)
	p.diags.Append(refuseUnusedMode(&p.plan, mount)...)
	p.plan.Ref = reference(p.plan.Name, mount, mode, p.content.keys())
	if !p.r.configured() || anyUnknown(p.plan.Namespace, p.plan.Labels, p.plan.Annotations, p.plan.ProviderName, p.plan.AdoptExisting) {
		return
	}
	object, text, diags := render(&p.plan, p.content, mode, owned.PreserveCreator(p.r.data.Defaults, owned.Manifests(p.state.Manifests)))
	p.diags.Append(diags...)
	p.object, p.plan.Manifests = object, text
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
		"name": name, "env_vars": types.ListNull(types.StringType), "mount_path": types.StringNull(), "default_mode": types.StringNull(),
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
func render(m *model, c content, mode string, defaults tf.Defaults) (*unstructured.Unstructured, types.Map, diag.Diagnostics) {
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
	return nil, types.MapUnknown(types.StringType), diag.Diagnostics{diag.NewErrorDiagnostic("The secret cannot be rendered", err.Error())}
}

// asks says whether there is something to ask the server.
func (p *planner) asks() bool {
	known := p.object != nil && p.content.known()
	return !p.same() && (known || p.creating) && len(p.replaceFor) == 0 && !p.plan.ID.IsUnknown() && p.r.configured()
}

// ask has the server run the apply dry, and looks at the Secret that is there.
func (p *planner) ask(ctx context.Context) {
	known := p.object != nil && p.content.known()
	cluster, ref := p.r.data.Cluster, p.plan.ref()
	if p.creating && known && p.replaced[secretKey(ref)].UID == "" {
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
		p.diags.Append(owned.PlanRefusal(err, p.creating))
		return
	case p.creating && p.replaced[secretKey(ref)].UID == live.GetUID():
		return // it goes first
	case p.creating:
		p.takeOver(ref, live)
	case rigid(live) != "" && p.changesWhatIsRigid(live):
		p.diags.AddWarning(ref.String()+" has to be replaced", rigid(live)+" The plan deletes it and makes it again; pods that run keep what they have.")
		p.replaceFor = append(p.replaceFor, "keys")
		return
	}
	if p.diags.HasError() || !known {
		return
	}
	answer, err := cluster.ApplySecret(ctx, spec.WithData(p.object, p.revisions().toSend(p.content, live)), true)
	if err != nil {
		p.diags.Append(owned.PlanRefusal(err, p.creating))
		return
	}
	if !p.creating {
		p.diags.Append(p.known.memory.Staying(ref, manifest.Key(p.object), answer)...)
	}
}

// admitUnread is admit of a Secret that may not be read, and says whether the
// server can be asked about the apply. Only a Secret that is known not to exist
// counts as none.
func (p *planner) admitUnread(ctx context.Context, ref kube.Ref) bool {
	if !p.creating {
		return true
	}
	there, err := p.r.data.Cluster.SecretMetadata(ctx, ref)
	switch {
	case err == nil:
		p.admit(ref, there)
	case !kube.IsNotFound(err):
		p.diags.Append(owned.PlanRefusal(err, p.creating))
		return false
	}
	return true
}

// admit refuses a Secret that cannot become this resource's.
func (p *planner) admit(ref kube.Ref, live *unstructured.Unstructured) {
	if err := p.creation().Admit(ref, live); err != nil {
		p.diags.Append(owned.Failure(err))
	}
}

func (p *planner) creation() *owned.Creation {
	creation := p.plan.creation()
	creation.Replaced = p.replaced
	if p.r.configured() {
		creation.HeldBy = p.r.data.Cluster.HeldBy
	}
	return creation
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
	if !p.plan.AdoptExisting.ValueBool() {
		p.admit(ref, live)
		return
	}
	if p.object == nil || !p.content.known() {
		return
	}
	if rigid(live) != "" && p.changesWhatIsRigid(live) {
		p.diags.AddError(ref.String()+" cannot be taken over",
			fmt.Sprintf("%s Choose another name, or delete it and apply again:\n  kubectl delete secret %s -n %s", rigid(live), ref.Name, ref.Namespace))
		return
	}
	if extra := beyond(live, p.content.keys()); len(extra) > 0 {
		p.diags.AddWarning(ref.String()+" loses keys",
			fmt.Sprintf("It exists, and adopt_existing takes it over. Its keys %s are not among those of the source: the apply removes them.", strings.Join(extra, ", ")))
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
