package owned

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// Identity is what every resource is known by.
type Identity struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
}

// IdentitySchema is the schema of Identity; what is the resource in words:
// "compute".
func IdentitySchema(what string) identityschema.Schema {
	return identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"namespace": identityschema.StringAttribute{OptionalForImport: true, Description: "Namespace; the provider's if left out."},
			"name":      identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the " + what + "."},
		},
	}
}

// ID is the attribute id, namespace/name; unknown while one of the two is.
func (i Identity) ID() types.String {
	if i.Namespace.IsUnknown() || i.Name.IsUnknown() {
		return types.StringUnknown()
	}
	return types.StringValue(i.Namespace.ValueString() + "/" + i.Name.ValueString())
}

// ImportState takes namespace/name, or the identity, and leaves the rest to
// Read. example is a name for messages.
func ImportState(ctx context.Context, data *tf.ProviderData, example string, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var identity Identity
	if req.ID == "" {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
	} else {
		namespace, name, ok := strings.Cut(req.ID, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			resp.Diagnostics.AddError("Invalid import ID", fmt.Sprintf("%q is not of the form namespace/name, such as ml/%s.", req.ID, example))
			return
		}
		identity = Identity{Namespace: types.StringValue(namespace), Name: types.StringValue(name)}
	}
	if identity.Namespace.IsNull() && data.Configured() {
		namespace, err := data.Cluster.Namespace()
		if err != nil {
			resp.Diagnostics.AddError("The namespace is not known", err.Error())
			return
		}
		identity.Namespace = types.StringValue(namespace)
	}
	for name, value := range map[string]types.String{"name": identity.Name, "namespace": identity.Namespace, "id": identity.ID()} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, identity)...)
}

// Namespace is where a resource is planned to go. One that the configuration
// leaves out is found once and then kept, prior being null before: another
// kubeconfig context must not move what exists. It is unknown where it cannot
// be found yet; what is the resource in words.
func Namespace(data *tf.ProviderData, configuration, prior types.String, what string) (types.String, diag.Diagnostics) {
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
		return types.StringUnknown(), diag.Diagnostics{tf.Caution(err, "The plan stands, but where the "+what+" goes is known only at apply.")}
	}
	return types.StringValue(namespace), nil
}
