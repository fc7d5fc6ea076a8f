package providertest

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// encoded returns a state of two attributes.
func encoded(t *testing.T, ready bool, token string) *tfprotov6.DynamicValue {
	t.Helper()
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"ready": tftypes.Bool, "token": tftypes.String}}
	value, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, map[string]tftypes.Value{
		"ready": tftypes.NewValue(tftypes.Bool, ready), "token": tftypes.NewValue(tftypes.String, token),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return &value
}

// comparerOf returns a comparer that knows kt_test, with these attributes.
func comparerOf(t *testing.T) *comparer {
	t.Helper()
	c := &comparer{types: map[string]tftypes.Type{"kt_test": tftypes.Object{
		AttributeTypes: map[string]tftypes.Type{"ready": tftypes.Bool, "token": tftypes.String}}}}
	c.typesOnce.Do(func() {})
	return c
}

func TestDifferencesOfTheShortPathAreReportedByNameWithoutValues(t *testing.T) {
	t.Parallel()
	c := comparerOf(t)
	short := &tfprotov6.ReadResourceResponse{NewState: encoded(t, false, "s3cret"),
		Private: []byte(`{"kept":"YQ==","objects":"YQ=="}`)}
	for name, test := range map[string]struct {
		framework *tfprotov6.ReadResourceResponse
		want      string // "" if the responses are equal
	}{
		"equal": {&tfprotov6.ReadResourceResponse{NewState: encoded(t, false, "s3cret"),
			Private: []byte(`{"objects":"YQ==","kept":"YQ=="}`)}, ""},
		"attribute": {&tfprotov6.ReadResourceResponse{NewState: encoded(t, true, "s3cret"), Private: short.Private},
			`the state differs AttributeName("ready").`},
		"secret": {&tfprotov6.ReadResourceResponse{NewState: encoded(t, false, "other"), Private: short.Private},
			`the state differs AttributeName("token").`},
		"private state": {&tfprotov6.ReadResourceResponse{NewState: short.NewState,
			Private: []byte(`{"objects":"Yg==","more":"YQ=="}`)}, "the private state differs kept more objects."},
		"no state": {&tfprotov6.ReadResourceResponse{Private: short.Private}, "the state differs."},
		"deferral": {&tfprotov6.ReadResourceResponse{NewState: short.NewState, Private: short.Private,
			Deferred: &tfprotov6.Deferred{}}, "the deferral differs."},
		"warning": {&tfprotov6.ReadResourceResponse{NewState: short.NewState, Private: short.Private,
			Diagnostics: []*tfprotov6.Diagnostic{{Summary: "Drift"}}}, `the framework reports "Drift".`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found string
			for _, d := range c.compareRead(t.Context(), "kt_test", test.framework, short) {
				found += d.Detail
			}
			if (found == "") != (test.want == "") || !strings.Contains(found, test.want) {
				t.Errorf("got %q, want %q", found, test.want)
			}
			if strings.Contains(found, "s3cret") || strings.Contains(found, "other") {
				t.Errorf("%q contains a value", found)
			}
		})
	}
}

// The two responses are of different moments. A pod that is not ready in between makes them differ.
func TestDifferencesOfAReadCountOnlyIfTheyAreFoundAgain(t *testing.T) {
	t.Parallel()
	c := comparerOf(t)
	read := func(ready bool) *tfprotov6.ReadResourceResponse {
		return &tfprotov6.ReadResourceResponse{NewState: encoded(t, ready, "")}
	}
	for name, test := range map[string]struct {
		framework *tfprotov6.ReadResourceResponse
		again     [2]*tfprotov6.ReadResourceResponse // of the framework and of the short path
		want      string
	}{
		"the short path is wrong": {read(false), [2]*tfprotov6.ReadResourceResponse{read(false), read(true)},
			"the state differs AttributeName(\"ready\")."},
		"not ready in between": {read(false), [2]*tfprotov6.ReadResourceResponse{read(true), read(true)}, ""},
		"no longer ready":      {read(false), [2]*tfprotov6.ReadResourceResponse{read(false), nil}, ""},
		"a failed request":     {read(false), [2]*tfprotov6.ReadResourceResponse{nil, read(true)}, ""},
		"equal":                {read(true), [2]*tfprotov6.ReadResourceResponse{read(false), read(true)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.compare(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "kt_test"}, test.framework, read(true),
				func() (any, any) { return test.again[0], test.again[1] })
			expectDetail(t, test.framework.Diagnostics, test.want)
		})
	}
}

// The framework takes a second plan of a resource for that of another resource with the same name.
func TestDifferencesOfAPlanCountIfTheShortPathStandsByItsResponse(t *testing.T) {
	t.Parallel()
	c := comparerOf(t)
	plan := func(ready bool) *tfprotov6.PlanResourceChangeResponse {
		return &tfprotov6.PlanResourceChangeResponse{PlannedState: encoded(t, ready, "")}
	}
	conflict := plan(true)
	conflict.Diagnostics = []*tfprotov6.Diagnostic{{Severity: tfprotov6.DiagnosticSeverityError,
		Summary: "Two kt_test resources are named x", Attribute: tftypes.NewAttributePath().WithAttributeName("name")}}
	for name, test := range map[string]struct {
		framework, again *tfprotov6.PlanResourceChangeResponse // again is of the short path
		want             string
	}{
		"the short path is wrong": {plan(false), plan(true), "the state differs AttributeName(\"ready\")."},
		"the cluster has changed": {plan(false), nil, ""},
		"equal":                   {plan(true), plan(true), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := &tfprotov6.PlanResourceChangeRequest{TypeName: "kt_test"}
			c.compare(t.Context(), request, test.framework, plan(true),
				func() (any, any) { return conflict, test.again })
			expectDetail(t, test.framework.Diagnostics, test.want)
		})
	}
}

// expectDetail checks that the only diagnostic contains a text, or that there is none if it is empty.
func expectDetail(t *testing.T, diagnostics []*tfprotov6.Diagnostic, want string) {
	t.Helper()
	var found string
	for _, d := range diagnostics {
		found += d.Detail
	}
	if (found == "") != (want == "") || !strings.Contains(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}
