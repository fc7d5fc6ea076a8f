package compute

import (
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// sourceAttributes returns what the pods read: Secrets, ConfigMaps and volumes.
func sourceAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"secrets": tf.OptionalObjects("Secrets of the same namespace to use as environment variables, as files, or "+
			"both. A change of the values restarts no pods; see [kt_secret](secret.md#rotation).", keysAttributes(
			"Secret", tf.SecretKey(), "`ref` of `kt_secret` sets `0400` for SSH keys. The files are owned by root. "+
				"For pods that run as another user, see [kt_secret](secret.md#file-permissions). ")),
		"config_maps": tf.OptionalObjects("ConfigMaps of the same namespace to use as environment variables, as "+
			"files, or both. A change of the data restarts no pods; see `restart_triggers`.",
			keysAttributes("ConfigMap", tf.ConfigMapKey(), "")),
		"env_from": envFromAttribute("container"),
		"volumes": tf.OptionalObjects("Volumes to mount, each with exactly one source: `claim_name`, `config_map`, "+
			"`secret`, `empty_dir`, `host_path` or `image`.", volumeAttributes()),
	}
}

// keysAttributes returns the attributes that expose the keys of a Secret or a ConfigMap.
func keysAttributes(noun string, key validator.String, aboutModes string) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": tf.RequiredText("Name of the "+noun+".", tf.ObjectName()),
		"env_vars": tf.OptionalTexts("Keys of the "+noun+" to set as environment variables of the same name.",
			listvalidator.SizeAtLeast(1), tf.NoNulls(), listvalidator.ValueStringsAre(tf.EnvVarName())),
		"env_keys": tf.OptionalTextMap("Keys of the "+noun+" to set as environment variables of another name, by "+
			"the name of the variable, such as `{ HF_TOKEN = \"token\" }`.",
			mapvalidator.SizeAtLeast(1), tf.NoNulls(), mapvalidator.KeysAre(tf.EnvVarName()),
			mapvalidator.ValueStringsAre(key)),
		"mount_path": tf.OptionalText("Directory where the keys are mounted as read-only files.", tf.MountPath()),
		"default_mode": tf.OptionalText("Permission bits of the files in `mount_path`, as four octal digits from "+
			"`0000` to `0777`, such as `0400`. Defaults to the default of Kubernetes, `0644`. "+aboutModes+"Changing "+
			"this restarts the pods.", tf.FileMode()),
	}
}

// envFromAttribute returns the Secrets and ConfigMaps whose keys are all variables of a container.
func envFromAttribute(noun string) schema.Attribute {
	return tf.OptionalObjects("Secrets and ConfigMaps of the same namespace whose keys are all set as environment "+
		"variables of the "+noun+". Kubernetes omits keys that are not names of variables. Of a variable that several "+
		"items set, the last one counts, and one of `env_vars` or of a single key overrides it.",
		map[string]schema.Attribute{
			"secret":     tf.OptionalText("Name of the Secret. Conflicts with `config_map`.", tf.ObjectName()),
			"config_map": tf.OptionalText("Name of the ConfigMap. Conflicts with `secret`.", tf.ObjectName()),
			"prefix": tf.OptionalText("Prefix of the names of the variables, such as `DB_`.",
				stringvalidator.LengthAtLeast(1), tf.EnvVarName()),
		}, listvalidator.SizeAtLeast(1))
}

func volumeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": tf.OptionalText("Name of the volume in the pod, for `volume_mounts` of `init_containers` and "+
			"`sidecars`. Defaults to the name of the claim, otherwise to a name that is derived from `mount_path`. "+
			"Items with the same name and source are mounts of one volume.", tf.VolumeName()),
		"claim_name": tf.OptionalText("Name of a PersistentVolumeClaim of the same namespace.", tf.ObjectName()),
		"config_map": tf.OptionalText("Name of a ConfigMap of the same namespace, whose keys are files. For "+
			"permissions, or to use keys as variables too, use `config_maps`.", tf.ObjectName()),
		"secret": tf.OptionalText("Name of a Secret of the same namespace, whose keys are files. For permissions, or "+
			"to use keys as variables too, use `secrets`.", tf.ObjectName()),
		"empty_dir": tf.OptionalObject("Empty directory that exists as long as the pod.", map[string]schema.Attribute{
			"medium": tf.OptionalText("`Memory`, or huge pages as `HugePages` or `HugePages-<size>`. Files in memory "+
				"count as memory of the pod. Defaults to the disk of the node.", tf.StorageMedium()),
			"size_limit": tf.OptionalQuantity("Maximum size, such as `10Gi`. Kubernetes evicts a pod that exceeds "+
				"it. Defaults to no limit.", tf.Bytes()),
		}),
		"host_path": tf.OptionalObject("File or directory of the node. Pods can see data of the node and of other "+
			"pods in it, and clusters often reject it.", map[string]schema.Attribute{
			"path": tf.RequiredText("Absolute path on the node.", tf.AbsolutePath()),
			"type": tf.OptionalText("What must exist at the path: `Directory`, `File`, `Socket`, `CharDevice` or "+
				"`BlockDevice`. `DirectoryOrCreate` and `FileOrCreate` create it. Defaults to no check.",
				stringvalidator.OneOf("DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice",
					"BlockDevice")),
		}),
		"image": tf.OptionalObject("Content of an OCI image or artifact, such as a model, mounted read-only. Requires "+
			"the feature `ImageVolume` of Kubernetes, which is enabled by default since 1.35.",
			map[string]schema.Attribute{
				"reference": tf.RequiredText("Image or artifact.", tf.ImageReference()),
				"pull_policy": tf.OptionalText("`Always`, `IfNotPresent` or `Never`. If not set, Kubernetes selects "+
					"it by the tag.", stringvalidator.OneOf("Always", "IfNotPresent", "Never")),
			}),
		"mount_path": tf.RequiredText("Mount path of the volume. Must be an absolute path.", tf.MountPath()),
		"sub_path": tf.OptionalText("Path in the volume to mount, such as `models/llama`. Defaults to its root. A "+
			"mounted file of a ConfigMap or Secret is not updated when the object changes.", tf.SubPath()),
		"read_only": tf.OptionalBool("Whether to mount the volume read-only."),
	}
}

