package volume

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

const description = "Manages a PersistentVolumeClaim for the data of computes, like Kubetorch's `kt.Volume`.\n\n" +
	"The provider never replaces a claim that was bound, because the data would be lost. A change of a field that " +
	"Kubernetes does not allow to change is then an error in the plan."

func attributes() map[string]schema.Attribute {
	return lifecycle.WithCommon(map[string]schema.Attribute{
		"name": tf.RequiredText("Name of the claim, of at most 63 lowercase letters, digits, dashes and dots. Cannot "+
			"be changed, because the data would be lost. A plan that changes it fails.",
			tf.ObjectName(), stringvalidator.LengthAtMost(63)),
		"namespace": tf.OptionalComputedText("Namespace of the claim. Defaults to a namespace that is resolved once, "+
			"at creation, like the namespace of `kt_compute`. Cannot be changed, like `name`.", tf.NamespaceName()),
		"size": tf.RequiredQuantity("Requested size, such as `100Gi`. `capacity` is the provided size. Can be "+
			"increased if the storage class has `allowVolumeExpansion`, never decreased.", tf.Bytes(), tf.ClaimSize()),
		"mount_path": tf.OptionalText("Mount path of the volume in computes, passed on by `ref`. Must be an absolute "+
			"path.", tf.MountPath()),
		"access_mode": tf.OptionalComputedText("Access mode: `ReadWriteMany`, `ReadWriteOnce`, `ReadOnlyMany` or "+
			"`ReadWriteOncePod`. Defaults to `ReadWriteMany` at creation. Cannot be changed.",
			stringvalidator.OneOf(claim.AccessModes()...)),
		"storage_class": tf.OptionalComputedText("Storage class, or `\"\"` for none. If not set, it is selected at " +
			"creation, is unknown in the plan, and is then kept. For `ReadWriteMany`, a class that is known to share " +
			"volumes (such as NFS, CephFS or EFS) is selected, otherwise the default class of the cluster, but never " +
			"one of disks. With `volume_name`, none is selected. Cannot be changed."),
		"volume_name": tf.OptionalComputedText("Name of the PersistentVolume to bind, for a volume that was created "+
			"manually. Cannot be changed.", tf.ObjectName()),
		"wait_for_bound": tf.OptionalBool("Whether to wait until the claim is bound, and after a change of `size` " +
			"until the volume is expanded. Defaults to `true`, except for a class that provisions volumes only when " +
			"a pod uses them (`WaitForFirstConsumer`)."),
		"adopt_existing": tf.Toggle("Whether to take over an existing claim of the same name and its data, " +
			"regardless of who created it. Defaults to `false`, in which case an existing claim is an error."),
		"timeouts": lifecycle.TimeoutsAttribute(
			"Timeout of the creation, until the claim is bound. Defaults to `10m`.",
			"Timeout of an update, until the volume is expanded. Defaults to `10m`.",
			"Timeout of the deletion, including the wait for pods that are being deleted. Defaults to `5m`."),

		"phase":             tf.ComputedString("Phase of the claim: `Bound`, `Pending` or `Lost`."),
		"capacity":          tf.ComputedString("Provided capacity of the volume. Null until the claim is bound."),
		"bound_volume_name": tf.ComputedString("Name of the bound PersistentVolume. Null until the claim is bound."),
		"ref": tf.ComputedObject("Reference to the volume, as an item of `volumes` of `kt_compute`. Requires "+
			"`mount_path`.", tf.Attributes{
			"claim_name": tf.ComputedString("Name of the claim."),
			"mount_path": tf.ComputedString("Value of `mount_path`."),
			"read_only":  tf.ComputedBool("`true` for `ReadOnlyMany`, otherwise null."),
		}),
		"manifests": tf.ComputedTextMap("Fields of the claim that the provider owns, as JSON by " +
			"`Kind/namespace/name`. A plan shows the values to apply, a refresh the current values."),
	}, "volume", "the claim", "metadata.annotations[\"example.com/owner\"]")
}
