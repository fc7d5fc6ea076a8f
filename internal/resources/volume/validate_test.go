package volume

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestInvalidValuesAreReportedBeforeThePlan(t *testing.T) {
	t.Parallel()
	labels := func(key string) types.Map {
		return types.MapValueMust(types.StringType, map[string]attr.Value{key: types.StringValue("x")})
	}
	for name, c := range map[string]struct {
		config  func(*model)
		message string
	}{
		"valid":         {func(*model) {}, ""},
		"invalid class": {func(m *model) { m.StorageClass = types.StringValue("Fast_Class") }, "Fast_Class"},
		"no class":      {func(m *model) { m.StorageClass = types.StringValue("") }, ""},
		"label":         {func(m *model) { m.Labels = labels("team") }, ""},
		"reserved label": {func(m *model) { m.Labels = labels("app.kubernetes.io/managed-by") },
			"app.kubernetes.io/managed-by"},
		"reserved label of an unknown name": {func(m *model) {
			m.Name, m.Labels = types.StringUnknown(), labels("app.kubernetes.io/managed-by")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := boundVolume()
			c.config(config)
			diags := checkClass(t.Context(), config.StorageClass)
			diags.Append(checkConflicts(t.Context(), config)...)
			if got := messages(diags); (got == "") != (c.message == "") || !strings.Contains(got, c.message) {
				t.Errorf("%q, want %q", got, c.message)
			}
		})
	}
}
