package compute

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// droppedAttributes are the attributes whose part of a Compute's override an operator left out.
func (m *model) droppedAttributes(field string) []string {
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

// selectsNodesBy reports whether gpu_type or node_selector has the label.
func (m *model) selectsNodesBy(attribute, label string) bool {
	if attribute == "gpu_type" {
		key, _, err := manifest.ParseGPUType(m.GPUType.ValueString())
		return err == nil && key == label
	}
	_, ok := m.NodeSelector.Elements()[label]
	return ok
}

// atDropped places the error of a wait that ended because the operator left out fields: one at each attribute that they
// were rendered from. Any other error stays as it is.
func (m *model) atDropped(err error, failure diag.Diagnostic) diag.Diagnostics {
	notReady, ok := errors.AsType[*observe.NotReadyError](err)
	if !ok || notReady.Verdict.Cause == nil || len(notReady.Verdict.Cause.Fields) == 0 {
		return diag.Diagnostics{failure}
	}
	var diags diag.Diagnostics
	fields := map[string][]string{}
	for _, field := range notReady.Verdict.Cause.Fields {
		for _, attribute := range m.droppedAttributes(field) {
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

// warnOfDropped warns of new values of attributes that no version of SkyTorch's operator applies, as far as
// its source was read (pkg/controllers/statefulset.go of github.com/astefanutti/skytorch at commit 39cbfc9).
// One that does makes the warning wrong, so it is no error: after the apply, the StatefulSet tells.
func warnOfDropped(ctx context.Context, state, m *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if m.Runtime.ValueString() != kind.RuntimeSkyTorch {
		return diags
	}
	warn := func(at path.Path) {
		diags.AddAttributeWarning(at, "The SkyTorch operator may ignore this attribute",
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
		return diags
	}
	for i, secret := range tf.Items[secretModel](ctx, m.Secrets) {
		if isGiven(secret.MountPath) {
			warn(path.Root("secrets").AtListIndex(i).AtName("mount_path"))
		}
	}
	return diags
}

// isFilled reports whether a value is given and is more than an empty
// collection.
func isFilled(value attr.Value) bool {
	switch value := value.(type) {
	case interface{ Elements() map[string]attr.Value }:
		return len(value.Elements()) > 0
	case interface{ Elements() []attr.Value }:
		return len(value.Elements()) > 0
	default:
		return isGiven(value)
	}
}