// securityAttributes returns what the pods may do, and what replaces them.
func securityAttributes() map[string]schema.Attribute {
	capabilities := func(description string) schema.Attribute {
		return tf.OptionalTexts(description, listvalidator.SizeAtLeast(1), listvalidator.UniqueValues(), tf.NoNulls(),
			listvalidator.ValueStringsAre(tf.Capability()))
	}
	return map[string]schema.Attribute{
		"security_context": tf.OptionalObject("Security settings of the pods. `privileged`, "+
			"`allow_privilege_escalation`, `read_only_root_filesystem` and `capabilities` are set on the main "+
			"container, the others on the pod, so that they apply to all of its containers. Kubetorch's server "+
			"installs packages when it starts, which requires a user that can write to the file system, unless "+
			"`freeze` is set.", map[string]schema.Attribute{
			"run_as_user":     atLeast(0, "ID of the user of the processes. Defaults to that of the image."),
			"run_as_group":    atLeast(0, "ID of the primary group of the processes. Defaults to that of the image."),
			"run_as_non_root": tf.OptionalBool("Whether a container whose user is root must not start."),
			"fs_group": atLeast(0, "ID of the group that owns the files of mounted volumes, and that the processes "+
				"are members of."),
			"supplemental_groups": schema.ListAttribute{
				Optional: true, ElementType: types.Int64Type,
				MarkdownDescription: "IDs of further groups of the processes.",
				Validators: []validator.List{listvalidator.SizeAtLeast(1), tf.NoNulls(),
					listvalidator.ValueInt64sAre(int64validator.Between(0, math.MaxInt32))},
			},
			"seccomp_profile": tf.OptionalObject("Seccomp profile, which restricts system calls.",
				map[string]schema.Attribute{
					"type": tf.RequiredText("`RuntimeDefault`, `Unconfined` or `Localhost`.",
						stringvalidator.OneOf("RuntimeDefault", "Unconfined", "Localhost")),
					"localhost_profile": tf.OptionalText("File of the profile `Localhost`, below the directory "+
						"`seccomp` of the kubelet.", tf.SubPath()),
				}),
			"privileged": tf.OptionalBool("Whether the main container has all rights of root on the node. Knative " +
				"does not allow it."),
			"allow_privilege_escalation": tf.OptionalBool("Whether a process can gain more rights than its parent."),
			"read_only_root_filesystem":  tf.OptionalBool("Whether the file system of the image is read-only."),
			"capabilities": tf.OptionalObject("Linux capabilities, such as `IPC_LOCK` for RDMA. Without `freeze`, "+
				"Kubetorch's server also has `SYS_PTRACE`.", map[string]schema.Attribute{
				"add":  capabilities("Capabilities to add, without the prefix `CAP_`."),
				"drop": capabilities("Capabilities to drop, or `ALL`."),
			}),
		}),
		"host_network": tf.OptionalBool("Whether the pods use the network of their node, for example for RDMA. Their " +
			"ports are then ports of the node, so a node runs only one of these pods. Names of Services are resolved " +
			"as usual (`dnsPolicy: ClusterFirstWithHostNet`). Defaults to `false`."),
		"restart_triggers": tf.OptionalTextMap("Arbitrary values whose change replaces the pods: `kt_secret.x.keys`, "+
			"or a digest of a ConfigMap. An annotation of the pods contains a SHA-256 digest of the map, never the "+
			"values.", tf.NoNulls()),
	}
}
