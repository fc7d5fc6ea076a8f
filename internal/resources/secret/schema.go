package secret

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

const description = "Manages a Kubernetes Secret with credentials for `kt_compute`, like Kubetorch's `kt.Secret`.\n\n" +
	"The values are read from one source: write-only values, the usual files or environment variables of a " +
	"credential provider, other files, other environment variables, or values that may be in state. With all sources " +
	"except the last, no value appears in state, plans, logs or errors. If a value changes in its source or in the " +
	"cluster, the plan shows its key."

// attributes returns the attributes of the schema. A diagnostic with the path values or values_wo would make Terraform
// print the line of the configuration that contains the value. Therefore these attributes have no validators; see
// [hooks.Validate].
func attributes() map[string]schema.Attribute {
	return lifecycle.WithCommon(map[string]schema.Attribute{
		"name": tf.RequiredText("Name of the Secret, of at most 63 characters. Changing this replaces the Secret.",
			tf.ObjectName(), stringvalidator.LengthAtMost(63)),
		"namespace": tf.OptionalComputedText("Namespace of the Secret. Defaults to a namespace that is resolved "+
			"once, at creation, like the namespace of `kt_compute`. Changing this replaces the Secret.",
			tf.NamespaceName()),
		"values_wo": schema.MapAttribute{
			Optional: true, WriteOnly: true, Sensitive: true, ElementType: types.StringType,
			MarkdownDescription: "Write-only values by key, as the source of the Secret. Terraform does not store " +
				"them. Accepts ephemeral resources and ephemeral variables. Requires Terraform 1.11 or OpenTofu 1.11.",
		},
		"values_wo_version": tf.OptionalInteger("Version of `values_wo`. If set, `values_wo` is written only when " +
			"this number changes. Use it for values that differ in each run, as those of many ephemeral resources " +
			"do. If not set, the plan detects values that differ from the last applied ones."),
		"values": schema.MapAttribute{
			Optional: true, Sensitive: true, ElementType: types.StringType,
			MarkdownDescription: "Values by key, as the source of the Secret. **They are stored in state and in " +
				"saved plans**, and anyone who can read these can read the values. `values_wo` is not stored.",
		},
		"provider_name": tf.OptionalText("Credential provider, as the source of the Secret. Its usual files or "+
			"environment variables are read on the machine that runs Terraform. Must be one of `"+
			strings.Join(spec.Providers(), "`, `")+
			"`. The files are read if at least one exists, otherwise the environment variables. If `path` or "+
			"`from_env` is also set, it replaces the usual location.", stringvalidator.OneOf(spec.Providers()...)),
		"path": tf.OptionalText("Path of a file, or of a directory whose files become keys, as the source of the "+
			"Secret. It is read on the machine that runs Terraform. `~` is the home directory. Subdirectories "+
			"are ignored.", stringvalidator.LengthAtLeast(1)),
		"filenames": tf.OptionalTexts("Names of the files in the directory to read. All of them must exist. Defaults "+
			"to all files for `path`, and to the existing usual files for a credential provider.",
			listvalidator.SizeAtLeast(1), tf.NoNulls()),
		"from_env": tf.OptionalTextMap("Names of environment variables of the machine that runs Terraform, as the "+
			"source of the Secret: `{ HF_TOKEN = \"TEAM_HF_TOKEN\" }`. Each key of the map is the key in the Secret, "+
			"and the name of the environment variable in the container.", mapvalidator.SizeAtLeast(1)),
		"mount_path": tf.OptionalText("Directory in the container where the keys are mounted as files. By default, "+
			"files are mounted at their path on the machine that runs Terraform, with `/root` as the home directory. "+
			"All other values become environment variables.", tf.MountPath()),
		"default_mode": tf.OptionalText("Permission bits of the files in the container, as four octal digits from "+
			"`0000` to `0777`. Defaults to `0400` for `provider_name = \"ssh\"`, otherwise to the default of "+
			"Kubernetes, `0644`. See [File permissions](#file-permissions). Changing this restarts the pods that use "+
			"`ref`.", tf.FileMode()),
		"adopt_existing": tf.Toggle("Whether to take over an existing Secret of the same name, like Kubetorch's " +
			"`override`. Keys that are not in the source are removed. Defaults to `false`, in which case an existing " +
			"Secret is an error."),
		"timeouts": lifecycle.TimeoutsAttribute(
			"Timeout of the creation. Defaults to `5m`.",
			"Timeout of an update. Defaults to `5m`.",
			"Timeout of the deletion, including the wait for finalizers. Defaults to `5m`."),

		"keys": tf.ComputedTextMap("Revisions of the values by key, starting at 1. A key that differs in the " +
			"cluster shows `changed in the cluster`, `missing in the cluster` or `added in the cluster` instead, and " +
			"the next apply restores it."),
		"ref": tf.ComputedObject("Reference to the Secret, as an item of `secrets` of `kt_compute`.", tf.Attributes{
			"name": tf.ComputedString("Name of the Secret."),
			"env_vars": schema.ListAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Keys to set as environment variables."},
			"mount_path": tf.ComputedString("Directory in the container where the keys are mounted."),
			"default_mode": tf.ComputedString("Permission bits of the mounted files. Null for the default of " +
				"Kubernetes."),
		}),
		"manifests": tf.ComputedTextMap("Fields of the Secret that the provider owns, without the values, as JSON " +
			"by `Secret/namespace/name`. A plan shows the fields to apply, a refresh the current fields."),
	}, "Secret", "the Secret", "metadata.annotations[\"example.com/owner\"]")
}
