package drift_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// ignorable is an attribute in lifecycle.ignore_changes whose configured value changes.
type ignorable struct {
	with          string // other attributes that it requires
	before, after string // its configured values
}

// set returns the assignment of a value, or nothing for an empty one.
func (ignorable) set(attribute, value string) string {
	if value == "" {
		return ""
	}
	return attribute + " = " + value + "\n"
}

const (
	pods     = "cpus = 1\n"
	ownPods  = "image = \"mine:1\"\nport = 8000\n"
	served   = ownPods + "args = [\"serve\"]\n"
	tensors  = "runtime = \"skytorch\"\ncpus = 1\nmemory = \"1Gi\"\nimage = \"server:1\"\n"
	workload = `jsonencode({ apiVersion = "apps/v1", kind = "Deployment", spec = { ` +
		`selector = { matchLabels = { app = %[1]q } }, template = { metadata = { labels = ` +
		`{ app = %[1]q } }, spec = { containers = [{ name = "main", image = "mine:%[2]s" }] } } } })`
)

// ignorables returns the changes of each attribute, by resource type and attribute.
func ignorables() map[string]map[string]ignorable {
	return map[string]map[string]ignorable{
		"kt_secret": withCommon("values = { A = \"1\" }\n", map[string]ignorable{
			"values":            {"", `{ A = "1" }`, `{ A = "2", B = "3" }`},
			"values_wo":         {"values_wo_version = 1\n", `{ A = "1" }`, `{ A = "2", B = "3" }`},
			"values_wo_version": {"values_wo = { A = \"1\" }\n", "1", "2"},
			"provider_name":     {"path = \"DIR/one\"\nfilenames = [\"a\"]\n", `"aws"`, `"gcp"`},
			"from_env":          {"", `{ A = "FROM_A" }`, `{ B = "FROM_B" }`},
			"path":              {"", `"DIR/one"`, `"DIR/two"`},
			"filenames":         {"path = \"DIR/one\"\n", `["a"]`, `["b"]`},
			"mount_path":        {"values = { A = \"1\" }\n", `"/one"`, `"/two"`},
			"default_mode":      {"values = { A = \"1\" }\nmount_path = \"/one\"\n", `"0400"`, `"0440"`},
		}),
		"kt_image": withCommon("image_id = \"debian:12\"\n", map[string]ignorable{
			"image_id":    {"", `"debian:12"`, `"debian:13"`},
			"base":        {"", `"pytorch"`, `"python3.12"`},
			"dockerfile":  {"", `"FROM debian:12"`, `"FROM debian:13"`},
			"install_cmd": {"image_id = \"debian:12\"\n", `"pip install a"`, `"pip install b"`},
			"python_path": {"image_id = \"debian:12\"\n", `"/usr/bin/python3"`, `"/opt/python3"`},
			"pin_digest":  {"image_id = \"debian:12\"\n", "false", "true"},
			"steps": {"image_id = \"debian:12\"\n", `[{ run_bash = "true" }]`,
				`[{ run_bash = "true" }, { set_env_vars = { A = "b" } }]`},
		}),
		"kt_volume": withCommon("size = \"1Gi\"\n", map[string]ignorable{
			"size":           {"", `"1Gi"`, `"2Gi"`},
			"access_mode":    {"size = \"1Gi\"\n", `"ReadWriteOnce"`, `"ReadWriteOncePod"`},
			"storage_class":  {"size = \"1Gi\"\nwait_for_bound = false\n", `"standard"`, `"other"`},
			"volume_name":    {"size = \"1Gi\"\nwait_for_bound = false\n", `"one"`, `"two"`},
			"mount_path":     {"size = \"1Gi\"\n", `"/one"`, `"/two"`},
			"wait_for_bound": {"size = \"1Gi\"\n", "false", "true"},
		}),
		"kt_compute": withCommon(pods, map[string]ignorable{
			"affinity": {served, affinity("a"), affinity("b")}, "args": {ownPods, `["a"]`, `["b", "c"]`},
			"allowed_serialization": {pods, `["json"]`, `["json", "pickle"]`},
			"autoscale":             {pods, `{ max_scale = 2 }`, `{ max_scale = 3, target = 5 }`},
			"command":               {ownPods, `["a"]`, `["b", "c"]`}, "cpus": {"", "1", "2"},
			"config_maps": {pods, `[{ name = "a", env_vars = ["A"] }]`,
				`[{ name = "a", env_keys = { A = "a" }, mount_path = "/b" }]`},
			"env_from":           {pods, `[{ config_map = "a" }]`, `[{ secret = "a", prefix = "A_" }]`},
			"disk_size":          {pods, `"1Gi"`, `"2Gi"`},
			"distribute":         {pods, `{ type = "pytorch", workers = 2 }`, `{ type = "pytorch", workers = 3 }`},
			"endpoint":           {pods, `{ url = "http://a" }`, `{ url = "http://b" }`},
			"env_vars":           {pods, `{ A = "1" }`, `{ A = "2", B = "3" }`},
			"expose":             {served, `{ hosts = ["a.example"] }`, `{ hosts = ["b.example"] }`},
			"extended_resources": {pods, `{ "rdma/hca" = 1 }`, `{ "rdma/hca" = 2 }`},
			"freeze":             {pods, "true", "false"},
			"gpu_anti_affinity":  {pods, "true", "false"},
			"gpu_memory":         {"cpus = 1\nqueue_scheduler = \"kai\"\nqueue_name = \"q\"\n", `"1Gi"`, `"2Gi"`},
			"gpu_type":           {"cpus = 1\ngpus = 1\n", `"NVIDIA-L4"`, `"NVIDIA-A10G"`},
			"gpus":               {pods, "1", "2"},
			"health_path":        {served, `"/a"`, `"/b"`},
			"image":              {pods, `"debian:12"`, `"debian:13"`},
			"image_pull_policy":  {pods, `"Always"`, `"Never"`},
			"image_pull_secrets": {pods, `["a"]`, `["b"]`},
			"image_ref":          {pods, imageRef("a"), imageRef("b")},
			"inactivity_ttl":     {pods, `"1h"`, `"2h"`},
			"job":                {"command = [\"train\"]\n", `{ backoff_limit = 1 }`, `{ backoff_limit = 2 }`},
			"kubetorch_version":  {pods, `"0.4.0"`, `"0.5.0"`},
			"launch_timeout":     {pods, `"1m"`, `"2m"`},
			"limits":             {pods, `{ cpu = 2 }`, `{ cpu = 3, memory = "1Gi" }`},
			"logging_config":     {pods, `{ level = "info" }`, `{ level = "debug", stream_logs = false }`},
			"load": {pods, `{ module_name = "a", cls_or_fn_name = "f" }`,
				`{ module_name = "b", cls_or_fn_name = "C", callable_type = "cls" }`},
			"manifest":        {"", fmt.Sprintf(workload, "a", "1"), fmt.Sprintf(workload, "a", "2")},
			"manifest_only":   {"manifest = " + fmt.Sprintf(workload, "a", "1") + "\n", "true", "false"},
			"max_surge":       {served + "strategy = \"RollingUpdate\"\n", "1", `"50%"`},
			"max_unavailable": {served + "strategy = \"RollingUpdate\"\n", "1", `"50%"`},
			"memory":          {"", `"1Gi"`, `"2Gi"`},
			"node_selector":   {pods, `{ a = "b" }`, `{ a = "c" }`},
			"on_expiry":       {"cpus = 1\ninactivity_ttl = \"1h\"\n", `"recreate"`, `"keep_suspended"`},
			"pod_labels":      {pods, `{ a = "b" }`, `{ a = "c" }`},
			"port":            {"image = \"mine:1\"\nargs = [\"a\"]\n", "8000", "8001"},
			"ports": {served, `[{ name = "a", port = 1 }]`,
				`[{ name = "a", port = 2 }, { name = "b", port = 3, app_protocol = "grpc" }]`},
			"pre_stop":            {served, `{ sleep = "1s" }`, `{ exec = { command = ["a"] } }`},
			"priority_class_name": {pods, `"system-cluster-critical"`, `"system-node-critical"`},
			"probes": {served, `{ readiness = { tcp_socket = {} } }`,
				`{ readiness = { grpc = { port = 1 } }, liveness = { tcp_socket = {} } }`},
			"pod_disruption_budget": {served + "replicas = 2\n", `{ max_unavailable = 1 }`,
				`{ max_unavailable = "50%" }`},
			"security_context": {pods, `{ run_as_user = 1000 }`,
				`{ fs_group = 1, capabilities = { add = ["IPC_LOCK"] } }`},
			"init_containers": {pods, `[{ name = "a", image = "a:1", env_vars = { A = "b" } }]`,
				`[{ name = "a", image = "a:2", env_vars = { A = "c" } }, { name = "b", image = "b:1" }]`},
			"sidecars": {pods, `[{ name = "a", image = "a:1" }]`,
				`[{ name = "a", image = "a:1", cpus = 1 }]`},
			"host_network":       {pods, "false", "true"},
			"restart_triggers":   {pods, `{ a = "b" }`, `{ a = "c" }`},
			"runtime_class_name": {pods, `"gvisor"`, `"kata"`},
			"queue_name":         {pods, `"a"`, `"b"`},
			"queue_scheduler":    {"cpus = 1\nqueue_name = \"a\"\n", `"kueue"`, `"kai"`},
			"renderer_revision":  {pods, "1", "2"},
			"replicas":           {pods, "1", "2"},
			"runtime":            {"cpus = 1\nmemory = \"1Gi\"\n", `"kubetorch"`, `"skytorch"`},
			"secrets": {pods, `[{ name = "a", env_vars = ["A"] }]`,
				`[{ name = "a", env_keys = { A = "a" }, mount_path = "/b" }]`},
			"selector": {"", `{ app = "a" }`, `{ app = "b" }`},
			"service":  {served, `{ type = "NodePort" }`, `{ annotations = { a = "b" } }`},
			"service_template": {pods, `jsonencode({ spec = { minReadySeconds = 1 } })`,
				`jsonencode({ spec = { minReadySeconds = 2 } })`},
			"shared_memory_limit": {pods, `"64Mi"`, `"128Mi"`},
			"strategy":            {pods, `"Recreate"`, `"RollingUpdate"`},
			"suspend":             {pods, "false", "true"},
			"wait_for_completion": {"command = [\"train\"]\njob = {}\n", "false", "true"},
			"tolerations": {pods, `[{ key = "a", operator = "Exists" }]`,
				`[{ key = "b", operator = "Exists" }, { key = "c", operator = "Exists" }]`},
			"termination_grace_period": {pods, `"10s"`, `"20s"`},
			"topology_spread_constraints": {served,
				`[{ topology_key = "zone", when_unsatisfiable = "ScheduleAnyway" }]`,
				`[{ topology_key = "rack", when_unsatisfiable = "ScheduleAnyway" }]`},
			"volume_claim_templates": {tensors, `[{ name = "a", size = "1Gi", mount_path = "/a" }]`,
				`[{ name = "a", size = "2Gi", mount_path = "/a" }]`},
			"volumes": {pods, `[{ claim_name = "a", mount_path = "/a" }]`,
				`[{ name = "x", empty_dir = {}, mount_path = "/b" }, { secret = "c", mount_path = "/c" }]`},
			"service_account_name": {pods, `"a"`, `"b"`},
			"working_dir":          {pods, `"/a"`, `"/b"`},
			"pod_template_path":    {"manifest = " + fmt.Sprintf(workload, "a", "1") + "\n", `"spec.template"`, ""},
		}),
		"kt_queue": withCommon(queueBody, map[string]ignorable{
			"admission_checks":  {queueBody, `["a"]`, `["b"]`},
			"cohort":            {queueBody, `"a"`, `"b"`},
			"fair_share_weight": {queueBody, `"1"`, `"2"`},
			"flavors":           {"wait_for_active = false\n", flavors("1"), flavors("2")},
			"kai":               {"", kaiQueue("1"), kaiQueue("2")},
			"namespaces":        {queueBody, `["default"]`, `["default", "kube-public"]`},
			"preemption": {queueBody, `{ within_cluster_queue = "Never" }`,
				`{ within_cluster_queue = "LowerPriority" }`},
			"queueing_strategy": {queueBody, `"StrictFIFO"`, `"BestEffortFIFO"`},
			"stop_policy":       {queueBody, `"None"`, `"Hold"`},
			"wait_for_active":   {"flavors = " + flavors("1") + "\n", "false", "true"},
		}),
	}
}

