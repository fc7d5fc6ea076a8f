package tf

import (
	"maps"
	"testing"
)

func TestOnlyUnchangedDefaultsOfTheProviderAreOmitted(t *testing.T) {
	t.Parallel()
	got := WithoutDefaults(map[string]string{"a": "1", "team": "ml", "env": "dev"},
		map[string]string{"team": "ml", "env": "prod"})
	if want := map[string]string{"a": "1", "env": "dev"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
