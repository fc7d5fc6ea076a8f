package secret

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// Plan reads the source, shows the keys that change, and runs a server-side dry run.
func (hooks) Plan(ctx context.Context, planned *planning) {
	p := planner{planning: planned}
	p.openPrivateState()
	p.ReplaceIfMoved()
	p.gather(ctx)
	if p.setContinued() {
		p.SavePrivateState(ctx)
	}
	if p.unread {
		p.Plan.Keys, p.Plan.Ref, p.Plan.Manifests = p.State.Keys, p.State.Ref, p.State.Manifests
	} else {
		p.setRefAndManifests(ctx)
	}
	if !p.Diags.HasError() && p.needsDryRun() {
		p.Data.Run.Preview(func() { p.dryRun(ctx) })
	}
	p.Plan.UID = p.UID(p.State.UID, !p.isSecretUnchanged())
}

// planner computes one plan. [hooks.Plan] calls its methods in order, and each completes Plan.
type planner struct {
	*planning

	content content
	object  *unstructured.Unstructured // without values; nil while something is unknown
	unread  bool                       // the source cannot be read, so the Secret is kept unchanged
}

// gather reads the source and sets keys. If the source cannot be read and nothing else changes, it keeps the Secret
// unchanged. A machine without the files must be able to plan other resources, and to destroy this one.
func (p *planner) gather(ctx context.Context) {
	source, diags := gather(ctx, p.Config, localSourceOf(p.Data))
	if diags.HasError() && p.isConfigUnchanged() {
		for _, d := range diags {
			var warning diag.Diagnostic = diag.NewWarningDiagnostic(d.Summary(), d.Detail()+"\n\n"+
				"The Secret in the cluster is kept unchanged. The provider cannot compare its values with the "+
				"source, and restores nothing. Any other change of the Secret requires the source.")
			if at, ok := d.(diag.DiagnosticWithPath); ok {
				warning = diag.WithPath(at.Path(), warning)
			}
			p.Diags.Append(warning)
		}
		p.unread = true
		return
	}
	p.Diags.Append(diags...)
	if source.kept && !p.Creating {
		p.content, p.Plan.Keys = keptContent(p.PrivateState.Digests, nil), p.State.Keys
		return
	}
	p.content = source
	p.Plan.Keys = p.revisions().planned(source)
}

// openPrivateState prepares the digests: in a creation, of the Secret that it replaces.
func (p *planner) openPrivateState() {
	if p.Creating {
		p.PrivateState = p.ReplacedPrivateState
	}
	p.PrivateState.open(p.Data)
	if p.Creating && p.Data.Configured() {
		p.PrivateState.continueWith(continued(p.Data.Run, p.Plan.ID, nil))
	}
}

// setContinued sets [privateState.Continued], and reports whether the plan must save it. The rest of the private state
// is that of the replaced Secret, because it is in state again if the deletion fails.
func (p *planner) setContinued() (changed bool) {
	p.PrivateState.Continued = nil
	for key, text := range p.Plan.Keys.Elements() {
		if p.Creating && text.IsUnknown() {
			p.PrivateState.Continued = append(p.PrivateState.Continued, key)
		}
	}
	return len(p.PrivateState.Continued)+len(p.ReplacedPrivateState.Continued) > 0
}

// keptContent returns the live values of the keys that were applied. Those of missing keys are unknown.
func keptContent(applied spec.Digests, live map[string][]byte) content {
	out := content{data: map[string][]byte{}, kept: true}
	for key := range applied.Values {
		if value, exists := live[key]; exists {
			out.data[key] = value
		} else {
			out.unknownKeys = append(out.unknownKeys, key)
		}
	}
	return out
}

// isSecretUnchanged reports whether the plan does not change the Secret.
func (p *planner) isSecretUnchanged() bool {
	return p.Plan.Keys.Equal(p.State.Keys) && p.Plan.Manifests.Equal(p.State.Manifests)
}

func (p *planner) revisions() revisions {
	return revisionsOf(p.Plan, p.State, p.PrivateState.Digests, p.Config, p.Creating)
}

