package tf

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestReservedKeysAreRejected(t *testing.T) {
	t.Parallel()
	labels := types.MapValueMust(types.StringType, map[string]attr.Value{
		"kt.dev/a": types.StringUnknown(), "team": types.StringValue("ml"), "kt.dev/b": types.StringValue("x"),
	})
	isReserved := func(key string) bool { return strings.HasPrefix(key, "kt.dev/") }
	var got []string
	for _, d := range RejectReserved("labels", labels, isReserved) {
		if d, ok := d.(diag.DiagnosticWithPath); ok {
			got = append(got, d.Path().String())
		}
	}
	if want := []string{`labels["kt.dev/a"]`, `labels["kt.dev/b"]`}; !slices.Equal(got, want) {
		t.Errorf("reserved keys are %q, want %q", got, want)
	}
	if diags := RejectReserved("labels", types.MapNull(types.StringType), isReserved); len(diags) > 0 {
		t.Errorf("a null map has errors: %v", diags)
	}
}

func TestOnlyUnchangedDefaultsOfTheProviderAreOmitted(t *testing.T) {
	t.Parallel()
	got := Texts(Configurable(map[string]string{"a": "1", "team": "ml", "env": "dev"},
		map[string]string{"team": "ml", "env": "prod"}, func(string) bool { return false }))
	if want := map[string]string{"a": "1", "env": "dev"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
