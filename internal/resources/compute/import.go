package compute

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Import sets a state of which only the name is known from the live objects. Objects of this provider are complete. The
// fields of others become owned with the next apply, which the plan shows.
func (hooks) Import(ctx context.Context, reading *reading) error {
	r := &reader{reading: reading}
	workload, err := r.findWorkload(ctx)
	if err != nil {
		return err
	}
	found := owned.Objects{}
	if workload != nil {
		if err := r.importWorkload(ctx, workload, found); err != nil {
			return err
		}
	}
	// The operator owns the Service of a tensor server, and a compute with manifest_only has none.
	if r.State.Mode.ValueString() != kind.ModeCompute && !r.State.ManifestOnly.ValueBool() {
		name := r.State.Name.ValueString()
		if workload == nil || !kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).OwnService {
			if err := r.importRelated(ctx, kind.Service(), name, found); err != nil {
				return err
			}
		}
		for _, related := range []kube.Ref{
			{Kind: kind.PodDisruptionBudget(), Name: name},
			{Kind: kind.HorizontalPodAutoscaler(), Name: name},
			{Kind: kind.ScaledObject(), Name: name},
			{Kind: kind.Ingress(), Name: name},
			{Kind: kind.HTTPRoute(), Name: name},
			{Kind: kind.GRPCRoute(), Name: name},
			{Kind: kind.KubetorchWorkload(), Name: name},
			{Kind: kind.Service(), Name: kind.HeadlessName(name)},
		} {
			if err := r.importRelated(ctx, related.Kind, related.Name, found); err != nil {
				return err
			}
		}
	}
	if len(found) == 0 {
		return r.NothingToImport(fmt.Sprintf("No workload %s of a supported kind exists, and no Service of this "+
			"provider. Kinds that the user of the provider may not get: %s.\n\nNext step: Correct the namespace "+
			"or the name.\nInvestigate with:\n  kubectl get deployments,services -n %s", r.State.ID.ValueString(),
			cmp.Or(strings.Join(r.denied, ", "), "none"), r.State.Namespace.ValueString()))
	}
	r.PrivateState.Imported = slices.Sorted(maps.Keys(found))
	r.State.Manifests = r.State.manifestsOf(found, r.State, nil)
	r.State.observeVersions(found)
	r.PrivateState.Origin = r.PrivateState.origin(r.State, found)
	r.State.ServiceName = r.State.Name
	r.State.URL, r.State.GRPCTarget = address(r.State), grpcTarget(r.State)
	if r.Listing == nil {
		r.PrivateState.rememberCRD(ctx, r.Data.Cluster, r.State)
	}
	return nil
}

// findWorkload returns the workload of any kind, or nil. A workload of this provider has precedence over others of the
// same name, and one without a controller over what a controller has created, such as the StatefulSet of a
// LeaderWorkerSet. It skips the kinds that the user may not get.
func (r *reader) findWorkload(ctx context.Context) (*unstructured.Unstructured, error) {
	if r.Listing != nil {
		if kind.WorkloadOf(r.Live.GroupVersionKind().GroupKind()).Mode == "" { // the Service of existing pods
			return nil, nil
		}
		return r.Live, nil
	}
	var unmanaged, another *unstructured.Unstructured // without a controller, if there is one
	for _, k := range kind.Workloads() {
		if r.Moved != nil && r.Moved.GroupKind() != k.GroupKind() {
			continue // another object with the same name
		}
		live, err := r.Data.Cluster.Find(ctx, kube.Ref{Kind: k, Namespace: r.State.Namespace.ValueString(),
			Name: r.State.Name.ValueString()})
		switch {
		case kube.ClassOf(err) == kube.Denied && r.Moved == nil:
			r.denied = append(r.denied, k.Argument())
			continue
		case err != nil:
			return nil, err
		case live == nil:
			continue
		}
		if _, managed, err := kube.OwnedFields(live); managed || err != nil {
			return live, err
		}
		switch made := metav1.GetControllerOf(live) != nil; {
		case unmanaged == nil || metav1.GetControllerOf(unmanaged) != nil && !made:
			unmanaged = live
		case !made:
			another = live
		}
	}
	if another != nil {
		r.Diags.AddError("Two workloads have the name "+r.State.ID.ValueString(),
			fmt.Sprintf("A %s and a %s exist, and the ID of an import does not contain the kind.\n\nNext step: "+
				"Declare the one to manage in `manifest`, with `manifest_only = true` and `adopt_existing = "+
				"true`, and without an import block.",
				unmanaged.GetKind(), another.GetKind()))
		return nil, owned.ErrGone
	}
	if unmanaged == nil && r.Moved == nil {
		return r.findCustomWorkload(ctx)
	}
	return unmanaged, nil
}

func (r *reader) importWorkload(ctx context.Context, live *unstructured.Unstructured, found owned.Objects) error {
	doc, managed, err := found.Import(r.Memory, live)
	if err != nil {
		return err
	}
	r.State.Mode = types.StringValue(manifest.Compute{Manifest: live.Object}.Mode())
	switch {
	case managed && manifest.OfKubetorch(live):
		r.adoptSeen(ctx, r.State.observe(doc), found[manifest.Key(doc)])
	case managed: // with manifest_only, without fields of other clients, such as the time of a restart
		err = r.importAsManifest(ctx, &unstructured.Unstructured{Object: manifest.Adoptable(doc)}, false)
	default:
		err = r.importForeign(ctx, live, found)
	}
	if err != nil {
		return err
	}
	r.PrivateState.Selector = manifest.ForeignSelector(live)
	ref, err := r.Data.Cluster.Discovery.RefOf(ctx, live)
	r.SetLive(ref, live)
	r.State.Ready = types.BoolValue(err == nil && r.isReady(ctx, ref, live) && !r.State.Suspend.ValueBool())
	return nil
}

