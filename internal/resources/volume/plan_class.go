package volume

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// decide fills in what a claim can be given only once: as configured, else as it
// has it, else as a new one gets it.
func (p *planner) decide(ctx context.Context) {
	before := model{AccessMode: types.StringValue(claim.DefaultAccessMode), VolumeName: types.StringNull()}
	if p.before != nil {
		before = *p.before
	}
	p.Plan.AccessMode = either(p.Config.AccessMode, before.AccessMode)
	p.Plan.VolumeName = either(p.Config.VolumeName, before.VolumeName)
	if p.before != nil {
		p.Plan.StorageClass = either(p.Config.StorageClass, before.StorageClass)
		return
	}
	p.Plan.StorageClass = p.newClass(ctx)
}

func either(configured, otherwise types.String) types.String {
	if configured.IsNull() {
		return otherwise
	}
	return configured
}

// newClass is the storage class of a new claim; unknown where it cannot be
// chosen yet. One that the provider chooses may be another at apply, when the
// same run has installed a driver or marked another class as the default: it is
// what the dry run is asked about, and open in the plan.
func (p *planner) newClass(ctx context.Context) types.String {
	given := p.Config.StorageClass
	switch {
	case given.IsUnknown(), p.Plan.AccessMode.IsUnknown(), p.Plan.VolumeName.IsUnknown():
		return either(given, types.StringUnknown())
	case given.IsNull() && !p.Plan.VolumeName.IsNull():
		return types.StringValue("") // a PersistentVolume made by hand has none
	case !p.Data.Configured():
		return either(given, types.StringUnknown())
	case given.Equal(types.StringValue("")):
		return given
	}
	classes, err := p.Data.Cluster.StorageClasses(ctx)
	if err != nil {
		p.classesUnknown(err)
		return either(given, types.StringUnknown())
	}
	p.choosesLater = given.IsNull()
	chosen := claim.Choose(p.Plan.AccessMode.ValueString(), classes)
	if !given.IsNull() {
		chosen = named(classes, given.ValueString())
	}
	switch {
	case chosen != nil:
		p.caution(chosen)
		return types.StringValue(chosen.Name)
	case !given.IsNull():
		p.Diags.AddAttributeWarning(path.Root("storage_class"), "The storage class does not exist yet",
			fmt.Sprintf("The cluster has no StorageClass %q. The plan stands if the same run creates it before the volume. There are: %s.", given.ValueString(), claim.List(classes)))
		return given
	}
	p.Diags.AddAttributeWarning(path.Root("storage_class"), "No storage class to choose",
		noClass(p.Plan.AccessMode, classes)+"\n\nThe plan stands if the same run creates a class before the volume.")
	return types.StringUnknown()
}

// leaveClass leaves open what the apply chooses.
func (p *planner) leaveClass() {
	if p.choosesLater {
		p.Plan.StorageClass, p.Plan.Manifests = types.StringUnknown(), types.MapUnknown(types.StringType)
	}
}

// chooseClass chooses the storage class that the plan left open; null where the
// classes may not be listed, so that Kubernetes chooses.
func (w writer) chooseClass(ctx context.Context) {
	classes, err := w.Data.Cluster.StorageClasses(ctx)
	chosen := claim.Choose(w.Plan.AccessMode.ValueString(), classes)
	switch {
	case kube.ClassOf(err) == kube.Denied:
		w.Plan.StorageClass = types.StringNull()
	case err != nil:
		w.Diags.Append(tf.Failure(err))
	case chosen == nil:
		w.Diags.AddAttributeError(path.Root("storage_class"), "No storage class to choose", noClass(w.Plan.AccessMode, classes))
	default:
		w.Plan.StorageClass = types.StringValue(chosen.Name)
	}
}

func noClass(accessMode types.String, classes []*storagev1.StorageClass) string {
	return fmt.Sprintf("storage_class is not set, and the cluster has no default StorageClass%s. Set storage_class to one of these: %s.",
		sharing(accessMode), claim.List(classes))
}

func named(classes []*storagev1.StorageClass, name string) *storagev1.StorageClass {
	for _, class := range classes {
		if class.Name == name {
			return class
		}
	}
	return nil
}

// sharing adds to a message what else was looked for.
func sharing(accessMode types.String) string {
	if accessMode.ValueString() != claim.DefaultAccessMode {
		return ""
	}
	return ", nor one of the NFS or CephFS CSI driver for " + claim.DefaultAccessMode
}

// classesUnknown says that the classes could not be asked for. The dry run
// reports this too where a class is given.
func (p *planner) classesUnknown(err error) {
	if !p.Config.StorageClass.IsNull() {
		return
	}
	switch kube.ClassOf(err) {
	case kube.Denied:
		p.Diags.Append(tf.Warning(err, "The plan stands, but Kubernetes chooses the storage class: the cluster's default one."))
	case kube.Unreachable, kube.Misconfigured:
		p.Diags.Append(tf.Warning(err, "The plan stands, but the storage class is chosen at apply, which needs the cluster."))
	default:
		p.Diags.Append(tf.Failure(err))
	}
}

// caution warns of a class that does not go with what is asked of it.
func (p *planner) caution(class *storagev1.StorageClass) {
	if p.Plan.AccessMode.ValueString() == claim.DefaultAccessMode && claim.CannotShare(class.Provisioner) {
		p.Diags.AddAttributeWarning(path.Root("access_mode"), "The storage class cannot share volumes between nodes",
			fmt.Sprintf("access_mode is ReadWriteMany, but volumes of StorageClass %q (provisioner %s) can be written from one node at a time: the claim may never be bound, or its pods may not start on several nodes. "+
				"Set storage_class to one that shares volumes, such as of NFS or CephFS, or access_mode = \"ReadWriteOnce\".", class.Name, class.Provisioner))
	}
	if p.Plan.WaitForBound.ValueBool() && claim.WaitsForConsumer(class) {
		p.Diags.AddAttributeWarning(path.Root("wait_for_bound"), "The wait needs a pod from elsewhere",
			fmt.Sprintf("StorageClass %q provides a volume once a pod needs it. A compute of this configuration that uses the volume starts only after the wait: leave wait_for_bound out, unless something else uses it.", class.Name))
	}
}
