package chains_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func computes(t *testing.T) subject {
	t.Helper()
	kinds := []string{"services", "poddisruptionbudgets", "ingresses", "httproutes", "grpcroutes", "fleets",
		kind.KubetorchWorkload().Argument()}
	for _, k := range kind.Workloads() {
		kinds = append(kinds, k.Argument())
	}
	return subject{typ: "kt_compute", common: `on_not_ready = "ignore"`, kinds: kinds,
		forms: slices.Concat(shapes(), kindForms(t)), values: values(), without: without()}
}

// shapes returns the forms that are not about a kind.
func shapes() []form {
	template := `{metadata: {labels: {app: mine}}, spec: {containers: [{name: kubetorch, image: \"a:1\"}]}}`
	const selected = `selector: {matchLabels: {app: mine}}, template: `
	fleet := func(size int) string {
		return fmt.Sprintf(`manifest = "{apiVersion: example.com/v1, kind: Fleet, spec: {size: %d, pods: {template: `+
			`{spec: {containers: [{name: kubetorch, image: \"a:%d\"}]}}}}}"`+"\npod_template_path = %q", size, size,
			"spec.pods.template")
	}
	return slices.Concat(
		formsOf("kubetorch", "", `image = "a:1"`, `image_ref = { image = "a:2", setup = { config_map = "kt-image-a",
			digest = "b", python_path = "/py" } }`),
		formsOf("server", `image = "vllm/vllm-openai:v0.11.0"`+"\n"+`command = ["vllm", "serve"]`+"\nport = 8000",
			`image = "mine:1"`+"\n"+`args = ["--verbose"]`, `image = "mine:1"`+"\n"+`command = ["sleep", "infinity"]`),
		formsOf("deployment",
			`manifest = "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, template: `+template+`}}"`,
			`manifest = "{apiVersion: apps/v1, kind: Deployment, spec: {minReadySeconds: 1, template: `+template+`}}"`),
		formsOf("manifest_only", "manifest_only = true\n"+
			`manifest = "{apiVersion: apps/v1, kind: Deployment, spec: {`+selected+template+`}}"`,
			"manifest_only = true\n"+
				`manifest = "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, `+selected+template+`}}"`),
		formsOf("fleet", fleet(1), fleet(2)),
		formsOf("selector", `selector = { app = "mine" }`, `selector = { app = "mine", tier = "web" }`),
		formsOf("job", "command = [\"train\"]\njob = {}",
			"command = [\"train\"]\njob = { completions = 4, ttl = \"1h\" }",
			"command = [\"train\"]\njob = { backoff_limit = 2, pod_failure_policy = [{ action = \"Ignore\", "+
				"on_pod_conditions = [{ type = \"DisruptionTarget\" }] }] }"),
		formsOf("distributed", `distribute = { type = "spmd", workers = 2 }`,
			`distribute = { type = "pytorch", workers = 3, quorum_workers = 2, quorum_timeout = "1m" }`,
			`distribute = { type = "spmd", args = jsonencode({ num_proc = 8 }), monitor_members = false }`),
		formsOf("ray", `distribute = { type = "ray", workers = 2 }`, `distribute = { type = "ray", workers = 3 }`,
			`distribute = { type = "ray", workers = 2, args = jsonencode({ rayVersion = "2.46.0" }) }`),
		formsOf("autoscaled", `autoscale = { min_scale = 1, max_scale = 4, target = 5, window = "90s" }`,
			`autoscale = { min_scale = 0, concurrency = 2, scale_to_zero_pod_retention_period = "5m" }`,
			`autoscale = { metric = "cpu", autoscaler_class = "hpa.autoscaling.knative.dev", initial_scale = 2,
				extra_annotations = { "example.com/a" = "b" } }`),
	)
}

// kindForms returns the forms of each kind of the table: the manifest of the tests of the renderer, and the same with
// another pod template and other numbers of pods.
func kindForms(t *testing.T) []form {
	t.Helper()
	var all []form
	has := map[string]bool{}
	for _, k := range kind.TensorServers() {
		has[k.Word()+k.Group] = true
		of := fmt.Sprintf("runtime = %q\n", k.Server.Runtime)
		all = append(all, formsOf(k.Server.Runtime, of, of+`image = "a:1"`, of+`image = "a:2"`+"\nreplicas = 2")...)
	}
	const manifests = "internal/manifest/testdata/manifests"
	files, err := filepath.Glob(filepath.Join(acctest.Root(), filepath.FromSlash(manifests), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &object.Object); err != nil {
			t.Fatal(err)
		}
		if k, known := kind.Of(object.GroupVersionKind().GroupKind()); known {
			has[k.Word()+k.Group] = true
			unchanged := fmt.Sprintf("manifest = %q", text)
			all = append(all, formsOf(k.Word(), unchanged, "manifest = "+changed(t, k, object))...)
		}
	}
	for _, k := range kind.Workloads() {
		if !has[k.Word()+k.Group] {
			t.Errorf("no manifest of a %s in %s", k.Word(), manifests)
		}
	}
	slices.SortStableFunc(all, func(a, b form) int { return strings.Compare(a.home, b.home) })
	return all
}

