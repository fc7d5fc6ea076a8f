package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The functions in this file compare a response of the framework with that of the short path, and return an error if
// the two differ. The acceptance tests run with KT_SHORT_PATH=verify.

func verifyValid(framework *tfprotov6.ValidateResourceConfigResponse) []*tfprotov6.Diagnostic {
	return differences("validation", framework.Diagnostics, nil)
}

func (s *server) verifyUpgraded(
	ctx context.Context, resourceType string, framework, short *tfprotov6.UpgradeResourceStateResponse,
) []*tfprotov6.Diagnostic {
	return differences("upgrade of the state", framework.Diagnostics, map[string][]string{
		"state": s.differing(ctx, resourceType, framework.UpgradedState, short.UpgradedState),
	})
}

func (s *server) verifyRead(
	ctx context.Context, resourceType string, framework, short *tfprotov6.ReadResourceResponse,
) []*tfprotov6.Diagnostic {
	return differences("refresh", framework.Diagnostics, map[string][]string{
		"state":         s.differing(ctx, resourceType, framework.NewState, short.NewState),
		"private state": differingPrivate(framework.Private, short.Private),
		"identity":      differingIdentity(framework.NewIdentity, short.NewIdentity),
		"deferral":      whole(framework.Deferred == nil),
	})
}

func (s *server) verifyPlan(
	ctx context.Context, resourceType string, framework, short *tfprotov6.PlanResourceChangeResponse,
) []*tfprotov6.Diagnostic {
	name := tftypes.NewAttributePath().WithAttributeName("name")
	isConflict := func(d *tfprotov6.Diagnostic) bool { return name.Equal(d.Attribute) }
	if slices.ContainsFunc(framework.Diagnostics, isConflict) {
		return nil // a conflict with another resource of the run, which is not recorded in this mode
	}
	return differences("plan", framework.Diagnostics, map[string][]string{
		"state":               s.differing(ctx, resourceType, framework.PlannedState, short.PlannedState),
		"private state":       differingPrivate(framework.PlannedPrivate, short.PlannedPrivate),
		"identity":            differingIdentity(framework.PlannedIdentity, short.PlannedIdentity),
		"reasons to replace":  whole(len(framework.RequiresReplace) == 0),
		"reason for deferral": whole(framework.Deferred == nil),
	})
}

// confirmed returns the differences if the short path gives its response again. Otherwise, the cluster changed after
// the first response, so that the framework has seen another state than the short path: a pod became ready.
func confirmed(differences []*tfprotov6.Diagnostic, again func() bool) []*tfprotov6.Diagnostic {
	if len(differences) == 0 || !again() {
		return nil
	}
	return differences
}

// differences reports diagnostics of the framework, and parts of the responses that are not equal: differing contains
// the names of what differs in each part, but no values, which may be secret.
func differences(
	request string, framework []*tfprotov6.Diagnostic, differing map[string][]string,
) []*tfprotov6.Diagnostic {
	var found []string
	for _, part := range slices.Sorted(maps.Keys(differing)) {
		if names := slices.Sorted(slices.Values(differing[part])); len(names) > 0 {
			found = append(found, strings.TrimSpace("the "+part+" differs "+strings.Join(names, " ")))
		}
	}
	for _, one := range framework {
		found = append(found, fmt.Sprintf("the framework reports %q", one.Summary))
	}
	if len(found) == 0 {
		return nil
	}
	return []*tfprotov6.Diagnostic{{
		Severity: tfprotov6.DiagnosticSeverityError,
		Summary:  "The short path gives another response",
		Detail: fmt.Sprintf("The short path changes nothing in the %s, but the framework does: %s. This is a bug in "+
			"the provider.\n\nNext step: Set KT_SHORT_PATH=off, and report it to the developers of the provider.",
			request, strings.Join(found, ", ")),
	}}
}

func (s *server) differing(ctx context.Context, resourceType string, a, b *tfprotov6.DynamicValue) []string {
	typ, ok := s.typeOf(ctx, resourceType)
	if !ok {
		return whole(false)
	}
	return differingValues(typ, a, b)
}

// whole is what differs in a part of which no details are reported.
func whole(equal bool) []string {
	if equal {
		return nil
	}
	return []string{""}
}

// differingValues returns the paths at which two values differ.
func differingValues(typ tftypes.Type, a, b *tfprotov6.DynamicValue) []string {
	if a == nil || b == nil {
		return whole(a == b)
	}
	first, err := a.Unmarshal(typ)
	if err != nil {
		return whole(false)
	}
	second, err := b.Unmarshal(typ)
	if err != nil {
		return whole(false)
	}
	diffs, err := first.Diff(second)
	if err != nil {
		return whole(false)
	}
	var paths []string
	for _, diff := range diffs {
		paths = append(paths, diff.Path.String())
	}
	return paths
}

func differingIdentity(a, b *tfprotov6.ResourceIdentityData) []string {
	if a == nil || b == nil {
		return whole(a == b)
	}
	return differingValues(identityType(), a.IdentityData, b.IdentityData)
}

// differingPrivate returns the keys of private state that differ.
func differingPrivate(a, b []byte) []string {
	first, ok := privateState(a)
	second, also := privateState(b)
	if !ok || !also {
		return whole(false)
	}
	var keys []string
	for key, value := range first {
		if other, ok := second[key]; !ok || !slices.Equal(value, other) {
			keys = append(keys, key)
		}
	}
	for key := range second {
		if _, ok := first[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}
