package secret

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

const description = `Keeps credentials in a Kubernetes Secret for ` + "`kt_compute`" + `, as Kubetorch's ` + "`kt.Secret`" + ` does.

The values come from one source: write-only values, a provider's usual files or variables, other files, other variables, or values that may be in state. Except for the last, no value is in state, plans, logs or errors. A value that changed, in its source or in the cluster, shows in the plan by its key.`

func (r *secretResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes:          attributes(),
	}
}

func (r *secretResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = owned.IdentitySchema("secret")
}

// Diagnostics at values and values_wo would make Terraform print the line of
// the configuration that the value is on, so neither has validators of its own:
// see ValidateConfig.
func attributes() map[string]schema.Attribute {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true, PlanModifiers: replace, Validators: []validator.String{tf.ObjectName(), stringvalidator.LengthAtMost(63)},
			MarkdownDescription: "Name of the Secret, at most 63 characters. Changing it replaces the Secret.",
		},
		"namespace": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.NamespaceName()},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
			MarkdownDescription: "Namespace. If left out, it is found once, at creation, as that of a `kt_compute` is. Changing it replaces the Secret.",
		},
		"values_wo": schema.MapAttribute{
			Optional: true, WriteOnly: true, Sensitive: true, ElementType: types.StringType,
			MarkdownDescription: "Source: values by key, which Terraform keeps nowhere. They may come from ephemeral resources and variables. Needs Terraform 1.11 or OpenTofu 1.11.",
		},
		"values_wo_version": schema.Int64Attribute{
			Optional: true, CustomType: tf.WholeNumberType{},
			MarkdownDescription: "Any number; a change of it makes the next apply write `values_wo`, and nothing else does. Set it where the values differ from run to run, as those of many ephemeral resources do. If left out, a value that differs from the one applied last shows in the plan by itself.",
		},
		"values": schema.MapAttribute{
			Optional: true, Sensitive: true, ElementType: types.StringType,
			MarkdownDescription: "Source: values by key. **They are in state and in saved plans**, where anybody who reads these can read them; `values_wo` is not.",
		},
		"provider_name": schema.StringAttribute{
			Optional: true, Validators: []validator.String{stringvalidator.OneOf(spec.Providers()...)},
			MarkdownDescription: "Source: where the tools of this provider keep their credentials on the machine that runs Terraform: `" + strings.Join(spec.Providers(), "`, `") + "`. Files are taken if at least one is there, else environment variables. `path` or `env_vars` beside it replace its usual place.",
		},
		"path": schema.StringAttribute{
			Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			MarkdownDescription: "Source: a file, or a folder whose files become keys, on the machine that runs Terraform; `~` is the home folder. Subfolders are left out.",
		},
		"filenames": schema.ListAttribute{
			Optional: true, ElementType: types.StringType,
			Validators:          []validator.List{listvalidator.SizeAtLeast(1), tf.NoNulls()},
			MarkdownDescription: "Names of the files in the folder to take, all of which must be there. Default: for `path`, all; for a provider, those of its usual files that are there.",
		},
		"env_vars": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.Map{mapvalidator.SizeAtLeast(1), tf.NoNulls(), mapvalidator.ValueStringsAre(tf.EnvVarName())},
			MarkdownDescription: "Source: environment variables of the machine that runs Terraform, by the key that their value gets, which is also the variable's name in the container: `{ HF_TOKEN = \"TEAM_HF_TOKEN\" }`.",
		},
		"mount_path": schema.StringAttribute{
			Optional: true, Validators: []validator.String{tf.MountPath()},
			MarkdownDescription: "Folder in the container that the keys are mounted into as files. Default: files are mounted where they are on the machine that runs Terraform, with `/root` for the home folder; all other values become environment variables.",
		},
		"default_mode": schema.StringAttribute{
			Optional: true, Validators: []validator.String{tf.FileMode()},
			MarkdownDescription: "Permission bits of the files in the container, four octal digits from `0000` to `0777`. Default: `0400` for `provider_name = \"ssh\"`, for all others Kubernetes' own, `0644`. See [Permissions of files](#permissions-of-files). Changing this restarts the pods that take `ref`.",
		},
		"labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: tf.Labels(),
			MarkdownDescription: "Labels of the Secret, over the provider's `default_labels`.",
		},
		"annotations": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.Map{tf.NoNulls(), mapvalidator.KeysAre(tf.LabelKey())},
			MarkdownDescription: "Annotations of the Secret, over the provider's `default_annotations`.",
		},
		"adopt_existing":      toggle("Take over a Secret of the same name that exists already, as Kubetorch's `override` does; keys that the source does not have are removed from it. Default: false, which makes it an error."),
		"deletion_protection": toggle("Refuse to delete or replace the Secret until this is set to false and applied. Default: false."),

		"id":  computed("`namespace/name`."),
		"uid": computed("UID of the Secret."),
		"keys": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The keys of the Secret, each with the revision of its value, counted from 1; or `changed in the cluster`, `missing in the cluster`, `added in the cluster`, which the next apply puts right.",
		},
		"ref": schema.SingleNestedAttribute{
			Computed: true, MarkdownDescription: "What an item of `secrets` of a `kt_compute` takes.",
			Attributes: map[string]schema.Attribute{
				"name":         computed("Name of the Secret."),
				"env_vars":     schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Keys that become environment variables."},
				"mount_path":   computed("Folder in the container that the keys are mounted into."),
				"default_mode": computed("Permission bits of the mounted files; null for Kubernetes' own default."),
			},
		},
		"manifests": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The fields that the provider owns of the Secret, but for its values, as JSON by `Secret/namespace/name`: what will be applied, and in a refresh, what they hold now.",
		},
	}
}

func computed(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func toggle(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: description}
}
