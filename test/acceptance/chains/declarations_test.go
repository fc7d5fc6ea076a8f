package chains_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// subject is a type of resource whose declarations chains vary.
type subject struct {
	typ    string
	common string // attributes of each declaration
	// forms are what a resource is made of. A declaration has one of them.
	forms []form
	// values are the values of each attribute that a declaration may have.
	values map[string][]string
	// without are attributes that chains do not vary, and why.
	without map[string]string
	// kinds are the kinds of objects of a resource, as arguments of kubectl.
	kinds []string
	// clusterWide is true if objects have no namespace. The names of resources then contain one.
	clusterWide bool
	// refusals are parts of the errors with which a plan refuses to change a resource.
	refusals []string
	// settled waits until the cluster has done what later changes require. It may be nil.
	settled func(*state)
}

// form is what a resource is made of, with NAME for its name.
type form struct {
	home string // of forms between which a resource often changes
	text string
}

// homes returns the homes of all forms, in their order.
func (s subject) homes() []string {
	var all []string
	for _, f := range s.forms {
		all = append(all, f.home)
	}
	return slices.Compact(all)
}

// declaration returns a random one, in most cases with a form of the home. It may be invalid, or not fit the cluster.
func (s subject) declaration(random *rand.Rand, home string) string {
	forms := s.forms
	if random.IntN(5) > 0 {
		forms = slices.DeleteFunc(slices.Clone(forms), func(f form) bool { return f.home != home })
	}
	lines := []string{`name = "NAME"`, s.common, forms[random.IntN(len(forms))].text}
	// With many attributes, few declarations are valid.
	every := []int{4, 8, 16}[random.IntN(3)]
	for _, attribute := range slices.Sorted(maps.Keys(s.values)) {
		if of := s.values[attribute]; random.IntN(every) == 0 {
			lines = append(lines, fmt.Sprintf("%s = %s", attribute, of[random.IntN(len(of))]))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// subjects returns all subjects. Volumes have a storage class.
func subjects(t *testing.T, class string) []subject {
	t.Helper()
	return []subject{computes(t), images(), secrets(), volumes(class), queues()}
}

// aside adds the attributes that chains vary for no type of resource.
func aside(reasons map[string]string) map[string]string {
	for _, name := range []string{"name", "namespace", "adopt_existing", "deletion_protection", "sensitive_fields",
		"timeouts"} {
		reasons[name] = "is not about objects"
	}
	return reasons
}

// withLabels adds the labels and annotations of all types of resources but computes.
func withLabels(values map[string][]string) map[string][]string {
	values["labels"] = []string{`{ a = "b" }`, `{ a = "c", d = "" }`, `{}`}
	values["annotations"] = []string{`{ note = "x" }`, `{}`}
	return values
}

// formsOf returns forms with the same home.
func formsOf(home string, texts ...string) []form {
	var all []form
	for _, text := range texts {
		all = append(all, form{home, text})
	}
	return all
}

const formed = "part of a form"

func images() subject {
	return subject{typ: "kt_image", kinds: []string{"configmaps"},
		forms: formsOf("image", `base = "python3.12"`, `base = "ray:2.40.0"`, `image_id = "a:1"`,
			`image_id = "a@sha256:`+strings.Repeat("0", 64)+`"`, `dockerfile = "FROM a:2\nRUN true\nENV A=b"`),
		values: withLabels(map[string][]string{
			"install_cmd": {`"uv pip install"`}, "python_path": {`"/py"`},
			"steps": {`[{ run_bash = "true" }]`, `[{ pip_install = ["torch"] }, { set_env_vars = { A = "b" } }]`, `[]`},
		}),
		without: aside(map[string]string{
			"base": formed, "image_id": formed, "dockerfile": formed, "pin_digest": "needs a registry",
		})}
}

func secrets() subject {
	const local = "of the machine"
	return subject{typ: "kt_secret", kinds: []string{"secrets"},
		forms: formsOf("secret", `values = { A = "1" }`, `values = { A = "2", B = "" }`, `values_wo = { A = "1" }`,
			`values_wo = { A = "3", C = "x" }`),
		values: withLabels(map[string][]string{
			"mount_path": {`"/keys"`, `"/other"`}, "default_mode": {`"0400"`, `"0440"`},
		}),
		without: aside(map[string]string{
			"values": formed, "values_wo": formed, "values_wo_version": "does not compare values", "from_env": local,
			"path": local, "filenames": local, "provider_name": local,
		})}
}

// volumes returns the subject of claims of a class whose volumes can grow. No controller resizes them here.
func volumes(class string) subject {
	once := fmt.Sprintf("access_mode = \"ReadWriteOnce\"\nstorage_class = %q\n", class)
	return subject{typ: "kt_volume", kinds: []string{"persistentvolumeclaims"}, common: "wait_for_bound = false",
		forms: append(formsOf("bound", once+`size = "1Gi"`, once+`size = "1024Mi"`, once+`size = "2Gi"`,
			once+`size = "3Gi"`),
			formsOf("other", strings.Replace(once, "Once", "Many", 1)+`size = "1Gi"`,
				`access_mode = "ReadWriteOnce"`+"\n"+`storage_class = ""`+"\n"+`size = "1Gi"`)...),
		values: withLabels(map[string][]string{"mount_path": {`"/data"`, `"/other"`}}),
		without: aside(map[string]string{
			"size": formed, "access_mode": formed, "storage_class": formed,
			"volume_name":    "is kept if it is no longer set",
			"wait_for_bound": "needs a controller that resizes volumes",
		}),
		refusals: []string{"The data of the volume would be lost", "A volume cannot shrink"},
		settled: func(s *state) {
			cluster.WaitForOutput(s.t, "Pending "+class, false, "get", "persistentvolumeclaims", "-n", s.ns, "-o",
				"jsonpath={range .items[*]}{.status.phase} {.spec.storageClassName}{\"\\n\"}{end}")
		}}
}

func queues() subject {
	flavor := func(more, quotas string) string {
		return "[{ name = \"NAME\"" + more + ", quotas = " + quotas + " }]"
	}
	const small, large = `{ cpu = { nominal = "4" } }`,
		`{ cpu = { nominal = "8000m" }, memory = { nominal = "8Gi" } }`
	labels := `, node_labels = { gpu = "l4" }`
	return subject{typ: "kt_queue", clusterWide: true, common: "wait_for_active = false",
		kinds: []string{"clusterqueues", "resourceflavors", "localqueues"},
		forms: append(formsOf("queue",
			"flavors = "+flavor(labels, small), "flavors = "+flavor(", node_labels = {}", large),
			"flavors = "+flavor(labels+`, node_taints = [{ key = "gpu", value = "yes", effect = "NoSchedule" }]`,
				large),
			"flavors = "+flavor(labels+`, tolerations = [{ key = "spot", operator = "Exists" }]`, small),
			"flavors = "+flavor(labels+`, topology_name = "racks"`, small),
			`flavors = [{ name = "NAME-a", node_labels = { a = "b" }, quotas = `+small+` },
				{ name = "NAME-b", node_labels = { a = "c" }, quotas = `+small+` }]`,
			`flavors = [{ name = "NAME-b", node_labels = { a = "c" }, quotas = `+large+` }]`),
			formsOf("cohort", `cohort = "research"
				flavors = `+flavor(labels, `{ cpu = { nominal = "4", borrowing_limit = "2", lending_limit = "1" } }`),
				`cohort = "other"
				flavors = `+flavor(labels, `{ cpu = { nominal = "4", borrowing_limit = "2" } }`))...),
		values: withLabels(map[string][]string{
			"fair_share_weight": {`"2"`, `"500m"`},
			"admission_checks":  {`["budget"]`, `["quality", "budget"]`},
			"queueing_strategy": {`"StrictFIFO"`, `"BestEffortFIFO"`},
			"stop_policy":       {`"None"`, `"Hold"`, `"HoldAndDrain"`},
			"namespaces":        {`["default"]`, `["kube-public", "default"]`},
			"preemption": {`{ within_cluster_queue = "LowerPriority" }`,
				`{ reclaim_within_cohort = "Any", within_cluster_queue = "Never" }`, `{ reclaim_within_cohort = "Any",
				borrow_within_cohort = "LowerPriority", max_priority_threshold = 100 }`},
		}),
		without: aside(map[string]string{
			"flavors": formed, "cohort": formed, "kai": "needs another scheduler",
			"wait_for_active": "needs the controller of Kueue",
		}),
		refusals: []string{"Immutable field of ResourceFlavor", // with a topology
			"topologyName is immutable when topologyName is set"}, // by an apply, if values were unknown in the plan
	}
}

// expectEveryAttribute fails if the schema has an attribute that chains neither vary nor leave out for a reason.
func expectEveryAttribute(t *testing.T) {
	t.Helper()
	server, err := acctest.Factories(t)["kt"]()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all := subjects(t, "")
	for typ := range schemas.ResourceSchemas {
		if !slices.ContainsFunc(all, func(s subject) bool { return s.typ == typ }) {
			t.Errorf("no chains of %s", typ)
		}
	}
	for _, s := range all {
		for _, a := range schemas.ResourceSchemas[s.typ].Block.Attributes {
			_, varied := s.values[a.Name]
			if _, excluded := s.without[a.Name]; (a.Optional || a.Required) && varied == excluded {
				t.Errorf("%s: %s has values: %t, and a reason to have none: %t", s.typ, a.Name, varied, excluded)
			}
		}
	}
}
