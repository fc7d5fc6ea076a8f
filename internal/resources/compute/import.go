package compute

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// imported fills in a state of which only the name is known, from the live
// objects. Of objects that are ours it knows everything; of others the fields
// become ours with the next apply, which the plan shows.
func (l *reader) imported(ctx context.Context) error {
	running, err := l.locate(ctx)
	if err != nil {
		return err
	}
	found := objects{}
	if running != nil {
		if err := l.importWorkload(ctx, running, found); err != nil {
			return err
		}
	}
	for _, beside := range l.beside() {
		if err := l.importBeside(ctx, beside.Kind, beside.Name, found); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		l.Diags.AddError("Nothing to import", fmt.Sprintf(
			"No workload %s of a supported kind exists, and no Service of this provider.\n\n"+
				"Investigate with:\n  kubectl get deployments,services -n %s",
			l.State.ID.ValueString(), l.State.Namespace.ValueString()))
		return owned.ErrGone
	}
	l.MemoryChanged, l.PrivateState.Imported = true, slices.Sorted(maps.Keys(found))
	l.State.Manifests = found.value()
	l.State.observeRendering(found)
	l.PrivateState.Origin = observedOrigin(l.State, found)
	l.State.ServiceName = l.State.Name
	l.State.URL, l.State.GRPCTarget = address(ctx, l.State), grpcTarget(l.State)
	return nil
}

// beside is what may stand beside the workload. The Service of a tensor server
// is its operator's.
func (l *reader) beside() []kube.Ref {
	if l.State.Mode.ValueString() == kind.ModeCompute {
		return nil
	}
	name := l.State.Name.ValueString()
	return []kube.Ref{
		{Kind: kind.Service(), Name: name},
		{Kind: kind.KubetorchWorkload(), Name: name},
		{Kind: kind.Service(), Name: kind.HeadlessName(name)},
	}
}

// locate finds the workload, whatever its kind. One that is ours stands above
// others of the same name.
func (l *reader) locate(ctx context.Context) (*unstructured.Unstructured, error) {
	var other *unstructured.Unstructured
	var denied error
	for _, gvk := range manifest.Workloads() {
		named := &unstructured.Unstructured{}
		named.SetGroupVersionKind(gvk)
		named.SetNamespace(l.State.Namespace.ValueString())
		named.SetName(l.State.Name.ValueString())
		live, err := l.get(ctx, named)
		switch class := kube.ClassOf(err); {
		case class == kube.NotFound, class == kube.KindMissing:
			continue
		case class == kube.Denied:
			denied = err
			continue
		case err != nil:
			return nil, err
		}
		if _, ours, err := kube.OwnedFields(live); ours || err != nil {
			return live, err
		}
		if other == nil {
			other = live
		}
	}
	if other != nil {
		return other, nil
	}
	custom, err := l.locateCustom(ctx)
	if custom != nil || err != nil {
		return custom, err
	}
	return nil, denied
}

// get fetches singly: one import is no reason to watch every kind there is.
func (l *reader) get(ctx context.Context, named *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref, err := l.Data.Cluster.RefOf(ctx, named)
	if err != nil {
		return nil, err
	}
	return l.Data.Cluster.Get(ctx, ref)
}

func (l *reader) importWorkload(ctx context.Context, live *unstructured.Unstructured, found objects) error {
	doc, ours, err := l.take(live, found)
	if err != nil {
		return err
	}
	seen := manifest.Observe(doc, fieldPath(l.State.PodTemplatePath)...)
	if !ours {
		seen = common(manifest.Observe(live))
	}
	l.State.Mode = types.StringValue(manifest.Compute{Manifest: live.Object}.Mode())
	l.Diags.Append(l.State.adopt(ctx, seen, l.Data.Defaults)...)
	if manifest.NeedsManifest(l.State.Mode.ValueString()) {
		l.State.Manifest = tf.DocumentOf(found[manifest.Key(doc)].text)
	}
	l.State.UID = types.StringValue(string(live.GetUID()))
	ref, err := l.Data.Cluster.RefOf(ctx, live)
	l.State.Ready = types.BoolValue(err == nil && l.judge(ctx, ref, live) && !l.State.Suspend.ValueBool())
	return nil
}

// importBeside takes over a Service or registration. Without a workload, only
// one that is ours makes a compute: one for pods that exist already.
func (l *reader) importBeside(ctx context.Context, of kube.Kind, name string, found objects) error {
	live, err := l.Data.Cluster.Get(ctx, kube.Ref{Kind: of, Namespace: l.State.Namespace.ValueString(), Name: name})
	switch class := kube.ClassOf(err); {
	case class == kube.NotFound, class == kube.KindMissing, class == kube.Denied && of.Group != "":
		return nil
	case err != nil:
		return err
	}
	_, ours, err := kube.OwnedFields(live)
	podless := len(found) == 0
	if err != nil || !ours && (podless || name != l.State.Name.ValueString()) {
		return err
	}
	doc, _, err := l.take(live, found)
	if err == nil && roleOf(doc) == manifest.RoleRegistration {
		return l.importRegistration(ctx, doc, found)
	}
	if err != nil || name != l.State.Name.ValueString() {
		return err
	}
	if podless && l.missesWorkload(doc) {
		return owned.ErrGone
	}
	if podless {
		l.State.Mode, l.State.UID = types.StringValue(kind.ModeSelector), types.StringNull()
		l.Diags.Append(l.State.adopt(ctx, manifest.Compute{Labels: manifest.Observe(doc).Labels}, l.Data.Defaults)...)
	}
	l.Diags.Append(l.State.followService(ctx, nil, doc)...)
	if podless {
		l.State.Ready = types.BoolValue(l.selected(ctx).ready(ctx))
	}
	return nil
}

// importRegistration fills in what only the registration of a compute shows.
func (l *reader) importRegistration(ctx context.Context, doc *unstructured.Unstructured, found objects) error {
	workload, err := found.workload()
	if err != nil {
		return err
	}
	f := &follower{ctx: ctx}
	if l.State.Mode.IsNull() { // pods that exist already, and a Service that does
		l.State.Mode, l.State.UID = types.StringValue(kind.ModeSelector), types.StringNull()
		l.Diags.Append(l.State.adopt(ctx, manifest.Compute{Labels: manifest.Observe(doc).Labels}, l.Data.Defaults)...)
	}
	l.State.adoptRegistration(f, workload, doc)
	if l.State.Mode.ValueString() == kind.ModeSelector {
		l.State.Ready = types.BoolValue(l.selected(ctx).ready(ctx))
	}
	l.Diags.Append(f.diags...)
	return nil
}

// take puts the fields of a live object that are ours among those that were
// found, and remembers them.
func (l *reader) take(
	live *unstructured.Unstructured, found objects,
) (doc *unstructured.Unstructured, ours bool, err error) {
	set, ours, err := kube.OwnedFields(live)
	if err != nil {
		return nil, false, err
	}
	if !ours {
		set = fieldpath.NewSet() // its name is all that we know of it
	}
	doc = &unstructured.Unstructured{Object: fields.Project(live.Object, set)}
	key := manifest.Key(doc)
	if found[key], err = objectOf(doc); err != nil {
		return nil, false, err
	}
	_, err = l.Memory.RememberSet(key, doc, live, set)
	return doc, ours, err
}
