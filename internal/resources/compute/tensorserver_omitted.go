package compute

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// omittedAttributes returns the attributes that set a field of a Compute's override which the operator omitted.
func (m *model) omittedAttributes(field string) []string {
	name, key, _ := strings.Cut(strings.TrimSuffix(field, "]"), "[")
	var found []string
	for _, r := range rows {
		if r.override == name && r.isSet(m) && (name != "nodeSelector" || m.selectsNodesBy(r.name, key)) {
			found = append(found, r.name)
		}
	}
	if name == "volumes" && len(m.Secrets.Elements()) > 0 {
		found = append(found, "secrets")
	}
	if len(found) == 0 {
		return []string{"service_template"}
	}
	return found
}

// selectsNodesBy reports whether gpu_type or node_selector contains the label.
func (m *model) selectsNodesBy(attribute, label string) bool {
	if attribute == "gpu_type" {
		gpu, err := manifest.ParseGPUType(m.GPUType.ValueString(), "")
		_, other := m.NodeSelector.Elements()[label]
		return err == nil && (gpu.Key == label || gpu.Key == kind.GPUProductLabel && !other)
	}
	_, ok := m.NodeSelector.Elements()[label]
	return ok
}

// omittedErrors returns the errors of a wait that ended because the operator omitted fields: one for each attribute
// that sets them. Any other failure is returned unchanged.
func (m *model) omittedErrors(err error, failure diag.Diagnostic) diag.Diagnostics {
	notReady, ok := errors.AsType[*observe.NotReadyError](err)
	if !ok || notReady.Verdict.Cause == nil || len(notReady.Verdict.Cause.Fields) == 0 {
		return diag.Diagnostics{failure}
	}
	var diags diag.Diagnostics
	fields := map[string][]string{}
	for _, field := range notReady.Verdict.Cause.Fields {
		for _, attribute := range m.omittedAttributes(field) {
			fields[attribute] = append(fields[attribute], field)
		}
	}
	for _, attribute := range slices.Sorted(maps.Keys(fields)) {
		diags.AddAttributeError(path.Root(attribute), "The operator does not apply "+attribute,
			fmt.Sprintf("The pod runs without `%s`: the operator of runtime %q omitted spec.override.%s.\n\n%s",
				attribute, m.Runtime.ValueString(), strings.Join(fields[attribute], ", spec.override."),
				failure.Detail()))
	}
	return diags
}

// warnOfOmitted warns of new values of attributes that no tested version of SkyTorch's operator applies
// (pkg/controllers/statefulset.go of github.com/astefanutti/skytorch at commit 39cbfc9). It is not an error, since
// other versions may apply them. After the apply, the StatefulSet shows which ones are applied.
func (p *planner) warnOfOmitted() {
	m, state := p.Plan, p.State
	if m.Runtime.ValueString() != kind.RuntimeSkyTorch {
		return
	}
	warn := func(at path.Path) {
		p.Diags.AddAttributeWarning(at, "The SkyTorch operator may ignore this attribute",
			fmt.Sprintf("The tested versions of the SkyTorch operator omit %s without an error, and the pod runs "+
				"without it. The apply compares the pod template with the request, and fails if the installed "+
				"operator omits it.", at))
	}
	for _, r := range rows {
		if r.override != "" && r.isSet(m) && !r.value(m).Equal(r.value(state)) {
			warn(path.Root(r.name))
		}
	}
	if m.Secrets.Equal(state.Secrets) {
		return
	}
	for i, element := range m.Secrets.Elements() {
		secret, _ := element.(types.Object)
		if isKnown(memberOf[types.String](secret, "mount_path")) {
			warn(path.Root("secrets").AtListIndex(i).AtName("mount_path"))
		}
	}
}

// hasContent reports whether a value is known and not an empty collection.
func hasContent(value attr.Value) bool {
	switch value := value.(type) {
	case interface{ Elements() map[string]attr.Value }:
		return len(value.Elements()) > 0
	case interface{ Elements() []attr.Value }:
		return len(value.Elements()) > 0
	default:
		return isKnown(value)
	}
}
