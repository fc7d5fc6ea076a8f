package volume

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
)

// dataLossHint explains how to keep or delete the data. Without -refresh=false, a destroy starts with a plan, which
// returns the same error. So does a plan with -replace.
const dataLossHint = "To keep the data, restore the value. Alternatively, add another kt_volume, copy the data to " +
	"it, and remove this one.\n" +
	"To delete the data, first apply deletion_protection = false with the old value if the volume is protected. " +
	"Then destroy it, set the new value, and apply again:\n" +
	"  terraform destroy -refresh=false -target=ADDRESS"

// checkImmutable rejects changes of immutable fields of a claim, because a new claim would not contain the data.
func (p *planner) checkImmutable() {
	if p.before == nil {
		return
	}
	for _, field := range []struct {
		attribute, noun string
		before, after   types.String
	}{
		{"name", "name", p.before.Name, p.Plan.Name},
		{"namespace", "namespace", p.before.Namespace, p.Plan.Namespace},
		{"access_mode", "access mode", p.before.AccessMode, p.Plan.AccessMode},
		{"storage_class", "storage class", p.before.StorageClass, p.Plan.StorageClass},
		{"volume_name", "PersistentVolume", p.before.VolumeName, p.Plan.VolumeName},
	} {
		at := path.Root(field.attribute)
		unchanged := field.after.Equal(field.before)
		if field.attribute == "volume_name" {
			// Setting the name of the bound PersistentVolume changes nothing.
			unchanged = unchanged || field.after.Equal(p.before.BoundVolumeName)
		}
		switch {
		case unchanged:
		case p.mayReplace(field.after):
			p.Replace = append(p.Replace, at)
		case !field.after.IsUnknown():
			p.Diags.AddAttributeError(at, "The data of the volume would be lost",
				fmt.Sprintf("%s has the %s %s, which is immutable and cannot be changed to %s. A new claim would be "+
					"empty. Therefore this plan is rejected.\n\n%s",
					p.before.claimRef(), field.noun, quoted(field.before), quoted(field.after), dataLossHint))
		}
	}
}

// isEmpty reports whether the claim in state has never been bound and therefore contains no data, so that it can be
// replaced. Delete checks that it is still not bound.
func (p *planner) isEmpty() bool {
	return !p.Creating && p.State.Phase.ValueString() == string(corev1.ClaimPending)
}

// mayReplace reports whether a change to a value replaces the claim. An unknown value also does, because an apply
// cannot replace what the plan updates. But it may turn out to be the same, and a protected volume is never replaced.
func (p *planner) mayReplace(value attr.Value) bool {
	return p.isEmpty() && !(value.IsUnknown() && p.State.DeletionProtection.ValueBool())
}

func quoted(text types.String) string {
	if text.IsNull() {
		return "(none)"
	}
	return fmt.Sprintf("%q", text.ValueString())
}

// resize rejects sizes that the claim cannot have. It compares the numbers, because the responses of servers depend
// on their version.
func (p *planner) resize(ctx context.Context) {
	if p.before == nil {
		return
	}
	if p.Plan.Size.IsUnknown() {
		if p.mayReplace(p.Plan.Size) {
			p.Replace = append(p.Replace, path.Root("size"))
			return
		}
		p.resizes = true // possibly: then the status changes, and must be unknown in the plan
		return
	}
	wanted, err := manifest.ParseQuantity(p.Plan.Size.ValueString())
	requested, requestedErr := manifest.ParseQuantity(p.before.Size.ValueString())
	if err != nil || requestedErr != nil {
		return // render reports the error
	}
	var capacity *resource.Quantity // nil until the claim is bound
	if parsed, err := manifest.ParseQuantity(p.before.Capacity.ValueString()); err == nil {
		capacity = &parsed
	}
	ref := p.before.claimRef()
	reject := func(summary, format string, args ...any) {
		p.Diags.AddAttributeError(path.Root("size"), summary, fmt.Sprintf(format, args...))
	}
	switch claim.Compare(wanted, requested, capacity) {
	case claim.Same:
	case claim.Shrink:
		reject("A volume cannot shrink",
			"%s requests %s and has %s. Kubernetes cannot reduce the size of a volume to %s."+
				"\n\nNext step: Set size = %q. %s",
			ref, requested.String(), capacity.String(), wanted.String(), requested.String(), dataLossHint)
	case claim.Unbound:
		if p.isEmpty() {
			p.Replace = append(p.Replace, path.Root("size"))
			return
		}
		reject("The claim is not bound yet", "%s requests %s. Kubernetes can only change the size of bound claims."+
			"\n\nNext step: Start a pod that uses the volume first, or restore size = %q.",
			ref, requested.String(), requested.String())
	case claim.Lower:
		p.resizes = true
	case claim.Grow:
		p.resizes = true
		if reason := p.cannotGrow(ctx); reason != "" {
			reject("The volume cannot grow",
				"%s has %s and cannot grow to %s: %s\n\nNext step: Set size = %q, or add a larger kt_volume and "+
					"copy the data to it.",
				ref, requested.String(), wanted.String(), reason, requested.String())
		}
	}
}

// cannotGrow returns the reason why volumes of the claim's class cannot grow, or "" if they can or if this is
// unknown.
func (p *planner) cannotGrow(ctx context.Context) string {
	name := p.before.StorageClass.ValueString()
	if name == "" {
		return "it has no storage class, and only volumes of a class with allowVolumeExpansion can grow."
	}
	if !p.Data.Configured() {
		return ""
	}
	class, err := observe.StorageClassNamed(ctx, p.Data.Cluster, name)
	switch {
	case kube.IsNotFound(err):
		return fmt.Sprintf("its StorageClass %q no longer exists, and only a class can allow this.", name)
	case err == nil && !claim.Grows(class):
		return fmt.Sprintf("its StorageClass %q does not have allowVolumeExpansion. If its provisioner %s supports "+
			"it, a cluster administrator can allow it:\n"+
			"  kubectl patch storageclass %s -p '{\"allowVolumeExpansion\":true}'", name, class.Provisioner, name)
	}
	return ""
}