const queueBody = "wait_for_active = false\nflavors = [{ name = \"any\", quotas = { cpu = { nominal = \"1\" } } }]\n"

func flavors(nominal string) string {
	return fmt.Sprintf(`[{ name = "any", quotas = { cpu = { nominal = %q } } }]`, nominal)
}

func kaiQueue(gpus string) string {
	const rest = `{ quota = "1", limit = "-1" }`
	return fmt.Sprintf(`{ gpu = { quota = %q, limit = "-1" }, cpu = %s, memory = %s }`, gpus, rest, rest)
}

func affinity(zone string) string {
	terms := fmt.Sprintf(`[{ weight = 1, preference = { matchExpressions = [{ key = "zone", operator = "In", `+
		`values = [%q] }] } }]`, zone)
	return "jsonencode({ nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution = " + terms + " } })"
}

func imageRef(digest string) string {
	return fmt.Sprintf(`{ image = "debian:12", setup = { config_map = "kt-image-a", digest = %q } }`, digest)
}

// withCommon adds the attributes that each resource has. with are the attributes of a valid resource.
func withCommon(with string, table map[string]ignorable) map[string]ignorable {
	maps.Copy(table, map[string]ignorable{
		"adopt_existing": {with, "true", "false"}, "deletion_protection": {with, "false", "true"},
		"labels": {with, `{ a = "b" }`, `{ a = "c", d = "e" }`}, "annotations": {with, `{ a = "b" }`, `{ a = "c" }`},
		"name": {with, `"NAME"`, `"NAME-2"`}, "namespace": {with, `"NAMESPACE"`, `"default"`},
		"timeouts":         {with, `{ create = "5m" }`, `{ create = "6m", update = "7m" }`},
		"sensitive_fields": {with + "annotations = { x = \"y\" }\n", "null", `["metadata.annotations.x"]`},
	})
	return table
}

