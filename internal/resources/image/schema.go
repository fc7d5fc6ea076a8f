package image

import (
	"context"
	"maps"

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

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

const description = `Says how the container of a compute is set up, as Kubetorch's ` + "`kt.Image`" + ` does: an image, and what is installed, copied and exported when the container starts.

Nothing is built. The set-up is kept as the ConfigMap ` + "`kt-image-<name>`" + ` of the same namespace, with a script that ` + "`kt_compute`" + ` runs first. Its steps run in order, stop at the first failure, and run once for each content.`

func (r *imageResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: description, Attributes: attributes()}
}

func (r *imageResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = owned.IdentitySchema("image")
}

func attributes() map[string]schema.Attribute {
	all := map[string]schema.Attribute{"steps": stepsAttribute()}
	for _, group := range []map[string]schema.Attribute{identityAttributes(), imageAttributes(), lifecycleAttributes(), computedAttributes()} {
		maps.Copy(all, group)
	}
	return all
}

func identityAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}, Validators: []validator.String{tf.ServiceName()},
			MarkdownDescription: "Name of the image; its ConfigMap is `kt-image-<name>`. An RFC 1035 label of at most 63 characters. Changing it replaces the ConfigMap.",
		},
		"namespace": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.NamespaceName()},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
			MarkdownDescription: "Namespace, that of the computes that use it. If left out, it is found once, at creation, as that of `kt_compute`. Changing it replaces the ConfigMap.",
		},
	}
}

func imageAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"image_id": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.ImageReference()},
			MarkdownDescription: "Image to run, such as `nvcr.io/nvidia/pytorch:24.08-py3`. Exactly one of `image_id`, `base` and the `FROM` of `dockerfile` says the image. If left out, what `image` is.",
		},
		"base": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "One of Kubetorch's images: `debian`, `ubuntu`, `python3.12` (or another version), `ray` or `pytorch`, with or without a tag, as in `ray:2.40.0`.",
		},
		"python_path": schema.StringAttribute{
			Optional: true, Validators: []validator.String{tf.AbsolutePath()},
			MarkdownDescription: "Python interpreter in the image, an absolute path. Default: `python3`, else `python`, as found in `PATH`.",
		},
		"install_cmd": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: "Beginning of the command line that installs Python packages, such as `uv pip install --system`; the packages come after it. Default: uv where there is one, else pip.",
		},
		"dockerfile": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			MarkdownDescription: "Content of a Dockerfile, whose instructions come before `steps`: `FROM`, `RUN`, `ENV`, `COPY`, and `CMD` and `ENTRYPOINT`, which have no effect. Paths of `COPY` are relative to the folder that Terraform runs in. If left out, what `rendered_dockerfile` is.",
		},
		"pin_digest": toggle("Ask the registry at plan which digest the tag has, and run that: a tag that was moved shows in the plan. Logs in as docker does. Default: false."),
	}
}

// What copy must have is optional here, and required by checkSteps: for a step
// that is unknown as a whole the framework reports each required attribute as
// missing.
func stepsAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Optional: true, Validators: []validator.List{listvalidator.SizeAtLeast(1), tf.NoNulls()},
		MarkdownDescription: "What is done in order, after `dockerfile`. Each step is exactly one of the following.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"pip_install": schema.ListAttribute{
				Optional: true, ElementType: types.StringType, Validators: []validator.List{listvalidator.SizeAtLeast(1), tf.NoNulls()},
				MarkdownDescription: "Python packages to install, each as one argument of pip, such as `torch==2.5.1`.",
			},
			"run_bash": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
				MarkdownDescription: "Commands for bash, which end at the first that fails (`set -eo pipefail`).",
			},
			"env": schema.MapAttribute{
				Optional: true, ElementType: types.StringType, Validators: []validator.Map{mapvalidator.SizeAtLeast(1), tf.NoNulls()},
				MarkdownDescription: "Environment variables of the steps that follow and of the server. `$NAME` in a value is expanded, as in `$PATH:/opt/bin`.",
			},
			"copy": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "A local file or folder to copy, as `COPY` of a Dockerfile does: of a folder, what is in it.",
				Attributes: map[string]schema.Attribute{
					"source": schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "Local path, or pattern such as `*.py`; required. Relative to the folder that Terraform runs in: begin it with `${path.module}`."},
					"dest":   schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "Path in the container; required. With a slash at the end it is a folder that files are put into."},
				},
			},
			"sync_package": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
				MarkdownDescription: "Local folder of a Python package. With a `pyproject.toml` or `setup.py` in it, it is installed; else `PYTHONPATH` names the folder that it is copied into. Caches, environments and `.git` are left out.",
			},
		}},
	}
}

func lifecycleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: tf.Labels(),
			MarkdownDescription: "Labels of the ConfigMap, over the provider's `default_labels`.",
		},
		"annotations": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.Map{tf.NoNulls(), mapvalidator.KeysAre(tf.LabelKey())},
			MarkdownDescription: "Annotations of the ConfigMap, over the provider's `default_annotations`.",
		},
		"adopt_existing":      toggle("Take over a ConfigMap of the same name that exists already, whoever created it. Default: false, which makes it an error."),
		"deletion_protection": toggle("Refuse to delete or replace the ConfigMap until this is set to false and applied. Default: false."),
	}
}

func computedAttributes() map[string]schema.Attribute {
	computed := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"id":                  computed("`namespace/name`."),
		"uid":                 computed("UID of the ConfigMap."),
		"image":               computed("What runs, for `image` of `kt_compute`: with `pin_digest` as `repository@sha256:…`."),
		"digest":              computed("Digest of the image, `sha256:…`: with `pin_digest`, and where the image is given by its digest. Of an image for several platforms, that of the index."),
		"rendered_dockerfile": computed("The whole set-up as a Dockerfile: `dockerfile`, from the image that runs, and `steps`."),
		"setup": schema.SingleNestedAttribute{
			Computed: true, MarkdownDescription: "For `image_setup` of `kt_compute`.",
			Attributes: map[string]schema.Attribute{
				"config_map":  computed("Name of the ConfigMap."),
				"digest":      computed("Digest of what is set up, `sha256:…`; pods are replaced when it changes."),
				"python_path": computed("As given."),
				"install_cmd": computed("As given."),
			},
		},
		"manifests": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The fields of the ConfigMap that the provider owns, as JSON by `Kind/namespace/name`, with digests in the place of contents.",
		},
	}
}

func toggle(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: description}
}
