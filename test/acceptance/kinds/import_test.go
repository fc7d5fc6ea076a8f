package kinds_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tfjson "github.com/hashicorp/terraform-json"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// importCase is a resource that is created in one directory and imported in another
// directory with the same configuration.
type importCase struct {
	kind, name string // type and name of the resource
	attributes string
	objects    string // YAML of objects that must exist

	// changes are the attributes that the plan after the import sets, because they are
	// not stored in objects. The objects are never changed.
	changes []string
}

func importCases() []importCase {
	var cases []importCase
	add := func(name, objects, attributes string, changes ...string) {
		if !strings.Contains(attributes, "on_not_ready") {
			attributes += "\n on_not_ready = \"ignore\""
		}
		cases = append(cases, importCase{"kt_compute", "c-" + acctest.CaseName(name), attributes, objects, changes})
	}
	notStored := map[string][]string{
		// An update also sets the attributes that are not stored in objects.
		"behaviour": {"on_expiry", "on_not_ready"},
		// The environment of load is imported as env_vars, because other clients set it there.
		"function of the image": {"env_vars", "load", "manifests", "on_not_ready"},
		"hidden fields":         {"manifests", "on_not_ready", "sensitive_fields", "sensitive_values"},
		"restart triggers":      {"on_not_ready", "restart_triggers"}, // only their digest is stored
		"service template": {"on_not_ready", "pre_stop", "probes", "service_template",
			"termination_grace_period"},
		"settings of the provider": {"adopt_existing", "deletion_protection", "on_not_ready", "timeouts"},
		// a Deployment is imported as a generated one
		"kind deployment":          {"env_vars", "manifest", "manifests", "on_not_ready", "pod_labels"},
		"Knative Service manifest": {"autoscale", "manifest", "on_not_ready"},
	}
	for _, a := range allAttributes() {
		add(a.name, a.objects, a.always+"\n"+a.created, notStored[a.name]...)
	}
	for _, w := range lifeCycles() {
		add("kind "+w.Name, w.Objects, w.Created, notStored["kind "+w.Name]...)
	}
	training := func(kind, specs, role, container string) string {
		return acctest.Manifest(fmt.Sprintf("apiVersion: kubeflow.org/v1\nkind: %s\nspec:\n  %s:\n    %s: "+
			"{replicas: 2, template: {spec: {containers: [{name: %s, image: \"mine:1\"}]}}}", kind, specs, role,
			container))
	}
	queued := "\nqueue_name = \"team-a\""
	for name, attributes := range map[string]string{
		"Ray": `distribute = { type = "ray", workers = 3, args = jsonencode({ rayVersion = ` +
			`"2.46.0" }) }` + "\n gpus = 1\n memory = \"2Gi\"",
		"spread": `distribute = { type = "jax", workers = 3, quorum_workers = 2, ` +
			`quorum_timeout = "5m", monitor_members = false, args = jsonencode({ port = 0, name = "" }) }`,
		"spread server": `distribute = { type = "pytorch", workers = 2 }` +
			"\n command = [\"serve\"]\n port = 8000",
		"autoscaled": `autoscale = { min_scale = 0, max_scale = 4, target = 5, window = "90s", ` +
			`metric = "rps" }`,
		"Knative Service manifest": acctest.Manifest("apiVersion: serving.knative.dev/v1\nkind: Service\nspec: " +
			"{template: {spec: {containers: [{name: kubetorch, image: \"mine:1\"}]}}}"),
		"PyTorchJob":            training("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch"),
		"TFJob":                 training("TFJob", "tfReplicaSpecs", "Worker", "tensorflow"),
		"PyTorchJob in a queue": training("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch") + queued,
		"Ray in a queue":        `distribute = { type = "ray", workers = 2 }` + queued,
		"Job in a queue": acctest.Manifest("apiVersion: batch/v1\nkind: Job\nspec: {backoffLimit: 0, "+
			"template: {spec: {containers: [{name: kubetorch, command: [\"true\"]}]}}}") + queued,
		"Job of attributes": "command = [\"train\"]\nreplicas = 2\njob = { completions = 4, backoff_limit = 0 }",
		"JobSet": acctest.Manifest("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec:\n  replicatedJobs:\n  " +
			"- name: workers\n    replicas: 1\n    template: {spec: {parallelism: 2, completions: 2, template: " +
			"{spec: {containers: [{name: kubetorch, command: [\"true\"]}]}}}}"),
		"LeaderWorkerSet": acctest.Manifest("apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\n" +
			"spec: {replicas: 2, leaderWorkerTemplate: {size: 3, leaderTemplate: {metadata: {labels: {role: " +
			"leader}}}}}"),
		"JobSet in a queue": acctest.Manifest("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\n"+
			"spec:\n  replicatedJobs:\n  - name: workers\n    replicas: 1\n    template: {spec: {parallelism: 2, "+
			"completions: 2, template: {spec: {containers: [{name: kubetorch, command: [\"true\"]}]}}}}") + queued,
		"kind with a pod template path": acctest.Manifest("apiVersion: example.com/v1\nkind: Fleet\nspec: {size: 0, "+
			"on: false, name: \"\", pods: {template: {spec: {containers: [{name: kubetorch, image: \"mine:1\"}]}}}}") +
			`pod_template_path = "spec.pods.template"`,
		"JobSet with a command": acctest.Manifest("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec:\n  "+
			"replicatedJobs:\n  - name: workers\n    replicas: 1\n    template: {spec: {parallelism: 2, "+
			"completions: 2, template: {spec: {containers: [{name: kubetorch, image: \"mine:1\"}]}}}}") +
			`command = ["true"]`,
		"selector with a URL": `selector = { app = "mine" }` +
			"\n endpoint = { url = \"http://gateway.example:8080\" }",
		"selector with another Service": `selector = { app = "mine" }` +
			"\n endpoint = { selector = { app = \"proxy\" } }",
	} {
		add(name, "", attributes, notStored[name]...)
	}
	cases = append(cases,
		importCase{"kt_volume", "volume",
			"size = \"1Gi\"\n access_mode = \"ReadWriteOnce\"\n storage_class = \"standard\"\n mount_path = " +
				"\"/data\"\n labels = { a = \"\" }\n annotations = { b = \"c\" }\n adopt_existing = false", "", nil},
		importCase{"kt_volume", "volume-on-purpose",
			"size = \"1Gi\"\n access_mode = \"ReadWriteOnce\"\n storage_class = \"standard\"\n wait_for_bound = " +
				"false\n adopt_existing = true\n deletion_protection = true", "",
			[]string{"adopt_existing", "deletion_protection", "wait_for_bound"}},
		importCase{"kt_secret", "secret", "values = { KEY = \"value\", EMPTY = \"\" }\n labels = { a = \"\" }", "",
			[]string{"values"}},
		importCase{"kt_image", "image",
			"image_id = \"main:1\"\n labels = { a = \"\" }\n steps = [{ run_bash = \"true\" }, " +
				"{ set_env_vars = { EMPTY = \"\" } }]", "", nil},
		importCase{"kt_image", "image-adopting", "base = \"debian\"\n adopt_existing = true", "", nil},
	)
	return cases
}

