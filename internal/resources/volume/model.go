package volume

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
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
	Labels       types.Map    `tfsdk:"labels"`
	Annotations  types.Map    `tfsdk:"annotations"`

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

// spec converts a completely known model to the input of the renderer.
func (m *model) spec(defaults tf.Defaults) (claim.Claim, diag.Diagnostics) {
	c := claim.Claim{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(),
		AccessMode: m.AccessMode.ValueString(), StorageClass: m.StorageClass.ValueStringPointer(),
		VolumeName: m.VolumeName.ValueString(), MountPath: m.MountPath.ValueString(),
		Labels: tf.Texts(m.Labels), Annotations: tf.Texts(m.Annotations),
		DefaultLabels: defaults.Labels, DefaultAnnotations: defaults.Annotations,
	}
	var diags diag.Diagnostics
	var err error
	if c.Size, err = manifest.ParseQuantity(m.Size.ValueString()); err != nil {
		diags.AddAttributeError(path.Root("size"), "Invalid quantity", "size "+err.Error())
	}
	return c, diags
}

// render returns the attribute manifests of a completely known model.
func (m *model) render(defaults tf.Defaults) (types.Map, diag.Diagnostics) {
	spec, diags := m.spec(defaults)
	if diags.HasError() {
		return types.MapNull(types.StringType), diags
	}
	object, err := claim.Render(spec)
	if err != nil {
		return types.MapNull(types.StringType), renderErrors(err)
	}
	value, err := owned.ManifestsOf(object)
	if err != nil {
		diags.AddError("Cannot render the claim of the volume", err.Error())
	}
	return value, diags
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
