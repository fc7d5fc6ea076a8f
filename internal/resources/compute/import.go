package compute

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// ImportState takes `namespace/name`, or the identity. What kind of workload
// the compute is, Read finds out.
func (r *computeResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var identity identityModel
	if req.ID != "" {
		namespace, name, ok := strings.Cut(req.ID, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			resp.Diagnostics.AddError("Invalid import ID", fmt.Sprintf("%q is not of the form namespace/name, such as ml/trainer.", req.ID))
			return
		}
		identity = identityModel{Namespace: types.StringValue(namespace), Name: types.StringValue(name)}
	} else {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
	}
	if identity.Namespace.IsNull() && r.configured() {
		namespace, err := r.data.Cluster.Namespace()
		if err != nil {
			resp.Diagnostics.AddError("The namespace is not known", err.Error())
			return
		}
		identity.Namespace = types.StringValue(namespace)
	}
	for name, value := range map[string]types.String{
		"name": identity.Name, "namespace": identity.Namespace,
		"id": types.StringValue(identity.Namespace.ValueString() + "/" + identity.Name.ValueString()),
	} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identity)...)
}

// imported fills in a state of which only the name is known, from the live
// objects. Of objects that are ours it knows everything; of others the fields
// become ours with the next apply, which the plan shows.
func (l *reader) imported(ctx context.Context) error {
	namespace, name := l.state.Namespace.ValueString(), l.state.Name.ValueString()
	found := objects{}
	for _, kind := range []kube.Kind{kube.Deployment(), kube.Service()} {
		ref := kube.Ref{Kind: kind, Namespace: namespace, Name: name}
		live, err := l.r.data.Cluster.Read(ctx, ref)
		switch {
		case kube.IsNotFound(err) && kind.Kind == kube.Service().Kind:
			continue // an endpoint.url needs none
		case kube.IsNotFound(err):
			l.diags.AddError("Nothing to import", fmt.Sprintf("There is no %s. Look with:\n  kubectl get deployments -n %s", ref, namespace))
			return owned.ErrGone
		case err != nil:
			return err
		}
		set, ours, err := fields.Owned(live, kube.Manager)
		if err != nil {
			return err
		}
		if !ours {
			set = fieldpath.NewSet() // its name is all that we know of it
		}
		doc := &unstructured.Unstructured{Object: fields.Project(live.Object, set)}
		key := manifest.Key(doc)
		if found[key], err = manifest.JSON(doc); err != nil {
			return err
		}
		if _, err := l.memory.Note(key, doc, live, set); err != nil {
			return err
		}
		switch {
		case isService(key):
			l.diags.Append(l.state.followEndpoint(ctx, nil, manifest.ObserveEndpoint(doc))...)
		case ours:
			l.diags.Append(l.state.adopt(ctx, manifest.Observe(doc), l.r.data.Defaults)...)
		default:
			l.diags.Append(l.state.adopt(ctx, common(manifest.Observe(live)), l.r.data.Defaults)...)
		}
		if !isService(key) {
			l.state.UID = types.StringValue(string(live.GetUID()))
			l.state.Ready = types.BoolValue(ready.Assess(ready.Snapshot{Workload: live}).Ready)
		}
	}
	l.learned = true
	l.state.Manifests = found.value()
	l.state.ServiceName = l.state.Name
	l.state.Mode = types.StringValue(manifest.Compute{}.Mode())
	l.state.URL = address(ctx, l.state)
	return nil
}