// The plan after an import changes no objects, and no attributes that are stored in
// objects.
func TestAccImportIsFollowedByAnEmptyPlan(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	on.Apply(t, acctest.FleetCRD)
	on.Established(t, "fleets.example.com")
	var config, imports strings.Builder
	want := map[string][]string{}
	for _, c := range importCases() {
		if c.objects != "" {
			on.Apply(t, c.objects, "-n", ns)
		}
		fmt.Fprintf(&config, "resource %q %q {\n name = %[2]q\n %[3]s\n}\n", c.kind, c.name, c.attributes)
		fmt.Fprintf(&imports, "import {\n to = %s.%s\n id = \"%s/%[2]s\"\n}\n", c.kind, c.name, ns)
		if len(c.changes) > 0 {
			want[c.kind+"."+c.name] = c.changes
		}
	}
	maker, importer := acctest.NewAttachedCLI(t), acctest.NewAttachedCLI(t)
	for _, cli := range []*acctest.CLI{maker, importer} {
		cli.Setenv("KUBE_CONFIG_PATH", on.Kubeconfig())
		cli.Setenv("KT_NAMESPACE", ns)
	}
	maker.Write(t, config.String())
	maker.MustRun(t, "apply", "-auto-approve", "-parallelism=30")
	importer.Write(t, config.String()+imports.String())
	importer.MustRun(t, "plan", "-out", filepath.Join(importer.Dir, "p"), "-parallelism=30")
	out, err := importer.Command(t.Context(), "show", "-json", filepath.Join(importer.Dir, "p")).Output()
	if err != nil {
		t.Fatal(err)
	}
	var planned tfjson.Plan
	if err := json.Unmarshal(out, &planned); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, change := range planned.ResourceChanges {
		if change.Change.Actions.NoOp() {
			continue
		}
		got[change.Address] = []string{}
		before, _ := change.Change.Before.(map[string]any)
		after, _ := change.Change.After.(map[string]any)
		unknown, _ := change.Change.AfterUnknown.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if unknown[name] != nil && unknown[name] != false || !cmp.Equal(before[name], after[name]) {
				got[change.Address] = append(got[change.Address], name)
			}
			if diff := cmp.Diff(before[name], after[name]); diff != "" {
				t.Logf("%s %s (-import +plan)\n%s", change.Address, name, diff)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan after the import (-want +got)\n%s", diff)
	}
	maker.Write(t, strings.ReplaceAll(config.String(), "deletion_protection = true", ""))
	maker.MustRun(t, "apply", "-auto-approve", "-parallelism=30")
	maker.MustRun(t, "destroy", "-auto-approve", "-parallelism=30")
}

// The pods and the Service exist. Without Kubetorch's CRD, there are no objects to
// apply.
func TestAccComputeWithoutObjectsIsRejected(t *testing.T) {
	t.Parallel()
	cli, ns := acctest.NewAttachedCLI(t), cluster.Namespace(t)
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", ns)
	const selected = `selector = { app = "mine" }` + "\n"
	elsewhere := acctest.BareCompute(selected + `endpoint = { url = "http://gateway.example:8080" }`)
	cli.Write(t, elsewhere)
	out := cli.MustRun(t, "plan")
	acctest.ExpectText(t, acctest.Unwrap(out), "Warning: The compute has no objects", "its CRD is not installed",
		"remove endpoint.url")
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Errorf("the apply succeeded:\n%s", out)
	}
	acctest.ExpectText(t, acctest.Unwrap(out), "Error: The compute has no objects", "with kt_compute.trainer",
		"Nothing was created")
	cli.Write(t, acctest.BareCompute(selected+`on_not_ready = "ignore"`))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, elsewhere)
	if out, err = cli.Run(t, "plan"); err == nil {
		t.Errorf("the plan of a change succeeded:\n%s", out)
	}
	acctest.ExpectText(t, acctest.Unwrap(out), "Error: The compute has no objects")
	cli.Write(t, acctest.BareCompute(selected+`on_not_ready = "ignore"`))
	cli.MustRun(t, "destroy", "-auto-approve")
}

// The controller of a LeaderWorkerSet creates a StatefulSet of the same name.
func TestAccImportPrefersAWorkloadToOneThatItsControllerCreated(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	const spec = "{metadata: {labels: {app: groups}}, spec: {containers: [{name: main, image: \"a:1\"}]}}"
	withCRDs.Apply(t, "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: groups}\n"+
		"spec: {replicas: 1, leaderWorkerTemplate: {size: 1, workerTemplate: "+spec+"}}\n", "-n", ns)
	uid := withCRDs.Kubectl(t, "get", "-n", ns, "leaderworkerset/groups", "-o", "jsonpath={.metadata.uid}")
	withCRDs.Apply(t, "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: groups, ownerReferences: "+
		"[{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: groups, controller: true, uid: "+uid+
		"}]}\nspec: {serviceName: groups, selector: {matchLabels: {app: groups}}, template: "+spec+"}\n", "-n", ns)
	computes := withCRDs.Resources(t, "kt_compute", ns, "")
	computes.Import(t, ns, []string{"groups"})
	if mode := computes.Attribute("groups", "mode"); mode != "leaderworkerset" {
		t.Errorf("the mode is %v; want leaderworkerset", mode)
	}
}
