package drift_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// unready returns the body of a compute that is not awaited.
func unready(name, attributes string) string {
	return fmt.Sprintf("name = %q\nlaunch_timeout = \"2m\"\non_not_ready = \"ignore\"\n%s", name, attributes)
}

// expectLive checks a field of objects in a namespace of the cluster with CRDs. want are its values by name.
func expectLive(t *testing.T, ns, field string, objects []string, want map[string]string) {
	t.Helper()
	template := "{{.metadata.name}} {{" + field + "}}\n"
	if len(objects) > 1 {
		template = "{{range .items}}" + template + "{{end}}"
	}
	args := append([]string{"get", "-n", ns, "-o", "go-template=" + template}, objects...)
	got := map[string]string{}
	for line := range strings.Lines(withCRDs.Kubectl(t, args...)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		got[name] = value
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s of the objects is %v, want %v", field, got, want)
	}
}

// expectUnchanged applies, and checks that there was nothing to do.
func expectUnchanged(t *testing.T, computes *acctest.Resources, bodies map[string]string) {
	t.Helper()
	for name, p := range computes.Change(t, bodies) {
		if p.Action != core.NoOp {
			t.Errorf("%s: the plan is %s of %q, want none", name, p.Action, p.Attributes())
		}
	}
}

// Terraform passes the number in state if replicas is ignored. It must not be taken for a number of the configuration.
func TestAccDriftOfReplicasCanBeIgnored(t *testing.T) {
	t.Parallel()
	on := withCRDs
	of := func(kind, spec string) string { return acctest.Manifest("kind: " + kind + "\nspec: " + spec) }
	const sets = "LeaderWorkerSet\napiVersion: leaderworkerset.x-k8s.io/v1"
	ns := on.Namespace(t)
	computes := on.Resources(t, "kt_compute", ns, "")
	computes.Ignored = map[string][]string{}
	created, labelled, edited := map[string]string{}, map[string]string{}, map[string]string{}
	var objects []string
	scaled := map[string]string{}
	for name, c := range map[string]struct {
		kind, attributes string
		edited           string // attributes with other numbers
	}{
		"attribute-replicas":                   {"deployment", "", "replicas = 7"},
		"attribute-distribute":                 {"deployment", `distribute = { type = "pytorch", workers = 3 }`, ""},
		"attribute-distribute-without-workers": {"deployment", `distribute = { type = "pytorch" }`, ""},
		"manifest-of-a-deployment": {"deployment", of("Deployment\napiVersion: apps/v1", "{replicas: 2}"),
			of("Deployment\napiVersion: apps/v1", "{replicas: 6}")},
		"manifest-of-a-statefulset": {"statefulset",
			of("StatefulSet\napiVersion: apps/v1", "{replicas: 2}"), ""},
		"manifest-without-a-number": {"deployment", of("Deployment\napiVersion: apps/v1", "{}"),
			of("Deployment\napiVersion: apps/v1", "{minReadySeconds: 1}")},
		"manifest-of-a-leaderworkerset": {"leaderworkerset",
			of(sets, "{replicas: 1, leaderWorkerTemplate: {size: 2}}"),
			of(sets, "{replicas: 2, leaderWorkerTemplate: {size: 2}}")},
	} {
		const more = "\nlabels = { a = \"b\" }"
		computes.Ignored[name] = []string{"replicas"}
		created[name], labelled[name] = unready(name, c.attributes), unready(name, c.attributes+more)
		if c.edited != "" {
			edited[name] = unready(name, c.edited+more)
		}
		objects = append(objects, c.kind+"/"+name)
		scaled[name] = "4"
	}
	computes.Change(t, created)
	for _, replicas := range []string{"1", "4"} {
		on.Kubectl(t, append([]string{"scale", "--replicas=" + replicas, "-n", ns}, objects...)...)
		expectUnchanged(t, computes, created)
	}
	for name, p := range computes.Change(t, labelled) {
		if p.Action != core.Update {
			t.Errorf("%s: the plan is %s instead of an update", name, p.Action)
		}
		if err := acctest.AsPlan(t, p).ChangesOnly("labels"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	expectLive(t, ns, ".spec.replicas", objects, scaled)
	computes.Change(t, edited)
	expectLive(t, ns, ".spec.replicas", objects, scaled)
	computes.Destroy(t)
}

// lifecycle.ignore_changes can outlive its reason.
func TestAccIgnoredReplicasAreLeftToAnAddedAutoscaler(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	computes := cluster.Resources(t, "kt_compute", ns, "")
	computes.Ignored = map[string][]string{"trainer": {"replicas"}}
	computes.Change(t, map[string]string{"trainer": unready("trainer", "replicas = 2")})
	computes.Change(t, map[string]string{"trainer": unready("trainer", `autoscale = {
	  scaler = "hpa", max_scale = 4
	  metrics = [{ external = { metric = { name = "missing" }, target = { average_value = "10" } } }]
	}`)})
	manifests, _ := computes.Attribute("trainer", "manifests").(map[string]any)
	text, _ := manifests["Deployment/"+ns+"/trainer"].(string)
	if text == "" || strings.Contains(text, `"replicas"`) {
		t.Errorf("the provider owns the number of pods: %q", text)
	}
	number := cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o", "jsonpath={.spec.replicas}")
	if number != "2" {
		t.Errorf("%s replicas, want those before", number)
	}
	computes.Change(t, map[string]string{"trainer": unready("trainer", "replicas = 3")})
	number = cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o", "jsonpath={.spec.replicas}")
	if planned := fmt.Sprint(computes.Attribute("trainer", "replicas")); number != planned {
		t.Errorf("%s replicas without the autoscaler, want those in state: %s", number, planned)
	}
	computes.Destroy(t)
}

func TestAccDriftOfTheParallelismOfAJobCanBeIgnored(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	computes := on.Resources(t, "kt_compute", ns, "")
	computes.Ignored = map[string][]string{"manifest": {"replicas"}, "attribute": {"replicas"}}
	bodies := map[string]string{
		"manifest": unready("manifest", acctest.Manifest(
			"apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 2, completions: 8}")),
		"attribute": unready("attribute", "command = [\"train\"]\njob = {}\nreplicas = 2"),
	}
	computes.Change(t, bodies)
	objects, want := []string{"job/manifest", "job/attribute"}, map[string]string{"manifest": "3", "attribute": "3"}
	for _, object := range objects {
		on.Kubectl(t, "patch", object, "-n", ns, "--type", "merge", "-p", `{"spec":{"parallelism":3}}`)
	}
	expectUnchanged(t, computes, bodies)
	expectLive(t, ns, ".spec.parallelism", objects, want)
	computes.Destroy(t)
}

func TestAccSuspendedComputeWithIgnoredReplicasIsResumed(t *testing.T) {
	t.Parallel()
	on := withCRDs
	const scaled = "live-pods" // by another client, before it is suspended
	ns := on.Namespace(t)
	computes := on.Resources(t, "kt_compute", ns, "")
	computes.Ignored = map[string][]string{}
	created, suspended, resumed := map[string]string{}, map[string]string{}, map[string]string{}
	for name, attributes := range map[string]string{
		"manifest":  acctest.Manifest("apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2}"),
		"attribute": "replicas = 3",
		scaled:      "replicas = 1",
	} {
		computes.Ignored[name] = []string{"replicas"}
		resumed[name], suspended[name] = unready(name, attributes), unready(name, attributes+"\nsuspend = true")
		created[name] = suspended[name]
	}
	created[scaled] = resumed[scaled]
	replicas := func(want map[string]string) {
		t.Helper()
		var objects []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			objects = append(objects, "deployment/"+name)
		}
		expectLive(t, ns, ".spec.replicas", objects, want)
	}
	computes.Change(t, created)
	replicas(map[string]string{"manifest": "0", "attribute": "0", scaled: "1"})
	on.Kubectl(t, "scale", "deployment/"+scaled, "--replicas=5", "-n", ns)
	computes.Change(t, suspended)
	replicas(map[string]string{"manifest": "0", "attribute": "0", scaled: "0"})
	computes.Change(t, resumed)
	replicas(map[string]string{"manifest": "2", "attribute": "3", scaled: "5"})
	computes.Destroy(t)
}

// Several pods are replaced together by default, as for a new compute.
func TestAccDriftOfReplicasAddedToTheConfigurationSelectsTheStrategy(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	computes := on.Resources(t, "kt_compute", ns, "")
	expect := func(replicas, strategy string) {
		t.Helper()
		computes.Change(t, map[string]string{"trainer": unready("trainer", "replicas = "+replicas)})
		expectLive(t, ns, ".spec.strategy.type", []string{"deployment/trainer"}, map[string]string{"trainer": strategy})
	}
	expect("1", "RollingUpdate")
	on.Kubectl(t, "scale", "deployment/trainer", "--replicas=3", "-n", ns)
	expect("3", "Recreate")
	computes.Destroy(t)
}
