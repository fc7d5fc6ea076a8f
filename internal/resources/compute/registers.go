package compute

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// registers reports whether a compute is registered with Kubetorch. One that exists
// is as the last refresh found out, which an operator that arrives between a plan
// and its apply does not change: the next plan shows it. A new one is where the
// CRD is installed; where that is not known either, nothing can be said.
func registers(ctx context.Context, cluster *kube.Cluster, prior objects, n privateState) bool {
	switch {
	case len(prior) == 0:
		installed, err := cluster.Installed(ctx, kind.KubetorchWorkload())
		return installed && err == nil
	case n.Registers != nil:
		return *n.Registers
	default:
		return prior.registered()
	}
}

// registered reports whether there is a registration among the objects.
func (o objects) registered() bool {
	decoded, err := o.decode()
	if err != nil {
		return false
	}
	for _, obj := range decoded {
		if roleOf(obj) == manifest.RoleRegistration {
			return true
		}
	}
	return false
}

// noteRegistration remembers for the plan whether Kubetorch's CRD is installed,
// unless the refresh failed. What is not known stays as it was.
func (l *reader) noteRegistration(ctx context.Context, refreshed error) error {
	if refreshed != nil {
		return refreshed
	}
	installed, err := l.Data.Cluster.Installed(ctx, kind.KubetorchWorkload())
	if err == nil && !manifest.RunsTensorServer(l.State.Runtime.ValueString()) {
		l.PrivateState.Registers = &installed
	}
	return nil
}

// leaveRegistration leaves open in the plan of a new compute whether it is
// registered, while the CRD is not installed: the same run may install it. The
// apply then finds an object, or null. A refresh removes that.
func (p *planner) leaveRegistration() {
	switch {
	case p.Plan.Manifests.IsUnknown():
	case !p.Creating:
		p.Plan.Manifests = withNulls(p.Plan.Manifests, p.State.Manifests)
	case !p.rendered.registered() && !manifest.RunsTensorServer(p.Plan.Runtime.ValueString()):
		p.Plan.Manifests = withElement(p.Plan.Manifests, registrationKey(p.Plan), types.StringUnknown())
	}
}

func registrationKey(m *model) string {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(manifest.RegistrationKind())
	obj.SetNamespace(m.Namespace.ValueString())
	obj.SetName(m.Name.ValueString())
	return manifest.Key(obj)
}

// decideRegistration adds the registration that the plan left open, where the
// CRD is installed by now.
func (w *writer) decideRegistration(ctx context.Context, prior, planned objects) {
	key := registrationKey(w.Plan)
	open, ok := w.Plan.Manifests.Elements()[key]
	if !ok || !open.IsUnknown() || !registers(ctx, w.Data.Cluster, objects{}, privateState{}) {
		return
	}
	if text, ok := w.render(ctx, prior)[key]; ok {
		planned[key] = text
	}
}

// withNulls adds to manifests what another value has as null, or left open.
func withNulls(manifests, other types.Map) types.Map {
	for key, value := range other.Elements() {
		if _, ok := manifests.Elements()[key]; !ok && (value.IsNull() || value.IsUnknown()) {
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