// TestAccEachAttribute changes each attribute of each resource, one at a time.
func TestAccEachAttribute(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, sub := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"a", "b"} {
			if err := os.WriteFile(filepath.Join(dir, sub, file), []byte(sub+file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	crds, err := acctest.KnativeAndKueueCRDArgs()
	if err != nil {
		t.Fatal(err)
	}
	on := acctest.OwnCluster(t, append(crds, "--crds", acctest.Testdata("skytorch-compute-crd.yaml"),
		"--crds", filepath.Join(acctest.Root(), "test", "acceptance", "kai", "testdata", "queue-crd.yaml"))...)
	schemas := resourceSchemas(t)
	for resource, table := range ignorables() {
		each := eachAttribute{on, resource, dir}
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			expectEachAttribute(t, schemas[resource], table)
			t.Run("ignored", func(t *testing.T) { each.ignored(t, table) })
			t.Run("refreshed", func(t *testing.T) { each.refreshed(t, table) })
		})
	}
}

// eachAttribute tests the attributes of a resource.
type eachAttribute struct {
	on       *acctest.Cluster
	resource string
	files    string // a directory
}

// resources returns an empty state in a namespace.
func (e eachAttribute) resources(t *testing.T, ns string) *acctest.Resources {
	t.Helper()
	s := e.on.Resources(t, e.resource, ns, "")
	s.Start = acctest.FactoriesWith(t, config.Env{Getenv: fromEnv})["kt"]
	return s
}

