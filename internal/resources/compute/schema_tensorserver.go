package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// tensorServerAttributes are the runtime, and what only a tensor server has.
// What items of volume_claim_templates must have is checked by checkRequired,
// for the reason that podAttributes gives.
func tensorServerAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"runtime": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(kind.RuntimeKubetorch),
			Validators: []validator.String{stringvalidator.OneOf(kind.RuntimeKubetorch, kind.RuntimeSkyTorch, kind.RuntimeKPU)},
			MarkdownDescription: "What runs in the container: `kubetorch` (default), or the tensor server of `skytorch` or `kpu`. " +
				"With these two the compute is one `Compute` resource, whose operator makes the StatefulSet, Service and route; it decides what it passes on to the pod, and makes `cpus`, `memory`, `disk_size` and `gpus` limits as well. Changing it replaces the compute.\n\n" +
				"  The versions of SkyTorch's operator that the provider knows leave out `node_selector`, `gpu_type`, `tolerations`, `service_account_name` and mounted `secrets`: the plan warns, and the apply fails with the attribute where the installed operator left it out. " +
				"Keys of Secrets as variables (`secrets[*].env_vars`), and the variables `SKYTORCH_PORT`, `SKYTORCH_HOST` and `SKYTORCH_LOG_LEVEL` (`KPU_…`), work with none and are refused. " +
				"The Compute of KPU, and that of SkyTorch 0.1.0, has no field for any of these, nor for `volumes` and `volume_claim_templates`.",
		},
		"command": words("Command of the container of a tensor server, in place of the image's entrypoint."),
		"args":    words("Arguments of the container of a tensor server, in place of the image's."),
		"volume_claim_templates": schema.ListNestedAttribute{
			Optional: true, Validators: []validator.List{tf.NoNulls()},
			MarkdownDescription: "PersistentVolumeClaims to make for the pod of a tensor server and mount; for claims that exist, see `volumes`. " +
				"Since February 2026 SkyTorch's operator makes and mounts a claim named like the template, which belongs to no compute: computes of one namespace whose templates have the same name share it, and a template named like a `kt_volume` mounts that and takes over its labels. Choose names that are unique in the namespace. Operators before make `<name>-<compute>-0`. " +
				"The claims stay when the compute is destroyed, with their data and size. A larger `size` is applied in place where the claim's storage class lets it grow, and else ignored; any other change but of `mount_path` replaces the compute.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"name":          schema.StringAttribute{Optional: true, Validators: []validator.String{tf.ServiceName()}, MarkdownDescription: "Name of the template; required."},
				"size":          schema.StringAttribute{Optional: true, CustomType: tf.QuantityType{}, PlanModifiers: keepQuantity(), MarkdownDescription: "Size of the claim, such as `100Gi`; required."},
				"mount_path":    schema.StringAttribute{Optional: true, Validators: []validator.String{tf.MountPath()}, MarkdownDescription: "Where it is mounted, an absolute path; required."},
				"storage_class": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.ObjectName()}, MarkdownDescription: "Storage class. Default: the cluster's."},
				"access_mode": schema.StringAttribute{
					Optional: true, Validators: []validator.String{stringvalidator.OneOf("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")},
					MarkdownDescription: "`ReadWriteOnce` (default), `ReadWriteOncePod`, `ReadWriteMany` or `ReadOnlyMany`.",
				},
			}},
		},
	}
}

func words(description string) schema.ListAttribute {
	return schema.ListAttribute{
		Optional: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: []validator.List{listvalidator.SizeAtLeast(1), tf.NoNulls()},
	}
}
