package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// model is one kt_volume. Collections are Terraform values, because any of them may be unknown in a plan.
type model struct {
	lifecycle.Common

	Size         tf.Quantity  `tfsdk:"size"`
	MountPath    types.String `tfsdk:"mount_path"`
	AccessMode   types.String `tfsdk:"access_mode"`
	StorageClass types.String `tfsdk:"storage_class"`
	VolumeName   types.String `tfsdk:"volume_name"`

	WaitForBound types.Bool `tfsdk:"wait_for_bound"`

	claimStatus
	Ref types.Object `tfsdk:"ref"`
}

// claimStatus contains the attributes that Kubernetes reports.
type claimStatus struct {
	Phase           types.String `tfsdk:"phase"`
	Capacity        types.String `tfsdk:"capacity"`
	BoundVolumeName types.String `tfsdk:"bound_volume_name"`
}

func unknownStatus() claimStatus {
	return claimStatus{types.StringUnknown(), types.StringUnknown(), types.StringUnknown()}
}

// key returns the manifest.Key of the claim.
func (m *model) key() string {
	return kind.PersistentVolumeClaim().Kind + "/" + m.Namespace.ValueString() + "/" + m.Name.ValueString()
}

func (m *model) claimRef() kube.Ref {
	return kube.Ref{Kind: kind.PersistentVolumeClaim(), Namespace: m.Namespace.ValueString(),
		Name: m.Name.ValueString()}
}

// spec converts a model to the input of the renderer. Unknown attributes are like those that are not set.
func (m *model) spec(ctx context.Context, defaults tf.Defaults) (claim.Claim, diag.Diagnostics) {
	c := tf.NewConverter(ctx)
	var out claim.Claim
	c.DecodeModel(m, &out)
	out.Labels, out.Annotations = tf.Texts(m.Labels), tf.Texts(m.Annotations) // without null values
	out.DefaultLabels, out.DefaultAnnotations = defaults.Labels, defaults.Annotations
	return out, c.Diags
}

// render returns the attribute manifests of a completely known model.
func (m *model) render(ctx context.Context, defaults tf.Defaults) (manifests types.Map, diags diag.Diagnostics) {
	spec, diags := m.spec(ctx, defaults)
	if diags.HasError() {
		return types.MapNull(types.StringType), diags
	}
	object, err := claim.Render(spec)
	if err == nil {
		manifests, err = owned.ManifestsOf(object)
	}
	if err != nil {
		return types.MapNull(types.StringType), renderErrors(err)
	}
	return manifests, nil
}

// renderErrors reports each error of the renderer at its attribute.
func renderErrors(err error) diag.Diagnostics {
	return tf.AttributeErrors("Cannot render the claim of the volume", err)
}

// appliesClass reports whether the storage class is among the applied fields.
func (m *model) appliesClass() bool {
	object, err := owned.ObjectIn(m.Manifests)
	return err == nil && object != nil && claim.Observe(object).StorageClass != nil
}

// ref returns the attribute ref, as far as it is known.
func (m *model) ref() types.Object {
	readOnly := types.BoolNull()
	switch {
	case m.AccessMode.IsUnknown():
		readOnly = types.BoolUnknown()
	case m.AccessMode.ValueString() == "ReadOnlyMany":
		readOnly = types.BoolValue(true)
	}
	return types.ObjectValueMust(map[string]attr.Type{
		"claim_name": types.StringType, "mount_path": types.StringType, "read_only": types.BoolType,
	}, map[string]attr.Value{"claim_name": m.Name, "mount_path": m.MountPath, "read_only": readOnly})
}
