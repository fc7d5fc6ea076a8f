package volume

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// setImmutable sets the attributes that only a new claim can get: from the configuration, from the existing claim,
// or from the defaults.
func (p *planner) setImmutable(ctx context.Context) {
	before := ptr.Deref(p.before,
		model{AccessMode: types.StringValue(claim.DefaultAccessMode), VolumeName: types.StringNull()})
	p.Plan.AccessMode = firstSet(p.Config.AccessMode, before.AccessMode)
	p.Plan.VolumeName = firstSet(p.Config.VolumeName, before.VolumeName)
	if p.before != nil {
		p.Plan.StorageClass = firstSet(p.Config.StorageClass, before.StorageClass)
		return
	}
	p.Plan.StorageClass = p.newClass(ctx)
}

// firstSet returns the configured value, or the other one if it is null.
func firstSet(configured, otherwise types.String) types.String {
	if configured.IsNull() {
		return otherwise
	}
	return configured
}

// newClass returns the storage class of a new claim. It is unknown if it cannot be selected yet. The apply may select
// another class if the same run has installed a driver or marked another class as the default. Therefore the selected
// class is used for the dry run, but unknown in the plan; see setComputed.
func (p *planner) newClass(ctx context.Context) types.String {
	configured := p.Config.StorageClass
	switch {
	case configured.IsUnknown(), p.Plan.AccessMode.IsUnknown(), p.Plan.VolumeName.IsUnknown():
		return firstSet(configured, types.StringUnknown())
	case configured.IsNull() && !p.Plan.VolumeName.IsNull():
		return types.StringValue("") // a manually created PersistentVolume has none
	case !p.Data.Configured():
		return firstSet(configured, types.StringUnknown())
	case configured.Equal(types.StringValue("")):
		return configured
	}
	classes, err := observe.StorageClasses(ctx, p.Data.Cluster.Store)
	if err != nil {
		p.reportListError(err)
		return firstSet(configured, types.StringUnknown())
	}
	p.selectsAtApply = configured.IsNull()
	chosen := claim.Choose(p.Plan.AccessMode.ValueString(), classes)
	if !configured.IsNull() {
		chosen = classNamed(classes, configured.ValueString())
	}
	switch {
	case chosen != nil:
		p.warnAboutClass(chosen, classes)
		return types.StringValue(chosen.Name)
	case !configured.IsNull():
		p.Diags.AddAttributeWarning(path.Root("storage_class"), "The storage class does not exist yet",
			fmt.Sprintf("The cluster has no StorageClass %q. The plan continues, because the same run may create it "+
				"before the volume. Existing classes: %s.", configured.ValueString(), claim.List(classes)))
		return configured
	}
	summary, detail := noClass(p.Plan.AccessMode.ValueString(), classes)
	if claim.Default(classes) != nil {
		p.Diags.AddAttributeError(path.Root("storage_class"), summary, detail)
		return types.StringUnknown()
	}
	p.Diags.AddAttributeWarning(path.Root("storage_class"), summary,
		detail+"\n\nThe plan continues, because the same run may create a class before the volume.")
	return types.StringUnknown()
}

// selectClass selects the storage class that is unknown in the plan. It is null without permission to list classes,
// so that Kubernetes selects one.
func (w writer) selectClass(ctx context.Context) {
	classes, err := observe.StorageClasses(ctx, w.Data.Cluster.Store)
	chosen := claim.Choose(w.Plan.AccessMode.ValueString(), classes)
	switch {
	case kube.ClassOf(err) == kube.Denied:
		w.Plan.StorageClass = types.StringNull()
	case err != nil:
		w.Diags.Append(tf.Failure(err))
	case chosen == nil:
		summary, detail := noClass(w.Plan.AccessMode.ValueString(), classes)
		w.Diags.AddAttributeError(path.Root("storage_class"), summary, detail)
	default:
		w.Plan.StorageClass = types.StringValue(chosen.Name)
	}
}

