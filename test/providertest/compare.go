// Package providertest serves the provider for tests, with a comparison of its short path and the framework.
package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	fwprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/provider"
)

// NewServer is like [provider.NewServer], but the framework and the short path both handle each request, and it is an
// error if their responses differ.
func NewServer(p fwprovider.Provider) tfprotov6.ProviderServer {
	c := &comparer{}
	c.server = provider.NewComparingServer(p, c.compare)
	return c.server
}

// comparer compares responses of the framework with those of the short path.
type comparer struct {
	server tfprotov6.ProviderServer

	types     map[string]tftypes.Type // of the resources
	typesOnce sync.Once
}

// compare adds an error to the response of the framework if the short path gives another one.
func (c *comparer) compare(ctx context.Context, req, framework, short any, again func() (framework, short any)) {
	switch framework := framework.(type) {
	case *tfprotov6.ValidateResourceConfigResponse:
		framework.Diagnostics = append(framework.Diagnostics, differences("validation", framework.Diagnostics, nil)...)
	case *tfprotov6.UpgradeResourceStateResponse:
		req, _ := req.(*tfprotov6.UpgradeResourceStateRequest)
		short, _ := short.(*tfprotov6.UpgradeResourceStateResponse)
		framework.Diagnostics = append(framework.Diagnostics,
			differences("upgrade of the state", framework.Diagnostics, map[string][]string{
				"state": c.differing(ctx, req.TypeName, framework.UpgradedState, short.UpgradedState),
			})...)
	case *tfprotov6.ReadResourceResponse:
		req, _ := req.(*tfprotov6.ReadResourceRequest)
		short, _ := short.(*tfprotov6.ReadResourceResponse)
		found := c.compareRead(ctx, req.TypeName, framework, short)
		if len(found) > 0 {
			found = c.readAgain(ctx, req.TypeName, again)
		}
		framework.Diagnostics = append(framework.Diagnostics, found...)
	case *tfprotov6.PlanResourceChangeResponse:
		req, _ := req.(*tfprotov6.PlanResourceChangeRequest)
		short, _ := short.(*tfprotov6.PlanResourceChangeResponse)
		found := c.comparePlan(ctx, req.TypeName, framework, short)
		if len(found) > 0 && !plansAgain(again) {
			found = nil
		}
		framework.Diagnostics = append(framework.Diagnostics, found...)
	}
}

// readAgain returns what differs if both read again: nothing if the cluster changed between the first two responses,
// because a pod became ready, and also nothing if one has no response, because it changes just now.
func (c *comparer) readAgain(
	ctx context.Context, resourceType string, again func() (framework, short any),
) []*tfprotov6.Diagnostic {
	newFramework, newShort := again()
	framework, _ := newFramework.(*tfprotov6.ReadResourceResponse)
	short, _ := newShort.(*tfprotov6.ReadResourceResponse)
	if framework == nil || short == nil {
		return nil
	}
	return c.compareRead(ctx, resourceType, framework, short)
}

// plansAgain reports whether the short path gives a response again. The new response of the framework cannot be
// compared: it is a conflict with its first one, as if two resources of the run had the same name.
func plansAgain(again func() (framework, short any)) bool {
	_, newShort := again()
	short, _ := newShort.(*tfprotov6.PlanResourceChangeResponse)
	return short != nil
}

func (c *comparer) compareRead(
	ctx context.Context, resourceType string, framework, short *tfprotov6.ReadResourceResponse,
) []*tfprotov6.Diagnostic {
	return differences("refresh", framework.Diagnostics, map[string][]string{
		"state":         c.differing(ctx, resourceType, framework.NewState, short.NewState),
		"private state": differingPrivate(framework.Private, short.Private),
		"identity":      differingIdentity(framework.NewIdentity, short.NewIdentity),
		"deferral":      whole(framework.Deferred == nil),
	})
}

func (c *comparer) comparePlan(
	ctx context.Context, resourceType string, framework, short *tfprotov6.PlanResourceChangeResponse,
) []*tfprotov6.Diagnostic {
	name := tftypes.NewAttributePath().WithAttributeName("name")
	isConflict := func(d *tfprotov6.Diagnostic) bool { return name.Equal(d.Attribute) }
	if slices.ContainsFunc(framework.Diagnostics, isConflict) {
		return nil // a conflict with another resource of the run, which the short path does not record here
	}
	return differences("plan", framework.Diagnostics, map[string][]string{
		"state":               c.differing(ctx, resourceType, framework.PlannedState, short.PlannedState),
		"private state":       differingPrivate(framework.PlannedPrivate, short.PlannedPrivate),
		"identity":            differingIdentity(framework.PlannedIdentity, short.PlannedIdentity),
		"reasons to replace":  whole(len(framework.RequiresReplace) == 0),
		"reason for deferral": whole(framework.Deferred == nil),
	})
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

func (c *comparer) differing(ctx context.Context, resourceType string, a, b *tfprotov6.DynamicValue) []string {
	c.typesOnce.Do(func() {
		c.types = map[string]tftypes.Type{}
		if resp, err := c.server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{}); err == nil {
			for name, schema := range resp.ResourceSchemas {
				c.types[name] = schema.ValueType()
			}
		}
	})
	if typ, ok := c.types[resourceType]; ok {
		return differingValues(typ, a, b)
	}
	return whole(false)
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
	identity := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String,
		"namespace": tftypes.String}}
	return differingValues(identity, a.IdentityData, b.IdentityData)
}

// differingPrivate returns the keys of private state that differ.
func differingPrivate(a, b []byte) []string {
	var first, second map[string][]byte
	if len(a) > 0 && json.Unmarshal(a, &first) != nil || len(b) > 0 && json.Unmarshal(b, &second) != nil {
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
