package volume

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
)

// onPurpose is how to do what loses the data. A plan with -replace comes to the
// same error first, and so does a destroy that refreshes, since that begins with
// a plan too.
const onPurpose = "To keep the data, put the value back; or add another kt_volume beside this one, copy the data there, and take this one out.\n" +
	"To give the data up on purpose, destroy the volume first (with deletion_protection = false applied), then apply again:\n" +
	"  terraform destroy -refresh=false -target=ADDRESS"

// keep refuses what Kubernetes never lets change of a claim: another claim in
// its place would have none of the data.
func (p *planner) keep() {
	if p.before == nil {
		return
	}
	for _, fixed := range []struct {
		attribute, what string
		before, after   types.String
	}{
		{"name", "name", p.before.Name, p.Plan.Name},
		{"namespace", "namespace", p.before.Namespace, p.Plan.Namespace},
		{"access_mode", "access mode", p.before.AccessMode, p.Plan.AccessMode},
		{"storage_class", "storage class", p.before.StorageClass, p.Plan.StorageClass},
		{"volume_name", "PersistentVolume", p.before.VolumeName, p.Plan.VolumeName},
	} {
		at := path.Root(fixed.attribute)
		unchanged := fixed.after.Equal(fixed.before)
		if fixed.attribute == "volume_name" {
			// Setting the name of the bound PersistentVolume changes nothing.
			unchanged = unchanged || fixed.after.Equal(p.before.BoundVolumeName)
		}
		if unchanged || fixed.after.IsUnknown() {
			continue
		}
		if p.empty() {
			p.Replace = append(p.Replace, at)
			continue
		}
		p.Diags.AddAttributeError(at, "The data of the volume would be lost",
			fmt.Sprintf("%s has the %s %s, and Kubernetes never lets that change to %s. Another claim in its place would be empty, so this plan is refused.\n\n%s",
				p.before.claimRef(), fixed.what, quoted(fixed.before), quoted(fixed.after), onPurpose))
	}
}

// empty says whether the claim in state has never been bound, and so holds no
// data: another one in its place loses nothing. Delete makes sure that it still
// is not bound.
func (p *planner) empty() bool {
	return !p.Creating && p.State.Phase.ValueString() == string(corev1.ClaimPending)
}

func quoted(text types.String) string {
	if text.IsNull() {
		return "(none)"
	}
	return fmt.Sprintf("%q", text.ValueString())
}

// resize refuses sizes that the claim can never have. It decides from the
// numbers: what the server says to them differs by its version.
func (p *planner) resize(ctx context.Context) {
	if p.before == nil {
		return
	}
	if p.Plan.Size.IsUnknown() {
		p.resizes = true // perhaps: what is said to stay must stay
		return
	}
	wanted, err := manifest.ParseQuantity(p.Plan.Size.ValueString())
	asked, askedErr := manifest.ParseQuantity(p.before.Size.ValueString())
	if err != nil || askedErr != nil {
		return // reported where it is rendered
	}
	var given *resource.Quantity
	if text := p.before.Capacity; !text.IsNull() {
		if capacity, err := manifest.ParseQuantity(text.ValueString()); err == nil {
			given = &capacity
		}
	}
	ref := p.before.claimRef()
	refuse := func(summary, format string, args ...any) {
		p.Diags.AddAttributeError(path.Root("size"), summary, fmt.Sprintf(format, args...))
	}
	switch claim.Compare(wanted, asked, given) {
	case claim.Same:
	case claim.Shrink:
		refuse("A volume cannot shrink", "%s asks for %s and holds %s, and Kubernetes makes no volume smaller than it is: %s is refused.\n\nSet size = %q. %s",
			ref, asked.String(), given.String(), wanted.String(), asked.String(), onPurpose)
	case claim.Unbound:
		if p.empty() {
			p.Replace = append(p.Replace, path.Root("size"))
			return
		}
		refuse("The claim is not bound yet", "%s asks for %s, and Kubernetes changes the size of bound claims only. Start what uses the volume first, or put size back to %q.",
			ref, asked.String(), asked.String())
	case claim.Lower:
		p.resizes = true
	case claim.Grow:
		p.resizes = true
		if why := p.cannotGrow(ctx); why != "" {
			refuse("The volume cannot grow", "%s has %s and cannot grow to %s: %s\n\nSet size = %q, or add a larger kt_volume beside this one and copy the data there.",
				ref, asked.String(), wanted.String(), why, asked.String())
		}
	}
}

// cannotGrow says why the claim's class lets no volume grow, "" where it does or
// where that is not known.
func (p *planner) cannotGrow(ctx context.Context) string {
	name := p.before.StorageClass.ValueString()
	if name == "" {
		return "it has no storage class, and Kubernetes grows only volumes that a class has provided."
	}
	if !p.Data.Configured() {
		return ""
	}
	class, err := p.Data.Cluster.StorageClassNamed(ctx, name)
	switch {
	case kube.IsNotFound(err):
		return fmt.Sprintf("its StorageClass %q does not exist any more, and the class is what allows it.", name)
	case err == nil && !claim.Grows(class):
		return fmt.Sprintf("its StorageClass %q does not have allowVolumeExpansion. If its provisioner %s can do it, whoever runs the cluster can allow it:\n"+
			"  kubectl patch storageclass %s -p '{\"allowVolumeExpansion\":true}'", name, class.Provisioner, name)
	}
	return ""
}
