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

func TestDifferencesOfTheShortPathAreReportedByNameWithoutValues(t *testing.T) {
	t.Parallel()
	c := &comparer{types: map[string]tftypes.Type{"kt_test": tftypes.Object{
		AttributeTypes: map[string]tftypes.Type{"ready": tftypes.Bool, "token": tftypes.String}}}}
	c.typesOnce.Do(func() {})
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

// The verification reads twice. A pod that becomes ready in between makes the second answer another one.
func TestDifferencesCountOnlyIfTheShortPathStandsByItsResponse(t *testing.T) {
	t.Parallel()
	found := []*tfprotov6.Diagnostic{{Summary: "different"}}
	for name, c := range map[string]struct {
		found []*tfprotov6.Diagnostic
		again bool
		want  int
	}{
		"the same cluster":        {found, true, 1},
		"the cluster has changed": {found, false, 0},
		"equal":                   {nil, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := confirmed(c.found, func() bool { return c.again }); len(got) != c.want {
				t.Errorf("%d differences, want %d", len(got), c.want)
			}
		})
	}
}
