package drift_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// refreshed checks that the plan is empty after a foreign change that a refresh took into state and that was reverted.
// The change is what the provider itself would write for another value of the attribute.
func (e eachAttribute) refreshed(t *testing.T, table map[string]ignorable) {
	ns := e.on.Namespace(t)
	s := e.resources(t, ns)
	configured, foreign := e.pairs(ns, table)
	plans, invalid := s.TryPlan(t, foreign)
	maps.DeleteFunc(configured, func(name, _ string) bool { return invalid[name] != nil })
	s.Apply(t, plans)
	changed := e.objects(t, ns)
	plans, invalid = s.TryPlan(t, configured)
	maps.DeleteFunc(configured, func(name, _ string) bool { return invalid[name] != nil })
	for name, p := range plans {
		if p.Action != core.Update {
			delete(configured, name)
			delete(plans, name)
		}
	}
	if len(plans) < len(table)/2 {
		t.Errorf("only %d updates for %d attributes", len(plans), len(table))
	}
	s.Apply(t, plans)
	own := e.objects(t, ns)
	maps.DeleteFunc(changed, func(key string, _ map[string]any) bool { return own[key] == nil }) // cannot be updated
	maps.DeleteFunc(own, func(key string, _ map[string]any) bool { return changed[key] == nil })

	names := slices.Sorted(maps.Keys(configured))
	e.replace(t, ns, names, changed)
	s.Refresh(t, names)
	drifted, set := 0, 0
	for name, p := range s.Plan(t, configured) {
		// What the configuration does not set belongs to others, and some attributes are only in state.
		if strings.HasSuffix(name, "-unset") || strings.HasSuffix(name, "-byo") ||
			!slices.Contains(plans[name].Attributes(), "manifests") {
			continue
		}
		set++
		if p.Action != core.NoOp {
			drifted++
		}
	}
	if set == 0 || drifted < set/2 {
		t.Errorf("the foreign change is in only %d plans of %d", drifted, set)
	}
	e.replace(t, ns, names, own)
	empty := 0
	for name, p := range s.Plan(t, configured) {
		if p.Action != core.NoOp {
			t.Errorf("%s: %s of %q", name, p.Action, p.Attributes())
			continue
		}
		empty++
	}
	t.Logf("%d of %d plans are empty; %d of %d were not before", empty, len(configured), drifted, set)
	s.Destroy(t)
}

// pairs returns the bodies of resources with a configured and with a foreign value of each attribute.
func (e eachAttribute) pairs(ns string, table map[string]ignorable) (configured, foreign map[string]string) {
	configured, foreign = map[string]string{}, map[string]string{}
	add := func(suffix, attribute, with string, change ignorable, values ...string) {
		name := strings.ReplaceAll(attribute, "_", "-") + suffix
		for i, to := range []map[string]string{configured, foreign} {
			to[name] = e.body(ns, name, attribute, with+change.set(attribute, values[i]))
		}
	}
	for attribute, change := range table {
		if attribute == "pin_digest" || attribute == "wait_for_active" {
			continue // without a registry, and without Kueue's controllers
		}
		add("", attribute, change.with, change, change.before, change.after)
		add("-unset", attribute, change.with, change, "", change.after)
		if e.resource == "kt_compute" && attribute != "manifest" {
			with := "manifest = " + fmt.Sprintf(workload, "NAME", "1") + "\n"
			add("-byo", attribute, with, change, "", change.after)
		}
	}
	return configured, foreign
}

// objects returns the live objects of all resources by kind and name.
func (e eachAttribute) objects(t *testing.T, ns string) map[string]map[string]any {
	t.Helper()
	kinds := map[string]string{
		"kt_compute": "deployments,services,services.serving.knative.dev,jobs,computes," +
			"ingresses,poddisruptionbudgets,horizontalpodautoscalers",
		"kt_volume": "persistentvolumeclaims", "kt_secret": "secrets",
		"kt_image": "configmaps", "kt_queue": "clusterqueues,localqueues,resourceflavors,queues.scheduling.run.ai",
	}
	var list struct{ Items []map[string]any }
	text := e.on.Kubectl(t, "get", kinds[e.resource], "-n", ns, "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, item := range list.Items {
		metadata, _ := item["metadata"].(map[string]any)
		delete(metadata, "resourceVersion")
		delete(metadata, "uid")
		out[fmt.Sprint(item["kind"], "/", metadata["name"])] = item
	}
	return out
}

// replace writes the content of the objects of resources as another client.
func (e eachAttribute) replace(t *testing.T, ns string, names []string, content map[string]map[string]any) {
	t.Helper()
	config := e.on.RESTConfig(t)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	group.SetLimit(10)
	for key, object := range content {
		obj := &unstructured.Unstructured{Object: object}
		if !slices.Contains(names, strings.TrimPrefix(obj.GetName(), "kt-image-")) {
			continue
		}
		group.Go(func() error {
			gvr, _ := meta.UnsafeGuessKindToResource(obj.GroupVersionKind())
			into := client.Resource(gvr).Namespace(obj.GetNamespace())
			for {
				live, err := into.Get(t.Context(), obj.GetName(), metav1.GetOptions{})
				if err == nil {
					obj.SetResourceVersion(live.GetResourceVersion())
					_, err = into.Update(t.Context(), obj, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
				}
				if !apierrors.IsConflict(err) { // a controller has changed it since it was read
					if err != nil {
						return fmt.Errorf("%s in %s: %w", key, ns, err)
					}
					return nil
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}
