package drift_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// planned is a resource with three configurations: as created, updated, and replaced.
type planned struct {
	object                     string // kind/NAME of its first object
	created, updated, replaced string
	others                     string // the object as another client creates it
}

func plannedResources() map[string]planned {
	return map[string]planned{
		"kt_secret": {object: "secret/NAME", created: "from_env = { A = \"FROM_A\" }",
			updated:  "from_env = { A = \"FROM_A\" }\nlabels = { a = \"b\" }",
			replaced: "from_env = { A = \"FROM_A\" }\nname = \"NAME-2\"",
			others:   "apiVersion: v1\nkind: Secret\nmetadata: {name: NAME}\nstringData: {B: c}\n"},
		"kt_image": {object: "configmap/kt-image-NAME", created: "image_id = \"debian:12\"",
			updated: "image_id = \"debian:13\"", replaced: "image_id = \"debian:12\"\nname = \"NAME-2\"",
			others: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kt-image-NAME}\ndata: {b: c}\n"},
		"kt_volume": {object: "persistentvolumeclaim/NAME", created: "size = \"1Gi\"\naccess_mode = \"ReadWriteOnce\"",
			updated: "size = \"1Gi\"\naccess_mode = \"ReadWriteOnce\"\nlabels = { a = \"b\" }",
			others: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: NAME}\nspec: {accessModes: " +
				"[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"},
		"kt_compute": {object: "deployment/NAME", created: "cpus = 1\non_not_ready = \"ignore\"",
			updated:  "cpus = 1\non_not_ready = \"ignore\"\nenv_vars = { A = \"b\" }",
			replaced: "cpus = 1\non_not_ready = \"ignore\"\nname = \"NAME-2\"",
			others: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec: {selector: {matchLabels: " +
				"{a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}\n"},
		"kt_queue": {object: "clusterqueue/NAME", created: queueBody, updated: queueBody + "cohort = \"a\"",
			replaced: queueBody + "name = \"NAME-2\"",
			others: "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: NAME}\n" +
				"spec: {cohortName: b}\n"},
	}
}

// A saved plan is applied as it is shown, or refused with what has changed. It never ends as inconsistent, and the next
// run continues from there.
func TestAccASavedPlanIsAppliedAsShownOrRefused(t *testing.T) {
	t.Parallel()
	on := withCRDs
	for resource, of := range plannedResources() {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			ns := on.Namespace(t)
			remove := func(name string) {
				on.Kubectl(t, "delete", of.named(name), "-n", ns, "--ignore-not-found")
			}
			create := func(name string) { on.Apply(t, strings.ReplaceAll(of.others, "NAME", name), "-n", ns) }
			worlds := map[string]func(name string){ // what others do between the plan and its apply
				"same":    func(string) {},
				"deleted": remove,
				"changed": func(name string) {
					on.Kubectl(t, "label", of.named(name), "-n", ns, "--overwrite", "a=other")
				},
				"taken": func(name string) {
					remove(name)
					create(name)
				},
			}
			s := on.Resources(t, resource, ns, "")
			env := map[string]string{"FROM_A": "a", "KT_USERNAME": "alice"}
			s.Start = acctest.FactoriesWith(t, config.Env{Getenv: func(name string) string { return env[name] }})["kt"]
			created, next, between := map[string]string{}, map[string]string{}, map[string]func(string){}
			for step, body := range map[string]string{
				"create": of.created, "update": of.updated, "replace": of.replaced,
			} {
				for world, change := range worlds {
					if body == "" || step == "create" && world == "changed" {
						continue
					}
					name := step + "-" + world
					if next[name], between[name] = of.body(body, name), change; step != "create" {
						created[name] = of.body(of.created, name)
					}
				}
			}
			s.Apply(t, s.Plan(t, created))
			saved := s.Plan(t, next)
			for name, change := range between {
				change(name)
			}
			env["KT_USERNAME"] = "bob" // on the machine that applies
			refused := 0
			for name, err := range s.TryApply(t, saved) {
				if err != nil {
					refused++
				}
				if err != nil && strings.Contains(err.Error(), "inconsistent") {
					t.Errorf("%s: %v", name, err)
				}
			}
			if refused == len(saved) {
				t.Error("all plans are refused")
			}
			for name := range between {
				if strings.HasSuffix(name, "-taken") { // its owner removes it
					remove(name)
				}
			}
			s.Change(t, next)
			s.Destroy(t)
		})
	}
}

// named returns the first object of a resource.
func (p planned) named(name string) string { return strings.ReplaceAll(p.object, "NAME", name) }

// body returns the body of a resource with a name, unless a configuration sets another.
func (planned) body(config, name string) string {
	if !strings.Contains(config, "\nname = ") {
		config += "\nname = \"NAME\""
	}
	return strings.ReplaceAll(config, "NAME", name) + "\n"
}
