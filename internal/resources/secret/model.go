package secret

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// model is one kt_secret.
type model struct {
	lifecycle.Common

	ValuesWO        types.Map    `tfsdk:"values_wo"` // null except in a configuration
	ValuesWOVersion types.Int64  `tfsdk:"values_wo_version"`
	Values          types.Map    `tfsdk:"values"`
	ProviderName    types.String `tfsdk:"provider_name"`
	Path            types.String `tfsdk:"path"`
	Filenames       types.List   `tfsdk:"filenames"`
	FromEnv         types.Map    `tfsdk:"from_env"`
	MountPath       types.String `tfsdk:"mount_path"`
	DefaultMode     types.String `tfsdk:"default_mode"`

	Labels      types.Map `tfsdk:"labels"`
	Annotations types.Map `tfsdk:"annotations"`

	Keys types.Map    `tfsdk:"keys"`
	Ref  types.Object `tfsdk:"ref"`
}

// ref returns the Secret of a model whose name and namespace are known.
func (m *model) ref() kube.Ref {
	return kube.SecretRef(m.Namespace.ValueString(), m.Name.ValueString())
}

// refTypes returns the attribute types of an item of secrets of kt_compute.
func refTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"name": types.StringType, "env_vars": types.ListType{ElemType: types.StringType},
		"mount_path": types.StringType, "default_mode": types.StringType,
	}
}

// Texts in keys for a key that differs from the applied one.
const (
	changedInCluster = "changed in the cluster"
	missingInCluster = "missing in the cluster"
	addedInCluster   = "added in the cluster"
	imported         = "imported"
)