// isConfigUnchanged reports whether all attributes that determine the Secret are unchanged, except for its values.
func (p *planner) isConfigUnchanged() bool {
	plan, state := p.Plan, p.State
	return !p.Creating && len(p.Replace) == 0 && !state.Ref.IsNull() &&
		plan.ProviderName.Equal(state.ProviderName) && plan.Path.Equal(state.Path) &&
		plan.Filenames.Equal(state.Filenames) &&
		plan.FromEnv.Equal(state.FromEnv) && plan.MountPath.Equal(state.MountPath) &&
		plan.DefaultMode.Equal(state.DefaultMode) && plan.Labels.Equal(state.Labels) &&
		plan.Annotations.Equal(state.Annotations) && plan.AdoptExisting.Equal(state.AdoptExisting)
}

// localSourceOf returns nil while the provider's configuration is unknown.
func localSourceOf(data *tf.ProviderData) *localSource {
	if !data.Configured() {
		return nil
	}
	env := data.Cluster.Env()
	return &localSource{home: env.Home, getenv: env.Get}
}

// setRefAndManifests sets the attributes ref and manifests, as far as they are known.
func (p *planner) setRefAndManifests(ctx context.Context) {
	plan := p.Plan
	plan.Ref, plan.Manifests = types.ObjectUnknown(refTypes()), types.MapUnknown(types.StringType)
	if p.Diags.HasError() || p.content.unknown || !tf.FullyKnown(ctx, plan.Name, plan.MountPath, plan.DefaultMode) {
		return
	}
	mode, diags := plan.setRef(ctx, p.State, p.content)
	p.Diags.Append(diags...)
	if p.Data.Configured() && tf.FullyKnown(ctx, plan.Namespace, plan.Labels, plan.Annotations, plan.ProviderName,
		plan.AdoptExisting) {
		p.object, diags = plan.render(p.content, mode, p.Data.Defaults, p.State.Manifests)
		p.Diags.Append(diags...)
	}
}

// mountPath returns the directory in the container where the keys are mounted, or "" for environment variables.
func mountPath(m *model, c content) string {
	if !m.MountPath.IsNull() {
		return m.MountPath.ValueString()
	}
	return spec.MountPath(c.sourceDir)
}

// setRef sets the attribute ref, and returns the mode of the mounted files. state is empty for a new Secret.
func (m *model) setRef(ctx context.Context, state *model, c content) (mode string, diags diag.Diagnostics) {
	mount := mountPath(m, c)
	mode = defaultMode(m, state, mount)
	m.Ref = reference(ctx, m.Name.ValueString(), mount, mode, c.keys())
	return mode, refuseUnusedMode(m, mount)
}

// reference returns the attribute ref.
func reference(ctx context.Context, name, mount, mode string, keys []string) types.Object {
	ref := struct {
		Name, MountPath, DefaultMode string
		EnvVars                      *[]string // nil if the keys are mounted
	}{Name: name, MountPath: mount, DefaultMode: mode}
	if mount == "" {
		ref.EnvVars, ref.DefaultMode = &keys, ""
	}
	return tf.Encode(tf.NewConverter(ctx), types.ObjectNull(refTypes()), ref)
}

// render sets the attribute manifests, and returns the object without its values. prior is that attribute in state.
func (m *model) render(
	c content, mode string, defaults tf.Defaults, prior types.Map,
) (*unstructured.Unstructured, diag.Diagnostics) {
	defaults = owned.PreserveCreator(defaults, owned.Manifests(prior))
	s := spec.Secret{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Username: defaults.Username,
		Provider: m.ProviderName.ValueString(), Adopt: m.AdoptExisting.ValueBool(),
		SourceDir: c.sourceDir, Filenames: c.keys(), DefaultMode: mode,
		DefaultLabels: defaults.Labels, DefaultAnnotations: defaults.Annotations,
		Labels: tf.Texts(m.Labels), Annotations: tf.Texts(m.Annotations),
	}
	if !m.MountPath.IsNull() {
		s.SourceDir = m.MountPath.ValueString()
	}
	object := s.Object()
	var err error
	if m.Manifests, err = owned.ManifestsOf(object); err != nil {
		m.Manifests = types.MapUnknown(types.StringType)
		return nil, diag.Diagnostics{diag.NewErrorDiagnostic("Cannot render the secret", err.Error())}
	}
	return object, nil
}

// needsDryRun reports whether a server-side dry run is required.
func (p *planner) needsDryRun() bool {
	return !p.Short() && !p.isSecretUnchanged() && (p.known() || p.Creating) && len(p.Replace) == 0 &&
		!p.Plan.ID.IsUnknown() && p.Data.Configured()
}

