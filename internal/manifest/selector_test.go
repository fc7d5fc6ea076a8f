package manifest_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestForeignSelector(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, spec string
		want       bool
	}{
		"another label":        {"Deployment", "{selector: {matchLabels: {app: a}}}", true},
		"an expression":        {"DaemonSet", "{selector: {matchExpressions: [{key: app, operator: Exists}]}}", true},
		"of another compute":   {"StatefulSet", "{selector: {matchLabels: {kubetorch.com/service: b}}}", true},
		"of this provider":     {"Deployment", "{selector: {matchLabels: {kubetorch.com/service: a}}}", false},
		"a kind without one":   {"CronJob", "{schedule: '@daily'}", false},
		"a generated selector": {"Job", "{selector: {matchLabels: {x: a}}}", false},
	} {
		group := "apps/v1"
		if strings.HasSuffix(c.kind, "Job") {
			group = "batch/v1"
		}
		document, err := manifest.ParseDocument("kind: " + c.kind + "\napiVersion: " + group +
			"\nmetadata: {name: a}\nspec: " + c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := manifest.ForeignSelector(&unstructured.Unstructured{Object: document}); (got != nil) != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestKeptSelectorMatchesThePods(t *testing.T) {
	t.Parallel()
	foreign := map[string]any{"matchLabels": map[string]any{"app": "shop", "tier": "web"}}
	for name, c := range map[string]struct {
		compute  manifest.Compute
		selector map[string]any
		labels   map[string]string // of the pods
	}{
		"generated": {manifest.Compute{}, foreign, map[string]string{"app": "shop", "tier": "web"}},
		"manifest": {
			byo(t, "kind: StatefulSet\napiVersion: apps/v1\nspec: {template: {metadata: {labels: {tier: web}}}}"),
			foreign, map[string]string{"app": "shop", "tier": "web"}},
		"the same selector in the manifest": {
			byo(t, "kind: Deployment\napiVersion: apps/v1\nspec: {selector: {matchLabels: {app: shop, tier: web}}, "+
				"template: {metadata: {labels: {app: shop, tier: web}}}}"),
			foreign, map[string]string{"app": "shop", "tier": "web"}},
		"another selector in the manifest": {
			byo(t, "kind: Deployment\napiVersion: apps/v1\nspec: {selector: {matchLabels: {app: b}}, template: "+
				"{metadata: {labels: {app: b}}}}"),
			map[string]any{"matchLabels": map[string]any{"app": "b", kind.ServiceLabel: "trainer"}}, nil},
		"a kind without a selector": {byo(t, "kind: CronJob\napiVersion: batch/v1\nspec: {schedule: '@daily'}"), nil,
			map[string]string{"app": "trainer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.compute.Name, c.compute.Namespace, c.compute.KeptSelector = "trainer", "ml", foreign
			objects, err := manifest.Render(c.compute)
			if err != nil {
				t.Fatal(err)
			}
			workload := objects[0]
			selector, _, _ := unstructured.NestedMap(workload.Object, "spec", "selector")
			if len(selector)+len(c.selector) > 0 && !reflect.DeepEqual(selector, c.selector) {
				t.Errorf("the selector is %v, want %v", selector, c.selector)
			}
			template := []string{"spec", "template", "metadata", "labels"}
			if workload.GetKind() == "CronJob" {
				template = append([]string{"spec", "jobTemplate"}, template...)
			}
			labels, _, _ := unstructured.NestedStringMap(workload.Object, template...)
			for key, want := range c.labels {
				if labels[key] != want {
					t.Errorf("the label %s is %q, want %q", key, labels[key], want)
				}
			}
			if labels[kind.ServiceLabel] != "trainer" {
				t.Errorf("the pods lack the label of the compute: %v", labels)
			}
		})
	}
}
