package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// tensorServerAttributes returns the runtime, and the attributes of tensor servers.
func tensorServerAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"runtime": tf.TextWithDefault(kind.RuntimeKubetorch, "Runtime of the container: `kubetorch`, or the tensor "+
			"server of `skytorch` or `kpu`. Defaults to `kubetorch`. With `skytorch` and `kpu`, the compute is one "+
			"`Compute` resource, whose operator creates the StatefulSet, the Service and the route. The operator "+
			"sets `cpus`, `memory`, `disk_size` and `gpus` as limits too, and may omit other fields of the pod. "+
			"Changing this replaces the compute.\n\n  The tested versions of the SkyTorch operator omit "+
			"`node_selector`, `gpu_type`, `tolerations`, `service_account_name`, `image_pull_secrets` and mounted "+
			"`secrets`. The plan warns about them. If the installed operator omits one, the apply fails and names "+
			"the attribute. No version supports keys of Secrets as environment variables (`secrets[*].env_vars` and "+
			"`env_keys`) and the environment variables `SKYTORCH_PORT`, `SKYTORCH_HOST` and `SKYTORCH_LOG_LEVEL` "+
			"(`KPU_…`), which are rejected. The Compute of KPU and of SkyTorch 0.1.0 has no field for any of these, "+
			"nor for `volumes` and `volume_claim_templates`. That of KPU has none for `cpus`, `memory`, `disk_size` "+
			"and `gpus` either.", stringvalidator.OneOf(kind.RuntimeKubetorch, kind.RuntimeSkyTorch, kind.RuntimeKPU)),
		"command": stringList("Command of the container, which replaces the entrypoint of the image. With " +
			"`runtime = \"kubetorch\"`, `command` and `args` run a server of your own instead of Kubetorch's: " +
			"nothing is installed, and calls from Kubetorch's Python client do not work. Variables such as `$(NAME)` " +
			"are replaced by Kubernetes."),
		"args": stringList("Arguments of the container, which replace the arguments of the image. Without `command`, " +
			"the entrypoint of the image receives them."),
		"port": tf.OptionalInteger("Port of the server that `command` or `args` run. The Service maps port 80 to it, "+
			"and probes check it: until the server has started, at most for `launch_timeout`, and afterwards. "+
			"Without it, a container is ready as soon as it runs.", int64validator.Between(1, 65535)),
		"health_path": tf.OptionalText("HTTP path that the probes request at `port`, such as `/health`. Any status "+
			"from 200 to 399 counts as healthy. Without it, a connection to the port is sufficient.", tf.URLPath()),
		"volume_claim_templates": tf.OptionalObjects("PersistentVolumeClaims to create and mount for the pod of a "+
			"tensor server. For existing claims, use `volumes`. Since February 2026, the SkyTorch operator creates "+
			"and mounts a claim with the name of the template, which no compute owns. Computes of one namespace with "+
			"templates of the same name share it. A template with the name of a `kt_volume` mounts that volume and "+
			"replaces its labels. Use names that are unique in the namespace. Earlier operators create "+
			"`<name>-<compute>-0`. The claims and their data are kept when the compute is destroyed. A larger `size` "+
			"is applied in place if the storage class of the claim allows expansion, and is otherwise ignored. Any "+
			"other change except of `mount_path` replaces the compute.", map[string]schema.Attribute{
			"name":       tf.RequiredText("Name of the template.", tf.ServiceName()),
			"size":       tf.RequiredQuantity("Size of the claim, such as `100Gi`.", tf.Bytes(), tf.ClaimSize()),
			"mount_path": tf.RequiredText("Mount path of the volume. Must be an absolute path.", tf.MountPath()),
			"storage_class": tf.OptionalText("Storage class. Defaults to the default class of the cluster.",
				tf.ObjectName()),
			"access_mode": tf.OptionalText("Access mode of the claim: `ReadWriteOnce`, `ReadWriteOncePod`, "+
				"`ReadWriteMany` or `ReadOnlyMany`. Defaults to `ReadWriteOnce`.",
				stringvalidator.OneOf(claim.AccessModes()...)),
		}),
	}
}

func stringList(description string) schema.ListAttribute {
	return tf.OptionalTexts(description, listvalidator.SizeAtLeast(1), tf.NoNulls())
}
