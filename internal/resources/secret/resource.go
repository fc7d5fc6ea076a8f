// Package secret implements the resource kt_secret. It passes the values of a Secret only to the cluster, never to
// state, plans, logs or errors. The only exception is the attribute values, which Terraform stores.
package secret

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// hooks are the part of the life cycle that is specific to secrets.
type hooks struct{}

type (
	reading  = lifecycle.Reading[model, privateState]
	planning = lifecycle.Planning[model, privateState]
	writing  = lifecycle.Writing[model, privateState]
	deleting = lifecycle.Deleting[model, privateState]
)

// New returns the resource.
func New() resource.Resource {
	return lifecycle.New[model](resourceKind(), hooks{})
}

// resourceKind describes the resource, with the default timeouts of its operations, which send only a few requests. A
// deletion also waits for finalizers.
func resourceKind() lifecycle.Kind {
	return lifecycle.Kind{
		Type: "kt_secret", Noun: "secret", Example: "huggingface",
		Description: description, Attributes: attributes,
		Apply: 5 * time.Minute, Delete: 5 * time.Minute,
		FromConfig: []string{"values_wo"},
		Moves:      func(of schema.GroupKind) bool { return of == kind.Secret().GroupKind() },
	}
}

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
