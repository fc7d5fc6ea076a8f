package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// scenario is one way to run the CLI.
type scenario string

const (
	plan    scenario = "plan"   // for objects and a state that the bench has written
	replan  scenario = "replan" // for objects and a state that the CLI has just written
	drift   scenario = "drift"
	create  scenario = "create"
	update  scenario = "update"
	destroy scenario = "destroy"
)

// scenarios are in the order of the report.
func scenarios() []scenario { return []scenario{plan, replan, drift, create, update, destroy} }

// title describes a scenario in the report.
func (s scenario) title() string {
	return map[scenario]string{
		plan: "plan without changes", replan: "plan after the creation", drift: "plan with 1 % drifted",
		create: "creation", update: "update of all", destroy: "destruction",
	}[s]
}

// driftEvery is the inverse of the share of resources that drift.
const driftEvery = 100

// shape is how a configuration repeats a resource.
type shape string

const (
	blocks  shape = "blocks"
	count   shape = "count"
	forEach shape = "for_each"
)

// variant is a resource without its name, namespace and labels.
type variant struct {
	name     string // prefix of the names of its resources
	resource string
	body     string // REPLICAS is the number of pods
}

// family is a set of resources that are measured together.
type family struct {
	name       string
	title      string // in the report, if it is not the name
	variants   []variant
	namespaces int
	requests   int  // the most that a plan without changes needs, whatever the number of resources
	crds       bool // uses kinds of other projects
	fixed      bool // some of its objects cannot be updated
}

const (
	pods      = "cpus = \"100m\"\n  memory = \"64Mi\"\n  service_account_name = \"default\"\n"
	ignorant  = pods + "  on_not_ready = \"ignore\"\n"
	manifests = "  manifest = jsonencode({ apiVersion = %q, kind = %q })\n"
)

func families() []family {
	deployment := variant{"deployment", "kt_compute", pods + "  replicas = REPLICAS\n"}
	of := func(apiVersion, kind string) string { return ignorant + fmt.Sprintf(manifests, apiVersion, kind) }
	return []family{
		{name: "computes", variants: []variant{deployment}, namespaces: 1, requests: 5},
		{name: "kinds", title: "computes of several kinds", namespaces: 1, requests: 11, crds: true, fixed: true,
			variants: []variant{
				deployment,
				{"knative", "kt_compute", ignorant + "  autoscale = { min_scale = 0, max_scale = 4, target = 5 }\n"},
				{"raycluster", "kt_compute", ignorant + "  distribute = { type = \"ray\", workers = 2 }\n"},
				{"pytorch", "kt_compute", ignorant + "  distribute = { type = \"pytorch\", workers = 2 }\n"},
				{"statefulset", "kt_compute", of("apps/v1", "StatefulSet") + "  replicas = REPLICAS\n"},
				{"job", "kt_compute", of("batch/v1", "Job")},
				{"jobset", "kt_compute", ignorant + jobSet},
				{"pytorchjob", "kt_compute", ignorant + pyTorchJob},
			}},
		{name: "namespaces", title: "computes in 100 namespaces", variants: []variant{deployment}, namespaces: 100,
			requests: 9},
		{name: "volumes", namespaces: 1, requests: 2, variants: []variant{{"volume", "kt_volume",
			"size = \"1Gi\"\n  mount_path = \"/data\"\n  access_mode = \"ReadWriteOnce\"\n"}}},
		{name: "secrets", namespaces: 1, requests: 2, variants: []variant{{"secret", "kt_secret",
			"values_wo = { TOKEN = \"not a secret\" }\n  values_wo_version = 1\n"}}},
		{name: "images", namespaces: 1, requests: 2, variants: []variant{{"image", "kt_image",
			"image_id = \"debian:12\"\n" +
				"  steps = [{ set_env_vars = { VERSION = \"1\" } }, { pip_install = [\"numpy\"] }]\n"}}},
	}
}

