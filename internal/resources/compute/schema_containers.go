package compute

import (
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// longestPortName is the maximum length of the name of a port (IANA_SVC_NAME of RFC 6335).
const longestPortName = 15

// containerAttributes returns the containers beside the main one.
func containerAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"init_containers": tf.OptionalObjects("Containers that run one after the other, to their end, before the "+
			"`sidecars` and the main container start.", otherContainer()),
		"sidecars": tf.OptionalObjects("Containers that run next to the main one. As Kubernetes recommends since "+
			"1.29, they are init containers with the restart policy `Always`: each starts before the main container "+
			"and is stopped after it, and none keeps a Job from completing. A Knative Service, which does not allow "+
			"this, has plain containers instead.", otherContainer()),
	}
}

func otherContainer() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name":  tf.RequiredText("Name of the container, unique in the pod.", tf.VolumeName()),
		"image": tf.RequiredText("Container image.", tf.ImageReference()),
		"image_pull_policy": tf.OptionalText("Image pull policy, `Always`, `IfNotPresent` or `Never`. If not set, "+
			"Kubernetes selects it by the tag of the image.", stringvalidator.OneOf("Always", "IfNotPresent", "Never")),
		"command": stringList("Command, which replaces the entrypoint of the image."),
		"args":    stringList("Arguments, which replace those of the image."),
		"working_dir": tf.OptionalText("Working directory. Must be an absolute path. Defaults to that of the image.",
			tf.AbsolutePath()),
		"env_vars": tf.OptionalTextMap("Environment variables. Kubernetes expands `$(NAME)` in values. As for "+
			"`env_vars` of the compute, `manifests` contains references instead of the values.",
			tf.NoNulls(), mapvalidator.KeysAre(tf.EnvVarName())),
		"env_from": envFromAttribute("container"),
		"cpus":     tf.OptionalQuantity("CPU request, such as `100m`."),
		"memory":   tf.OptionalQuantity("Memory request, such as `128Mi`.", tf.Bytes()),
		"limits":   tf.OptionalQuantities("Limits by resource, such as `{ memory = \"256Mi\" }`."),
		"ports": tf.OptionalObjects("Ports of the container. Sidecars of a Knative Service cannot have any.",
			map[string]schema.Attribute{
				"container_port": count(math.MaxUint16, "Number of the port."),
				"name": tf.OptionalText("Name of the port, such as `metrics`.", tf.ServiceName(),
					stringvalidator.LengthAtMost(longestPortName)),
			}),
		"volume_mounts": tf.OptionalObjects("Volumes of the compute to mount.", map[string]schema.Attribute{
			"name": tf.RequiredText("Name of the item of `volumes`, which is that of its claim if it has no `name`.",
				tf.VolumeName()),
			"mount_path": tf.RequiredText("Mount path in this container. Must be an absolute path.", tf.MountPath()),
			"sub_path": tf.OptionalText("Path in the volume to mount. Defaults to its root.",
				tf.SubPath()),
			"read_only": tf.OptionalBool("Whether to mount the volume read-only."),
		}),
	}
}