// body is the body of a resource that tests an attribute.
func (e eachAttribute) body(ns, name, attribute, text string) string {
	if attribute != "name" {
		text += fmt.Sprintf("name = %q\n", name)
	}
	if e.resource == "kt_compute" && attribute != "on_not_ready" {
		text += "on_not_ready = \"ignore\"\n"
	}
	return strings.NewReplacer("DIR", e.files, "NAMESPACE", ns, "NAME", name).Replace(text)
}

// The plan does not change an ignored attribute, and changes another one. The apply does what the plan shows.
func (e eachAttribute) ignored(t *testing.T, table map[string]ignorable) {
	ns := e.on.Namespace(t)
	s := e.resources(t, ns)
	s.Ignored = map[string][]string{}
	created, changed := map[string]string{}, map[string]string{}
	for attribute, change := range table {
		name := strings.ReplaceAll(attribute, "_", "-")
		body := func(value, other string) string {
			return e.body(ns, name, attribute, change.with+change.set(attribute, value)+other)
		}
		created[name], changed[name] = body(change.before, ""), body(change.after, other(attribute))
		s.Ignored[name] = []string{attribute}
	}
	s.Apply(t, s.Plan(t, created))
	plans := s.Plan(t, changed)
	for name, p := range plans {
		attribute, shown := strings.ReplaceAll(name, "-", "_"), p.Attributes()
		want, _, _ := strings.Cut(other(attribute), " ")
		if p.Action != core.Update || slices.Contains(shown, attribute) || !slices.Contains(shown, want) {
			t.Errorf("%s: %s of %q, want an update of %s alone", attribute, p.Action, shown, want)
		}
	}
	s.Apply(t, plans)
	s.ExpectNoChange(t, changed)
	for name := range changed {
		s.Ignored[name] = []string{core.All}
	}
	for name := range changed {
		changed[name] += "deletion_protection = false\n"
	}
	delete(changed, "deletion-protection")
	s.ExpectNoChange(t, changed)
	s.Destroy(t)
}

