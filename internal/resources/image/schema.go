package image

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

const description = "Manages the image setup of a compute, like Kubetorch's `kt.Image`: a container image, and the " +
	"packages, files and environment variables to add when the container starts.\n\n" +
	"No image is built. The setup is stored in the ConfigMap `kt-image-<name>` of the same namespace, with a script " +
	"that `kt_compute` runs before the server starts. The steps run in order and stop at the first failure. They run " +
	"in every new container, also if their content has not changed."

func attributes() map[string]schema.Attribute {
	return lifecycle.WithCommon(map[string]schema.Attribute{
		"name": tf.RequiredText("Name of the image. Its ConfigMap is named `kt-image-<name>`. Must be an RFC 1035 "+
			"label of at most 63 characters. Changing this replaces the ConfigMap.", tf.ServiceName()),
		"namespace": tf.OptionalComputedText("Namespace of the ConfigMap, which must be the namespace of the "+
			"computes that use the image. Defaults to a namespace that is resolved once, at creation, like the "+
			"namespace of `kt_compute`. Changing this replaces the ConfigMap.", tf.NamespaceName()),
		"image_id": tf.OptionalComputedText("Image to run, such as `nvcr.io/nvidia/pytorch:26.06-py3`. Exactly one "+
			"of `image_id`, `base` and a `FROM` in `dockerfile` must be set. Defaults to the value of `image`.",
			tf.ImageReference()),
		"base": tf.OptionalText("Kubetorch base image: `debian`, `ubuntu`, `python3.12` (or another version), `ray` " +
			"or `pytorch`, with or without a tag, as in `ray:2.40.0`."),
		"python_path": tf.OptionalText("Absolute path of the Python interpreter in the image. Defaults to `python3`, "+
			"otherwise `python`, in `PATH`.", tf.AbsolutePath()),
		"install_cmd": tf.OptionalText("Command that installs Python packages, such as `uv pip install --system`. " +
			"The packages are appended. Defaults to uv if the image contains it, otherwise pip."),
		"dockerfile": tf.OptionalComputedText("Content of a Dockerfile. Its instructions run before `steps`. "+
			"Supported are `FROM`, `RUN`, `ENV`, `COPY`, and `CMD` and `ENTRYPOINT`, which have no effect. Paths of "+
			"`COPY` are relative to the working directory of Terraform. Defaults to the value of "+
			"`rendered_dockerfile`.", stringvalidator.LengthAtLeast(1)),
		"pin_digest": tf.Toggle("Whether to request the digest of the tag from the registry and to run that digest. " +
			"A moved tag then appears in the plan. The digest of a new image is known after apply. Uses the same " +
			"credentials as docker. Defaults to " +
			"`false`."),
		"steps": stepsAttribute(),
		"adopt_existing": tf.Toggle("Whether to take over an existing ConfigMap of the same name. Defaults to " +
			"`false`, in which case an existing ConfigMap is an error."),
		"timeouts": lifecycle.TimeoutsAttribute(
			"Timeout of the creation. Defaults to `5m`.",
			"Timeout of an update. Defaults to `5m`.",
			"Timeout of the deletion, including the wait for finalizers. Defaults to `5m`."),

		"image": tf.ComputedString("Image to run. With `pin_digest`, it has the form `repository@sha256:…`."),
		"digest": tf.ComputedString("Digest of the image, `sha256:…`. Set with `pin_digest`, or if the image is " +
			"specified by its digest. For a multi-platform image, this is the digest of the index."),
		"rendered_dockerfile": tf.ComputedString("Complete setup as a Dockerfile: `dockerfile` with the resolved " +
			"image, followed by `steps`."),
		"ref": tf.ComputedObject("Image and its setup, for `image_ref` of `kt_compute`.", tf.Attributes{
			"image": tf.ComputedString("Value of `image`."),
			"setup": tf.ComputedObject("Setup of the image.", tf.Attributes{
				"config_map":  tf.ComputedString("Name of the ConfigMap."),
				"digest":      tf.ComputedString("Digest of the setup, `sha256:…`. A change replaces the pods."),
				"python_path": tf.ComputedString("Value of `python_path`."),
				"install_cmd": tf.ComputedString("Value of `install_cmd`."),
			}),
		}),
		"manifests": tf.ComputedTextMap("Fields of the ConfigMap that the provider owns, as JSON by " +
			"`Kind/namespace/name`. Contents are replaced by their digests."),
	}, "image", "the ConfigMap", "data[\"Dockerfile\"]")
}

func stepsAttribute() schema.Attribute {
	return tf.OptionalObjects("Steps to run in order, after `dockerfile`. Exactly one attribute of each step must be "+
		"set.", map[string]schema.Attribute{
		"pip_install": tf.OptionalTexts("Python packages to install. Each item is one argument of pip, such as "+
			"`torch==2.5.1`.", listvalidator.SizeAtLeast(1), tf.NoNulls()),
		"run_bash": tf.OptionalText("Commands to run with bash, which stop at the first failure (`set -eo "+
			"pipefail`).",
			stringvalidator.LengthAtLeast(1)),
		"set_env_vars": tf.OptionalTextMap("Environment variables for later steps and the server. `$NAME` in a "+
			"value is expanded, as in `$PATH:/opt/bin`.", mapvalidator.SizeAtLeast(1), tf.NoNulls()),
		"copy": tf.OptionalObject("Local file or directory to copy, like `COPY` in a Dockerfile. For a directory, "+
			"its content is copied, except for the state and plans of Terraform (`*.tfstate*`, `*.tfplan`, "+
			"`tfplan`, and plans of any other name).", tf.Attributes{
			"source": tf.RequiredText("Local path, or pattern such as `*.py`. Relative paths are resolved "+
				"from the working directory of Terraform, so start the path with `${path.module}`.",
				stringvalidator.LengthAtLeast(1)),
			"dest": tf.RequiredText("Path in the container. A path that ends with a slash is a directory to "+
				"copy files into.", stringvalidator.LengthAtLeast(1)),
		}),
		"sync_package": tf.OptionalText("Local directory of a Python package. A directory with a `pyproject.toml` "+
			"or `setup.py` is installed. Any other directory is copied to a directory in `PYTHONPATH`. Caches, "+
			"virtual environments, `.git`, and the state and plans of Terraform are excluded.",
			stringvalidator.LengthAtLeast(1)),
	}, listvalidator.SizeAtLeast(1))
}