// adoptSeen sets the attributes from an observation of a workload, and manifest to its text if only a manifest selects
// its kind. A Job, and a command, can come from attributes or from a manifest: what renders the workload again is
// imported, because a difference may replace it.
func (r *reader) adoptSeen(ctx context.Context, seen manifest.Compute, workload *owned.Object) {
	type form struct {
		seen manifest.Compute
		text string
	}
	bare, of := withoutPodDetails(seen), kind.OfMode(r.State.Mode.ValueString())
	forms := []form{{bare, workload.Text}}
	switch {
	case of.Picks != nil && !of.ReadAsManifest:
		forms = []form{{seen: seen}}
	case len(seen.Command)+len(seen.Args) > 0:
		if seen.Job != nil {
			forms = append(forms, form{seen: seen})
		}
		bare.Command, bare.Args = seen.Command, seen.Args
		text, _ := manifest.JSON(manifest.WithoutCommand(workload.Content)) // the content was decoded from JSON
		forms = append(forms, form{bare, text}, forms[0])
	}
	before := *r.State
	for i, f := range forms {
		*r.State = before
		if f.text != "" {
			r.State.Manifest = tf.DocumentOf(f.text)
		}
		diags := r.State.adopt(ctx, f.seen, r.Data.Defaults)
		if i == len(forms)-1 || r.rendersAgain(ctx, workload) {
			r.Diags.Append(diags...)
			return
		}
	}
}

// rendersAgain reports whether a configuration for the imported attributes changes nothing in a workload.
func (r *reader) rendersAgain(ctx context.Context, of *owned.Object) bool {
	rendered := r.renderedWorkload(ctx, of.Content)
	return rendered != nil && r.Memory.Compare(of.Key, rendered, of.Content) != fields.Different
}

// importRelated imports an object beside the workload. Without a workload, only a Service or the registration of this
// provider is imported, and the result is a compute for existing pods.
func (r *reader) importRelated(ctx context.Context, of kube.Kind, name string, found owned.Objects) error {
	live, err := r.Get(ctx, kube.Ref{Kind: of, Namespace: r.State.Namespace.ValueString(), Name: name})
	switch class := kube.ClassOf(err); {
	case class == kube.NotFound, class == kube.KindMissing, class == kube.Denied && of.Group != "":
		return nil
	case err != nil:
		return err
	}
	_, managed, err := kube.OwnedFields(live)
	isFirst := len(found) == 0
	isHeadless := name != r.State.Name.ValueString()
	role := manifest.RoleOf(of.GroupVersionKind)
	isAddition := slices.Contains([]manifest.Role{manifest.RoleDisruptionBudget, manifest.RoleAutoscaler,
		manifest.RoleExpose}, role)
	made := metav1.GetControllerOf(live) != nil // by the controller of the workload
	isRegistration := role == manifest.RoleRegistration
	if err != nil || !managed && (isFirst || isHeadless || isAddition || made) ||
		isFirst && (isAddition || isRegistration && len(r.denied) > 0) {
		return err
	}
	doc, _, err := found.Import(r.Memory, live)
	if err != nil || isHeadless {
		return err
	}
	if isAddition {
		r.Diags.Append(r.State.follow(ctx, manifest.Compute{}, r.State.observe(doc))...)
		if r.State.scalesWorkload() {
			r.State.Replicas = types.Int64Null()
		}
		return nil
	}
	if isFirst && !isRegistration && r.refuseWithoutWorkload(doc) {
		return owned.ErrGone
	}
	if r.State.Mode.IsNull() {
		r.State.Mode, r.State.UID = types.StringValue(kind.ModeSelector), types.StringNull()
		r.Diags.Append(r.State.adopt(ctx, manifest.Compute{Labels: manifest.Observe(doc).Labels}, r.Data.Defaults)...)
	}
	if isRegistration {
		r.Diags.Append(r.State.adoptRegistration(ctx, workloadIn(found), doc)...)
	} else {
		r.Diags.Append(r.State.follow(ctx, manifest.Compute{}, r.State.observe(doc))...)
	}
	if r.State.Mode.ValueString() == kind.ModeSelector && r.Listing == nil {
		r.State.Ready = types.BoolValue(r.State.areReady(ctx, r.Data.Cluster, nil))
	}
	return nil
}

var _ lifecycle.ConfigGenerator[model] = hooks{}

// Generate removes the versions, which are those of the objects without an attribute, one of image and image_ref, which
// exclude each other, and what [planner.defaults] sets.
func (hooks) Generate(_ context.Context, m *model) {
	m.KubetorchVersion, m.RendererRevision = types.StringNull(), types.Int64Null()
	if !m.ImageRef.IsNull() {
		m.Image = types.StringNull()
	}
	mode := m.Mode.ValueString()
	if !m.Manifest.IsNull() {
		m.Replicas, m.Image, m.ServiceAccountName = types.Int64Null(), types.StringNull(), types.StringNull()
		return
	}
	if mode != kind.ModeSelector && mode != kind.ModeCompute {
		lifecycle.Omit(&m.Image, manifest.DefaultImage)
		lifecycle.Omit(&m.ServiceAccountName, manifest.DefaultServiceAccount)
	}
	if m.Replicas.Equal(m.defaultReplicas(mode)) {
		m.Replicas = types.Int64Null()
	}
}
