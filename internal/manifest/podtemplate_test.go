package manifest_test

import (
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestPodTemplatePath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workload, want string }{
		"below spec": {`{"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}}`, "spec.template"},
		"of several, ours": {`{"spec": {"a": {"spec": {"containers": [{"name": "a"}]}},
			"b": {"spec": {"containers": [{"name": "kubetorch"}]}}}}`, "spec.b"},
		"in a list": {`{"spec": {"groups": [{"template": {"spec": {"containers": [{"name": "a"}]}}}]}}`,
			"spec.groups.0.template"},
		"none":                   {`{"spec": {"containers": "a"}}`, ""},
		"not one of the status":  {`{"status": {"template": {"spec": {"containers": [{"name": "a"}]}}}}`, ""},
		"containers of no list":  {`{"spec": {"template": {"spec": {"containers": {"a": 1}}}}}`, ""},
		"a pod is no pod's path": {`{"spec": {"containers": [{"name": "kubetorch"}]}}`, ""},
	} {
		if got := manifest.PodTemplatePath(fromJSON(t, c.workload)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