// known reports whether the Secret and its values are known.
func (p *planner) known() bool { return p.object != nil && p.content.known() }

// dryRun runs a server-side dry run, and checks an existing Secret.
func (p *planner) dryRun(ctx context.Context) {
	cluster, ref := p.Data.Cluster, p.Plan.ref()
	if p.Creating && p.known() && p.Replaced[secretKey(ref)].UID == "" {
		_, created, err := cluster.DryRunNew(ctx, spec.WithData(p.object,
			p.revisions().valuesToSend(p.content, nil)))
		if created && err == nil {
			return
		}
	}
	live, err := cluster.API.Get(ctx, ref)
	switch {
	case kube.IsNotFound(err):
	case kube.ClassOf(err) == kube.Denied:
		if !p.admitUnreadable(ctx, ref) {
			return
		}
	case err != nil:
		p.Diags.Append(owned.PlanRejection(err, p.Creating))
		return
	case p.Creating && p.Replaced[secretKey(ref)].UID == live.GetUID():
		return // it is deleted first
	case p.Creating:
		p.checkAdoption(ref, live)
	case immutableReason(live) != "" && p.changesImmutableField(live):
		p.Diags.AddWarning(ref.String()+" must be replaced", immutableReason(live)+" The plan deletes and creates it "+
			"again. Running pods keep their values."+leaveToClient(live))
		p.Replace.Append(path.Root("keys"))
		return
	}
	if p.Diags.HasError() || !p.known() {
		return
	}
	sent := spec.WithData(p.object, p.revisions().valuesToSend(p.content, live))
	response, err := cluster.DryRun(ctx, p.Memory().Marked(secretKey(ref), sent)) // as [owned.Memory.Preview]
	if err != nil {
		p.Diags.Append(owned.PlanRejection(err, p.Creating))
		return
	}
	if !p.Creating {
		p.Diags.Append(p.Memory().RetainedWarning(ref, manifest.Key(p.object), response)...)
	}
}

// admitUnreadable is like admit, without permission to read the Secret. It reports whether a server-side dry run is
// possible: not if it is unknown whether the Secret exists.
func (p *planner) admitUnreadable(ctx context.Context, ref kube.Ref) bool {
	if !p.Creating {
		return true
	}
	metadata, err := p.Data.Cluster.API.SecretMetadata(ctx, ref)
	switch {
	case err == nil:
		p.admit(ref, metadata)
	case !kube.IsNotFound(err):
		p.Diags.Append(owned.PlanRejection(err, p.Creating))
		return false
	}
	return true
}

// admit reports an error for a Secret that cannot become the object of this resource.
func (p *planner) admit(ref kube.Ref, live *unstructured.Unstructured) {
	if err := p.Creation().Admit(ref, live); err != nil {
		p.Diags.Append(owned.Failure(err))
	}
}

// changesImmutableField reports whether the values or the type differ from those in the cluster.
func (p *planner) changesImmutableField(live *unstructured.Unstructured) bool {
	current, wanted := kube.SecretData(live), p.revisions().valuesToSend(p.content, live)
	return secretType(live) != opaque || !maps.EqualFunc(current, wanted, bytes.Equal)
}

// checkAdoption checks whether an existing Secret can be adopted, and reports the keys that will be removed.
func (p *planner) checkAdoption(ref kube.Ref, live *unstructured.Unstructured) {
	if !p.Plan.AdoptExisting.ValueBool() {
		p.admit(ref, live)
		return
	}
	if !p.known() {
		return
	}
	if immutableReason(live) != "" && p.changesImmutableField(live) {
		p.Diags.AddError(ref.String()+" cannot be taken over", immutableReason(live)+cmp.Or(leaveToClient(live),
			fmt.Sprintf("\n\nNext step: Choose another name, or delete it and apply again:\n  kubectl delete secret "+
				"%s -n %s", ref.Name, ref.Namespace)))
		return
	}
	if extra := extraKeys(live, p.content.keys()); len(extra) > 0 {
		p.Diags.AddWarning(ref.String()+" loses keys",
			fmt.Sprintf("It exists, and adopt_existing takes it over. The apply removes its keys that are not in the "+
				"source: %s.", strings.Join(extra, ", ")))
	}
}

// extraKeys returns the keys of a Secret that are not in keys.
func extraKeys(live *unstructured.Unstructured, keys []string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kube.SecretData(live))),
		func(key string) bool { return slices.Contains(keys, key) })
}