// changed returns a manifest with other labels, another pod template and another number of pods, as an attribute.
func changed(t *testing.T, k kind.Kind, object *unstructured.Unstructured) string {
	t.Helper()
	object.SetLabels(map[string]string{"from": "manifest"})
	object.SetAnnotations(map[string]string{"example.com/from": "manifest"})
	for _, g := range k.Groups(object.Object) {
		spec := kind.Under(g.Template, "spec")
		kind.SetAt(object.Object, kind.Under(spec, "serviceAccountName"), "default")
		if g.Scaled && g.Number != nil {
			number, _ := kind.NumberAt(object.Object, g.Number)
			kind.SetAt(object.Object, g.Number, number+2)
		}
	}
	text, err := json.Marshal(object.Object)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%q", text)
}

func values() map[string][]string {
	return map[string][]string{
		"affinity": {`jsonencode({ nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution = [{
			weight = 1, preference = { matchExpressions = [{ key = "a", operator = "Exists" }] } }] } })`},
		"allowed_serialization": {`["json"]`, `["json", "pickle"]`},
		"annotations":           {`{ note = "x" }`, `{ note = "y", other = "" }`, `{}`},
		"config_maps": {`[{ name = "a", env_vars = ["X"] }]`,
			`[{ name = "a", env_keys = { Y = "y" }, mount_path = "/a" }, { name = "b", mount_path = "/b" }]`},
		"env_from":     {`[{ secret = "a" }]`, `[{ config_map = "a", prefix = "P_" }, { secret = "a" }]`},
		"host_network": {`true`, `false`},
		"init_containers": {`[{ name = "fetch", image = "a:1", env_vars = { A = "b", EMPTY = "" } }]`,
			`[{ name = "fetch", image = "a:2", command = ["x"], cpus = 1, limits = { cpu = 2 } },
				{ name = "check", image = "a:2", env_from = [{ secret = "a" }] }]`, `[]`},
		"restart_triggers": {`{ a = "1" }`, `{ a = "2", b = "" }`, `{}`},
		"security_context": {`{ run_as_user = 0, privileged = false }`,
			`{ run_as_non_root = true, run_as_user = 1000, fs_group = 0, supplemental_groups = [1, 2],
				seccomp_profile = { type = "RuntimeDefault" }, allow_privilege_escalation = false,
				read_only_root_filesystem = false, capabilities = { drop = ["NET_RAW"] } }`,
			`{ capabilities = { add = ["IPC_LOCK", "SYS_PTRACE"] } }`, `{}`},
		"sidecars": {`[{ name = "proxy", image = "a:1", ports = [{ container_port = 81 }] }]`,
			`[{ name = "logs", image = "a:1", memory = "64Mi", env_vars = { A = "c" } },
				{ name = "proxy", image = "a:1", args = ["y"] }]`},
		"cpus":      {`"100m"`, `"0.2"`, `1`},
		"disk_size": {`"1Gi"`, `"2G"`},
		"endpoint": {`{ selector = { app = "mine" } }`, `{ selector = { app = "other" } }`,
			`{ url = "http://elsewhere.example.com" }`},
		"env_vars": {`{ A = "b" }`, `{ A = "c", B = "" }`, `{}`},
		"expose": {`{ hosts = ["a.example.com"] }`, `{ hosts = ["b.example.com"], path = "/v1" }`,
			`{ hosts = ["c.example.com"], gateway = { name = "public" } }`,
			`{ hosts = ["d.example.com"], protocol = "grpc", gateway = { name = "public", section_name = "a" } }`},
		"extended_resources":    {`{}`},
		"freeze":                {`true`, `false`},
		"gpu_anti_affinity":     {`true`, `false`},
		"gpu_memory":            {`"4Gi"`, `"2048Mi"`},
		"gpu_type":              {`"NVIDIA-L4"`, `"NVIDIA-H100-80GB-HBM3"`},
		"gpus":                  {`1`, `2`},
		"health_path":           {`"/health"`, `"/ready"`},
		"image_pull_policy":     {`"Always"`, `"Never"`},
		"image_pull_secrets":    {`["registry"]`, `["registry", "mirror"]`},
		"inactivity_ttl":        {`"2h"`, `"30m"`},
		"kubetorch_version":     {`"0.5.0"`},
		"labels":                {`{ team = "ml" }`, `{ team = "web", empty = "" }`, `{}`},
		"launch_timeout":        {`"2m"`, `"3m"`},
		"limits":                {`{ cpu = "2" }`, `{ cpu = "3", memory = "4Gi" }`},
		"load":                  {`{ module_name = "work", cls_or_fn_name = "Model" }`},
		"logging_config":        {`{ level = "debug" }`, `{ stream_logs = false }`},
		"max_surge":             {`1`, `"50%"`},
		"max_unavailable":       {`0`, `1`},
		"memory":                {`"256Mi"`, `"0.5Gi"`},
		"node_selector":         {`{ "kubernetes.io/os" = "linux" }`},
		"pod_disruption_budget": {`{ min_available = 1 }`, `{ max_unavailable = 1 }`},
		"pod_labels":            {`{ mesh = "on" }`, `{ mesh = "off", team = "pods" }`},
		"priority_class_name":   {`"system-cluster-critical"`},
		"queue_name":            {`"team"`, `"other"`},
		"queue_scheduler":       {`"kai"`, `"kueue"`},
		"ports": {`[{ name = "metrics", port = 9090 }]`,
			`[{ name = "metrics", port = 9091, app_protocol = "http" },
				{ name = "dns", port = 9090, protocol = "UDP" }]`},
		"pre_stop": {`{ sleep = "5s" }`, `{ exec = { command = ["drain"] } }`},
		"probes": {`{}`, `{ readiness = { tcp_socket = {} } }`,
			`{ startup = { exec = { command = ["a"] }, period = 2 },
				liveness = { http_get = { path = "/", port = 1 } } }`},
		"service": {`{}`, `{ type = "NodePort", session_affinity = "ClientIP" }`,
			`{ type = "LoadBalancer", annotations = { a = "b" }, load_balancer_source_ranges = ["10.0.0.0/8"] }`},
		"replicas":           {`0`, `1`, `2`, `3`},
		"runtime_class_name": {`"nvidia"`},
		"secrets": {`[{ name = "token", env_vars = ["TOKEN"] }]`, `[{ name = "keys", mount_path = "/keys" },
			{ name = "token", env_keys = { HF_TOKEN = "token" } }]`},
		"service_account_name":     {`"default"`},
		"service_template":         {`jsonencode({ spec = { sessionAffinity = "ClientIP" } })`},
		"shared_memory_limit":      {`"64Mi"`},
		"strategy":                 {`"Recreate"`, `"RollingUpdate"`},
		"suspend":                  {`true`, `false`},
		"termination_grace_period": {`"5s"`, `"0s"`},
		"tolerations":              {`[{ key = "spot", operator = "Exists" }]`, `[]`},
		"topology_spread_constraints": {`[{ topology_key = "kubernetes.io/hostname" }]`,
			`[{ topology_key = "kubernetes.io/os", max_skew = 1 }]`,
			`[{ topology_key = "kubernetes.io/os", max_skew = 2, when_unsatisfiable = "ScheduleAnyway" }]`},
		"volume_claim_templates": {`[{ name = "own-NAME", size = "1Gi", mount_path = "/own" }]`,
			`[{ name = "own-NAME", size = "2Gi", mount_path = "/own" }]`},
		"volumes": {`[{ empty_dir = {}, mount_path = "/scratch" }, { claim_name = "data", mount_path = "/data" }]`,
			`[{ name = "x", empty_dir = { medium = "Memory", size_limit = "0.5Gi" }, mount_path = "/scratch" },
				{ config_map = "a", mount_path = "/config", sub_path = "a.json", read_only = true }]`,
			`[{ host_path = { path = "/mnt", type = "Directory" }, mount_path = "/scratch" },
				{ image = { reference = "models:1" }, mount_path = "/models" }, { secret = "s", mount_path = "/s" }]`},
		"working_dir": {`"/work"`, `"/app"`},
	}
}

func without() map[string]string {
	all := aside(map[string]string{"renderer_revision": "is not about objects", "on_expiry": "is not about objects",
		"on_not_ready": "is not about objects", "wait_for_completion": "is not about objects"})
	for _, name := range []string{"args", "autoscale", "command", "distribute", "image", "image_ref", "job", "manifest",
		"manifest_only", "pod_template_path", "port", "runtime", "selector"} {
		all[name] = formed
	}
	return all
}