// noClass explains that no class can be selected: there is no default class, or it cannot share volumes.
func noClass(accessMode string, classes []*storagev1.StorageClass) (summary, detail string) {
	step := "Next step: Create a suitable StorageClass, and set storage_class."
	if candidates := claim.Candidates(accessMode, classes); len(candidates) > 0 {
		step = "Next step: Set storage_class to one of these: " + claim.List(candidates) + "."
	}
	if class := claim.Default(classes); class != nil {
		return "No storage class with shared volumes", fmt.Sprintf(
			"storage_class is not set, and access_mode is %s. Volumes of the default StorageClass %q (provisioner %s) "+
				"can be written from one node at a time, and the cluster has no class of a provisioner that is known "+
				"to share volumes.\n\n%s Alternatively, set access_mode = \"ReadWriteOnce\".",
			accessMode, class.Name, class.Provisioner, step)
	}
	sharing := ""
	if accessMode == claim.DefaultAccessMode {
		sharing = ", nor one of a provisioner that is known to share volumes, which " + accessMode + " requires"
	}
	return "No default storage class", fmt.Sprintf(
		"storage_class is not set, and the cluster has no default StorageClass%s.\n\n%s", sharing, step)
}

func classNamed(classes []*storagev1.StorageClass, name string) *storagev1.StorageClass {
	for _, class := range classes {
		if class.Name == name {
			return class
		}
	}
	return nil
}

// reportListError reports that the classes cannot be listed. Nothing is reported for a configured class, which the
// server-side dry run checks.
func (p *planner) reportListError(err error) {
	if !p.Config.StorageClass.IsNull() {
		return
	}
	switch kube.ClassOf(err) {
	case kube.Denied:
		p.Diags.Append(tf.Warning(err, "The plan continues. Kubernetes selects the default storage class of the "+
			"cluster."))
	case kube.Unreachable, kube.Misconfigured:
		p.Diags.Append(tf.Warning(err, "The plan continues. The storage class is selected at apply, which requires "+
			"the cluster."))
	default:
		p.Diags.Append(tf.Failure(err))
	}
}

// warnAboutClass warns of a class that does not fit the other attributes, or that is one of several.
func (p *planner) warnAboutClass(class *storagev1.StorageClass, classes []*storagev1.StorageClass) {
	accessMode := p.Plan.AccessMode.ValueString()
	if accessMode == claim.DefaultAccessMode && claim.CannotShare(class.Provisioner) {
		p.Diags.AddAttributeWarning(path.Root("access_mode"), "The storage class cannot share volumes between nodes",
			fmt.Sprintf("access_mode is ReadWriteMany, but volumes of StorageClass %q (provisioner %s) can be "+
				"written from one node at a time. The claim may never be bound, or its pods may not start on several "+
				"nodes.\n\n"+
				"Next step: Set storage_class to a class with shared volumes, such as NFS, CephFS or EFS, or set "+
				"access_mode = \"ReadWriteOnce\". Known classes with shared volumes: %s.", class.Name,
				class.Provisioner, claim.List(claim.Sharing(classes))))
	}
	if sharing := claim.Sharing(classes); p.selectsAtApply && len(sharing) > 1 && class == sharing[0] &&
		class != claim.Default(classes) && accessMode == claim.DefaultAccessMode {
		p.Diags.AddAttributeWarning(path.Root("storage_class"), "Several storage classes share volumes",
			fmt.Sprintf("storage_class is not set, and several classes can share volumes: %s. None of them is the "+
				"default class, so the apply selects the first by name, %q.\n\nNext step: Set storage_class.",
				claim.List(sharing), class.Name))
	}
	if p.Plan.WaitForBound.ValueBool() && claim.WaitsForConsumer(class) {
		p.Diags.AddAttributeWarning(path.Root("wait_for_bound"), "wait_for_bound requires a pod that uses the volume",
			fmt.Sprintf("StorageClass %q provides a volume only when a pod uses it. A compute of this configuration "+
				"that uses the volume starts only after the wait.\n\nNext step: Remove wait_for_bound, unless "+
				"another pod uses the volume.", class.Name))
	}
}