// fromEnv is the environment of the provider.
func fromEnv(name string) string {
	if strings.HasPrefix(name, "FROM_") {
		return "value of " + name
	}
	return ""
}

// other returns the change of another attribute than the ignored one.
func other(ignored string) string {
	switch ignored {
	case "labels":
		return "annotations = { other = \"1\" }\n"
	case "job", "wait_for_completion", // labels are those of the pods too, and would replace the Job
		"manifest_only": // does not go with labels
		return "timeouts = { create = \"9m\" }\n"
	}
	return "labels = { other = \"1\" }\n"
}

// expectEachAttribute checks that a table contains each attribute that can be configured.
func expectEachAttribute(t *testing.T, schema *tfprotov6.Schema, table map[string]ignorable) {
	t.Helper()
	for _, attribute := range schema.Block.Attributes {
		_, contained := table[attribute.Name]
		if configurable := attribute.Optional || attribute.Required; configurable != contained &&
			attribute.Name != "on_not_ready" {
			t.Errorf("%s is configurable: %t, in the table: %t", attribute.Name, configurable, contained)
		}
	}
}

func resourceSchemas(t *testing.T) map[string]*tfprotov6.Schema {
	t.Helper()
	server := acctest.ConfiguredProvider(t, nil)
	described, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return described.ResourceSchemas
}
