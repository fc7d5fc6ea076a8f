package compute

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
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
			return errGone
		case err != nil:
			return err
		}
		doc := live.Object
		set, ours, err := fields.Owned(live, kube.Manager)
		if err != nil {
			return err
		}
		if ours {
			doc = fields.Project(live.Object, set)
			projected := &unstructured.Unstructured{Object: doc}
			if found[manifest.Key(projected)], err = manifest.JSON(projected); err != nil {
				return err
			}
			if _, err := l.memory.remember(manifest.Key(projected), projected, live); err != nil {
				return err
			}
		}
		if kind.Kind != kube.Service().Kind {
			l.state.UID = types.StringValue(string(live.GetUID()))
			l.state.Ready = types.BoolValue(ready.Assess(ready.Snapshot{Workload: live}).Ready)
			l.diags.Append(l.state.adopt(ctx, manifest.Observe(&unstructured.Unstructured{Object: doc}), l.r.data.Defaults)...)
		}
	}
	l.state.Manifests = found.value()
	l.state.ServiceName = l.state.Name
	l.state.Mode = types.StringValue(manifest.Compute{}.Mode())
	l.state.URL = address(ctx, l.state)
	return nil
}