const (
	jobSet = `  manifest = jsonencode({
    apiVersion = "jobset.x-k8s.io/v1alpha2", kind = "JobSet"
    spec = { replicatedJobs = [{ name = "workers", replicas = 2 }] }
  })
`
	pyTorchJob = `  manifest = jsonencode({
    apiVersion = "kubeflow.org/v1", kind = "PyTorchJob"
    spec = { pytorchReplicaSpecs = { Master = {}, Worker = { replicas = 2 } } }
  })
`
)

// benchCase is a number of resources in a shape, and the scenarios to measure.
type benchCase struct {
	family    family
	shape     shape
	size      int
	scenarios []scenario
}

func (c benchCase) String() string {
	text := fmt.Sprintf("%d %s", c.size, cmp.Or(c.family.title, c.family.name))
	if c.shape == blocks {
		return text
	}
	return text + ", " + string(c.shape)
}

func (c benchCase) has(s ...scenario) bool {
	return slices.ContainsFunc(s, func(one scenario) bool { return slices.Contains(c.scenarios, one) })
}

// drifted is the number of resources that drift.
func (c benchCase) drifted() int { return (c.size + driftEvery - 1) / driftEvery }

// maxApplied is the maximum number of resources that are applied.
const maxApplied = 1000

// cases are those that the flags select, or the default ones.
func (o options) cases() ([]benchCase, error) {
	if o.sizes == "" && o.scenarios == "" && o.shapes == "" && o.families == "" {
		return suite(), nil
	}
	sizes, err := choose(o.sizes, "1000", strconv.Atoi)
	if err != nil {
		return nil, err
	}
	shapes, err := choose(o.shapes, string(blocks), among([]shape{blocks, count, forEach}, shape.string))
	if err != nil {
		return nil, err
	}
	chosen, err := choose(o.families, "computes", among(families(), family.string))
	if err != nil {
		return nil, err
	}
	steps, err := choose(o.scenarios, "plan,replan,drift,create,update,destroy", among(scenarios(), scenario.string))
	if err != nil {
		return nil, err
	}
	var cases []benchCase
	for _, f := range chosen {
		for _, s := range shapes {
			for _, size := range sizes {
				cases = append(cases, benchCase{f, s, size, possible(f, size, steps)})
			}
		}
	}
	return cases, nil
}

// possible excludes the scenarios that are not possible or would take too long.
func possible(f family, size int, steps []scenario) []scenario {
	if !f.fixed && size <= maxApplied {
		return steps
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s scenario) bool { return s != plan && s != drift })
}

// suite contains the default cases. The largest one is the last, because its objects slow the API server down.
func suite() []benchCase {
	all := families()
	cases := []benchCase{
		{all[0], blocks, 10, scenarios()}, {all[0], blocks, 100, scenarios()},
		{all[0], blocks, 1000, []scenario{plan, drift}},
	}
	for _, s := range []shape{count, forEach} {
		cases = append(cases, benchCase{all[0], s, 1000, []scenario{plan}})
	}
	for _, f := range all[1:] {
		cases = append(cases, benchCase{f, blocks, 1000, []scenario{plan}})
	}
	return append(cases, benchCase{all[0], blocks, 10000, []scenario{plan}})
}

func (s shape) string() string    { return string(s) }
func (s scenario) string() string { return string(s) }
func (f family) string() string   { return f.name }

// choose parses a list that is separated by commas.
func choose[T any](list, otherwise string, parse func(string) (T, error)) ([]T, error) {
	if list == "" {
		list = otherwise
	}
	var chosen []T
	for text := range strings.SplitSeq(list, ",") {
		one, err := parse(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, one)
	}
	return chosen, nil
}

// among returns a parser of names.
func among[T any](all []T, name func(T) string) func(string) (T, error) {
	return func(text string) (T, error) {
		var names []string
		for _, one := range all {
			if name(one) == text {
				return one, nil
			}
			names = append(names, name(one))
		}
		var none T
		return none, fmt.Errorf("%q is not one of %s", text, strings.Join(names, ", "))
	}
}
