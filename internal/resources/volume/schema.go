package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const description = `Keeps data for computes: a PersistentVolumeClaim, as Kubetorch's ` + "`kt.Volume`" + ` makes it.

Nothing that would lose the data happens unless it is asked for: what Kubernetes never lets change of a claim is an error of the plan, never a replacement.`

func (r *volumeResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes:          attributes(),
	}
}

func attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true, Validators: []validator.String{tf.ObjectName(), stringvalidator.LengthAtMost(63)},
			MarkdownDescription: "Name of the claim: at most 63 lower-case letters, digits, dashes and dots. It cannot change: the data would be lost, so a plan that changes it is refused.",
		},
		"namespace": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.NamespaceName()},
			MarkdownDescription: "Namespace. If left out, it is found once, at creation, as for `kt_compute`. It cannot change, as `name` cannot.",
		},
		"size": schema.StringAttribute{
			Required: true, CustomType: tf.QuantityType{}, PlanModifiers: []planmodifier.String{tf.KeepSameQuantity()},
			MarkdownDescription: "How much is asked for, such as `100Gi`; what was given is `capacity`. It can grow where the storage class has `allowVolumeExpansion`, and never shrink.",
		},
		"mount_path": schema.StringAttribute{
			Optional: true, Validators: []validator.String{tf.MountPath()},
			MarkdownDescription: "Where computes mount it, an absolute path; it is in `ref`.",
		},
		"access_mode": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{stringvalidator.OneOf(claim.AccessModes()...)},
			MarkdownDescription: "`ReadWriteMany` (default at creation), `ReadWriteOnce`, `ReadOnlyMany` or `ReadWriteOncePod`. It cannot change.",
		},
		"storage_class": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Storage class, `\"\"` for none. If left out, it is chosen when the volume is created, is unknown in the plan, and then kept: for `ReadWriteMany` a class of the NFS or CephFS CSI driver, else the cluster's default class; none with `volume_name`. It cannot change.",
		},
		"volume_name": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.ObjectName()},
			MarkdownDescription: "PersistentVolume to bind, for one that was made by hand. It cannot change.",
		},
		"labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: tf.Labels(),
			MarkdownDescription: "Labels of the claim, over the provider's `default_labels`.",
		},
		"annotations": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.Map{tf.NoNulls(), mapvalidator.KeysAre(tf.LabelKey())},
			MarkdownDescription: "Annotations of the claim, over the provider's `default_annotations`.",
		},
		"wait_for_bound": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "Wait until the claim is bound, and after a change of `size` until the volume has grown. Default: true, but for a class that provides volumes only once a pod needs them (`WaitForFirstConsumer`).",
		},
		"adopt_existing":      toggle("Take over a claim of the same name that exists already, with its data, whoever created it. Default: false, which makes it an error."),
		"deletion_protection": toggle("Refuse to delete or replace the volume until this is set to false and applied. Default: false."),
		"timeouts":            timeoutsAttribute(),

		"id":       computed("`namespace/name`."),
		"uid":      computed("UID of the claim."),
		"phase":    computed("`Bound`, `Pending`, or `Lost` when the PersistentVolume is gone."),
		"capacity": computed("How much the volume really holds; null until it is bound."),
		"volume":   computed("Name of the PersistentVolume that the claim is bound to; null until it is."),
		"ref": schema.SingleNestedAttribute{
			Computed: true, MarkdownDescription: "The volume as an item of a compute's `volumes`.",
			Attributes: map[string]schema.Attribute{
				"claim_name": computed("Name of the claim."),
				"mount_path": computed("`mount_path`."),
				"read_only":  schema.BoolAttribute{Computed: true, MarkdownDescription: "True with `ReadOnlyMany`, else null."},
			},
		},
		"manifests": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The fields that the provider owns of the claim, as JSON by `Kind/namespace/name`: what will be applied, and in a refresh, what they hold now.",
		},
	}
}

// timeoutsAttribute is what [timeouts.Attributes] makes, with validators that
// name the attribute and refuse what is not more than zero.
func timeoutsAttribute() schema.Attribute {
	timeout := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Validators: []validator.String{tf.Timeout()}, MarkdownDescription: description}
	}
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "How long operations may take in all: texts such as `90s` or `1h30m`.",
		CustomType: timeouts.Type{ObjectType: types.ObjectType{AttrTypes: map[string]attr.Type{
			"create": types.StringType, "update": types.StringType, "delete": types.StringType,
		}}},
		Attributes: map[string]schema.Attribute{
			"create": timeout("How long creation may take, until the claim is bound. Default: `10m`."),
			"update": timeout("How long an update may take, until the volume has grown. Default: `10m`."),
			"delete": timeout("How long deletion may take, with the wait for pods that are being deleted. Default: `5m`."),
		},
	}
}

func computed(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func toggle(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: description}
}
