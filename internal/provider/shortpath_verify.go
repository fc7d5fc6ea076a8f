package provider

import (
	"context"
	"fmt"
	"maps"
	"reflect"
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
	return differences("upgrade of the state", framework.Diagnostics, map[string]bool{
		"state": s.equal(ctx, resourceType, framework.UpgradedState, short.UpgradedState),
	})
}

func (s *server) verifyRead(
	ctx context.Context, resourceType string, framework, short *tfprotov6.ReadResourceResponse,
) []*tfprotov6.Diagnostic {
	return differences("refresh", framework.Diagnostics, map[string]bool{
		"state":         s.equal(ctx, resourceType, framework.NewState, short.NewState),
		"private state": equalPrivate(framework.Private, short.Private),
		"identity":      equalIdentity(framework.NewIdentity, short.NewIdentity),
		"deferral":      framework.Deferred == nil,
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
	return differences("plan", framework.Diagnostics, map[string]bool{
		"state":               s.equal(ctx, resourceType, framework.PlannedState, short.PlannedState),
		"private state":       equalPrivate(framework.PlannedPrivate, short.PlannedPrivate),
		"identity":            equalIdentity(framework.PlannedIdentity, short.PlannedIdentity),
		"reasons to replace":  len(framework.RequiresReplace) == 0,
		"reason for deferral": framework.Deferred == nil,
	})
}

// differences reports diagnostics of the framework, and parts of the responses that are not equal.
func differences(
	request string, framework []*tfprotov6.Diagnostic, equal map[string]bool,
) []*tfprotov6.Diagnostic {
	var found []string
	for _, part := range slices.Sorted(maps.Keys(equal)) {
		if !equal[part] {
			found = append(found, "the "+part+" differs")
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

func (s *server) equal(ctx context.Context, resourceType string, a, b *tfprotov6.DynamicValue) bool {
	typ, ok := s.typeOf(ctx, resourceType)
	return ok && equalValues(typ, a, b)
}

func equalValues(typ tftypes.Type, a, b *tfprotov6.DynamicValue) bool {
	if a == nil || b == nil {
		return a == b
	}
	first, err := a.Unmarshal(typ)
	if err != nil {
		return false
	}
	second, err := b.Unmarshal(typ)
	return err == nil && first.Equal(second)
}

func equalIdentity(a, b *tfprotov6.ResourceIdentityData) bool {
	if a == nil || b == nil {
		return a == b
	}
	return equalValues(identityType(), a.IdentityData, b.IdentityData)
}

func equalPrivate(a, b []byte) bool {
	first, ok := privateState(a)
	second, also := privateState(b)
	return ok && also && (len(first) == 0 && len(second) == 0 || reflect.DeepEqual(first, second))
}
