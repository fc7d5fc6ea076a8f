package owned

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// Identity is the resource identity of every resource.
type Identity struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
}

// IdentitySchema returns the schema of Identity. noun names the resource: "compute".
func IdentitySchema(noun string) identityschema.Schema {
	return identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"namespace": identityschema.StringAttribute{OptionalForImport: true,
				Description: "Namespace. Defaults to the namespace of the provider."},
			"name": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the " + noun + "."},
		},
	}
}

// ID returns the attribute id, namespace/name. It is unknown if one of the two is.
func (i Identity) ID() types.String {
	if i.Namespace.IsUnknown() || i.Name.IsUnknown() {
		return types.StringUnknown()
	}
	return types.StringValue(i.Namespace.ValueString() + "/" + i.Name.ValueString())
}

// SetIn sets the attributes that identify a resource in a state of which nothing else is known.
func (i Identity) SetIn(ctx context.Context, state *tfsdk.State, identity *tfsdk.ResourceIdentity) diag.Diagnostics {
	diags := identity.Set(ctx, i)
	for name, value := range map[string]types.String{"name": i.Name, "namespace": i.Namespace, "id": i.ID()} {
		diags.Append(state.SetAttribute(ctx, path.Root(name), value)...)
	}
	return diags
}

// ImportState accepts namespace/name, or the identity, and sets both and the ID. Terraform then calls Read, which
// completes the state. example is a name for messages.
func ImportState(
	ctx context.Context, data *tf.ProviderData, example string, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse,
) {
	var identity Identity
	if req.ID == "" {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
	} else {
		namespace, name, ok := strings.Cut(req.ID, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			resp.Diagnostics.AddError("Invalid import ID",
				fmt.Sprintf("The ID is %q, but must have the format namespace/name, such as ml/%s.", req.ID, example))
			return
		}
		identity = Identity{Namespace: types.StringValue(namespace), Name: types.StringValue(name)}
	}
	if identity.Namespace.IsNull() && data.Configured() {
		namespace, err := data.Cluster.Namespace()
		if err != nil {
			resp.Diagnostics.AddError("Unknown namespace", err.Error())
			return
		}
		identity.Namespace = types.StringValue(namespace)
	}
	resp.Diagnostics.Append(identity.SetIn(ctx, &resp.State, resp.Identity)...)
}

// Namespace returns the planned namespace of a resource. If the configuration omits it, it is resolved once and then
// kept, because another kubeconfig context must not move existing objects. prior is null before that. The result is
// unknown if the namespace cannot be resolved yet. noun names the resource.
func Namespace(data *tf.ProviderData, configuration, prior types.String, noun string) (types.String, diag.Diagnostics) {
	switch {
	case !configuration.IsNull():
		return configuration, nil
	case !prior.IsNull():
		return prior, nil
	case !data.Configured():
		return types.StringUnknown(), nil
	}
	namespace, err := data.Cluster.Namespace()
	if err != nil {
		return types.StringUnknown(), diag.Diagnostics{
			tf.Warning(err, "The plan continues. The namespace of the "+noun+" is known only at apply."),
		}
	}
	return types.StringValue(namespace), nil
}
