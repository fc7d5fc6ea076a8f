package compute

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// wantsRegistration reports whether a compute is registered with Kubetorch. For a new compute, it returns whether the
// CRD is installed. For an existing one, it returns what the creation or the last refresh found, so that a CRD that is
// installed between a plan and its apply does not change the apply.
func wantsRegistration(ctx context.Context, cluster *kube.Cluster, prior owned.Objects, remembered privateState) bool {
	switch {
	case len(prior) == 0:
		installed, err := cluster.Discovery.Installed(ctx, kind.KubetorchWorkload())
		return installed && err == nil
	case remembered.CRDInstalled != nil:
		return *remembered.CRDInstalled
	default:
		return isRegistered(prior)
	}
}

// rememberCRD records for the next plan whether Kubetorch's CRD is installed, unless that cannot be determined.
func (s *privateState) rememberCRD(ctx context.Context, cluster *kube.Cluster, of *model) {
	installed, err := cluster.Discovery.Installed(ctx, kind.KubetorchWorkload())
	if err == nil && !manifest.RunsTensorServer(of.Runtime.ValueString()) {
		s.CRDInstalled = &installed
	}
}

// planRegistration makes the registration of a new compute unknown if the CRD is not installed, since the same run may
// install it. The apply then sets an object or null. A refresh keeps the null, because its removal would show as a
// change that was made outside of Terraform.
func (p *planner) planRegistration() {
	switch {
	case !p.Creating:
		p.Plan.Manifests = withNulls(p.Plan.Manifests, p.State.Manifests)
	case !isRegistered(p.rendered) && !p.Plan.hasNoVersion():
		p.Plan.Manifests = withElement(p.Plan.Manifests, registrationKey(p.Plan), types.StringUnknown())
	}
}

func registrationKey(m *model) string {
	return manifest.Key(kind.KubetorchWorkload().Named(m.Namespace.ValueString(), m.Name.ValueString()))
}

// addRegistration adds a registration that is unknown in the plan, if the CRD is installed now.
func (w *writer) addRegistration(ctx context.Context, prior, planned owned.Objects) {
	key := registrationKey(w.Plan)
	element, ok := w.Plan.Manifests.Elements()[key]
	if !ok || !element.IsUnknown() || !wantsRegistration(ctx, w.Data.Cluster, owned.Objects{}, privateState{}) {
		return
	}
	if object, ok := w.render(ctx, prior)[key]; ok {
		planned[key] = object
	}
}

// withNulls adds a null to manifests for each null or unknown element of other that manifests lacks.
func withNulls(manifests, other types.Map) types.Map {
	for key, value := range other.Elements() {
		if _, ok := manifests.Elements()[key]; !ok && !isKnown(value) {
			manifests = withElement(manifests, key, types.StringNull())
		}
	}
	return manifests
}

func withElement(manifests types.Map, key string, value attr.Value) types.Map {
	elements := manifests.Elements() // a copy
	elements[key] = value
	return types.MapValueMust(types.StringType, elements)
}
