package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// tensorServerAttributes are the runtime, and what only a tensor server has.
// What items of volume_claim_templates must have is checked by checkRequired,
// for the reason that podAttributes gives.
func tensorServerAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"runtime": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(manifest.RuntimeKubetorch),
			Validators: []validator.String{stringvalidator.OneOf(manifest.RuntimeKubetorch, manifest.RuntimeSkyTorch, manifest.RuntimeKPU)},
			MarkdownDescription: "What runs in the container: `kubetorch` (default), or the tensor server of `skytorch` or `kpu`. " +
				"With these two the compute is one `Compute` resource, whose operator makes the StatefulSet, Service and route; it decides what it passes on to the pod (SkyTorch's own has been seen to leave out secrets, node selectors and tolerations), and makes `cpus`, `memory`, `disk_size` and `gpus` limits as well. Changing it replaces the compute.",
		},
		"command": words("Command of the container of a tensor server, in place of the image's entrypoint."),
		"args":    words("Arguments of the container of a tensor server, in place of the image's."),
		"volume_claim_templates": schema.ListNestedAttribute{
			Optional: true, Validators: []validator.List{tf.NoNulls()},
			MarkdownDescription: "PersistentVolumeClaims to make for the pod of a tensor server and mount; for claims that exist, see `volumes`. " +
				"Any change but of `mount_path` replaces the compute. The claims, `<name>-<compute>-0`, stay when it is destroyed, with their data and size, and are mounted again under the same names.",
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
