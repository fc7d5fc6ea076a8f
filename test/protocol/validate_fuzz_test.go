package protocol_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// FuzzComputeValidation sets one of the attributes with a grammar to an arbitrary text.
func FuzzComputeValidation(f *testing.F) {
	// Other attributes that the fuzzed attribute requires.
	around := map[string]map[string]string{
		"pod_template_path": {"manifest": workflow},
	}
	attributes := []string{
		"cpus", "memory", "gpu_memory", "launch_timeout", "inactivity_ttl", "gpu_type", "service_template", "name",
		"namespace", "image", "working_dir", "queue_name",
		"manifest", "pod_template_path", "distribute.args",
	}
	for i := range attributes {
		for _, seed := range []string{
			"", "4Gi", "4gb", "1e2147483647", "-1", "90s", "1d12h", "1h-5m", "L4", "key: value", "a:b:c", `{`, `[]`,
			`null`,
			`{"spec": {"template": {"spec": {"containers": [{"name": "kubetorch",
				"resources": {"limits": {"cpu": "1e99999999"}}}]}}}}`,
			`{"spec": {"template": {"spec": {"containers": {"name": 1}}}}}`, `{"spec": []}`,
			`{"metadata": {"labels": 7}}`, "\x00", "é", "/a/../b", "http://[::1", "a@b",
			deployment, statefulSet, daemonSet, pod, job, cronJob, knative, rayCluster, pyTorchJob, jobSet, workflow,
			"apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: [{name: kubetorch, " +
				"command: [x], ports: [{containerPort: 1e9}]}]}}}",
			"a: &a [*a]", "apiVersion: v1\nkind: Pod\nspec: null", "{apiVersion: batch/v1, kind: Job, spec: " +
				"{parallelism: -1, completions: 1.5}}",
			"spec.template", "spec.templates.0.pod", "spec.templates.-1", `{"rayVersion": 1e999}`,
			`{"rayVersion": null, "quorum_workers": {}}`,
		} {
			f.Add(byte(i), seed)
		}
	}
	o := serveOffline(f)
	typ := o.types["kt_compute"]
	unset := map[string]tftypes.Value{}
	for name, of := range typ.AttributeTypes {
		unset[name] = tftypes.NewValue(of, nil)
	}
	f.Fuzz(func(t *testing.T, which byte, text string) {
		attribute := attributes[int(which)%len(attributes)]
		values := maps.Clone(unset)
		values["name"] = tftypes.NewValue(tftypes.String, "trainer")
		for other, value := range around[attribute] {
			values[other] = tftypes.NewValue(tftypes.String, value)
		}
		root, below, inObject := strings.Cut(attribute, ".")
		given := tftypes.NewValue(tftypes.String, text)
		if inObject {
			given = objectWith(t, typ.AttributeTypes[root], below, given)
		}
		values[root] = given
		for _, found := range o.validate(t, "kt_compute", tftypes.NewValue(typ, values)) {
			if found.path != attribute || strings.TrimSpace(found.detail) == "" {
				t.Errorf("%s = %q: %s", attribute, text, found)
			}
		}
	})
}

// objectWith returns an object in which one attribute is set.
func objectWith(t *testing.T, typ tftypes.Type, name string, value tftypes.Value) tftypes.Value {
	t.Helper()
	object, ok := typ.(tftypes.Object)
	if !ok {
		t.Fatalf("%s is not an object", typ)
	}
	values := map[string]tftypes.Value{}
	for other, of := range object.AttributeTypes {
		values[other] = tftypes.NewValue(of, nil)
	}
	values[name] = value
	return tftypes.NewValue(object, values)
}
