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
	forms []string
	// values are the values of each attribute that a declaration may have.
	values map[string][]string
	// without are attributes that chains do not vary, and why.
	without map[string]string
}

func subjects() []subject {
	const others = "is not about objects"
	aside := func(reasons map[string]string) map[string]string {
		for _, name := range []string{"name", "namespace", "adopt_existing", "deletion_protection", "sensitive_fields",
			"timeouts"} {
			reasons[name] = others
		}
		return reasons
	}
	labels, annotations := []string{`{ a = "b" }`, `{ a = "c", d = "" }`, `{}`}, []string{`{ note = "x" }`, `{}`}
	return []subject{
		{typ: "kt_compute", common: `on_not_ready = "ignore"`, forms: forms(), values: values(), without: without()},
		{typ: "kt_image", forms: []string{`base = "python3.12"`, `base = "ray:2.40.0"`, `image_id = "a:1"`,
			`image_id = "a@sha256:` + strings.Repeat("0", 64) + `"`,
			`dockerfile = "FROM a:2\nRUN true\nENV A=b"`}, values: map[string][]string{
			"labels": labels, "annotations": annotations, "install_cmd": {`"uv pip install"`}, "python_path": {`"/py"`},
			"steps": {`[{ run_bash = "true" }]`, `[{ pip_install = ["torch"] }, { set_env_vars = { A = "b" } }]`, `[]`},
		}, without: aside(map[string]string{"base": "part of a form", "image_id": "part of a form",
			"dockerfile": "part of a form", "pin_digest": "needs a registry"})},
		{typ: "kt_secret", forms: []string{`values = { A = "1" }`, `values = { A = "2", B = "" }`,
			`values_wo = { A = "1" }`, `values_wo = { A = "3", C = "x" }`}, values: map[string][]string{
			"labels": labels, "annotations": annotations, "mount_path": {`"/keys"`, `"/other"`},
			"default_mode": {`"0400"`, `"0440"`},
		}, without: aside(map[string]string{"values": "part of a form", "values_wo": "part of a form",
			"values_wo_version": "does not compare values", "from_env": "of the machine", "path": "of the machine",
			"filenames": "of the machine", "provider_name": "of the machine"})},
	}
}

func forms() []string {
	template := `{metadata: {labels: {app: mine}}, spec: {containers: [{name: kubetorch, image: \"a:1\"}]}}`
	return []string{
		"",
		`image = "a:1"`,
		`image = "vllm/vllm-openai:v0.11.0"` + "\n" + `command = ["vllm", "serve"]` + "\nport = 8000",
		`image = "mine:1"` + "\n" + `args = ["--verbose"]`,
		`image = "mine:1"` + "\n" + `command = ["sleep", "infinity"]`,
		`distribute = { type = "spmd", workers = 2 }`,
		`manifest = "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, template: ` + template + `}}"`,
		`manifest = "{apiVersion: apps/v1, kind: Deployment, spec: {minReadySeconds: 1, template: ` + template + `}}"`,
	}
}

func values() map[string][]string {
	return map[string][]string{
		"affinity": {`jsonencode({ nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution = [{
			weight = 1, preference = { matchExpressions = [{ key = "a", operator = "Exists" }] } }] } })`},
		"allowed_serialization": {`["json"]`, `["json", "pickle"]`},
		"annotations":           {`{ note = "x" }`, `{ note = "y", other = "" }`, `{}`},
		"config_maps": {`[{ name = "a", env_vars = ["X"] }]`,
			`[{ name = "a", env_keys = { Y = "y" }, mount_path = "/a" }, { name = "b", mount_path = "/b" }]`},
		"cpus":                  {`"100m"`, `"0.2"`, `1`},
		"disk_size":             {`"1Gi"`, `"2G"`},
		"endpoint":              {`{ selector = { app = "mine" } }`},
		"env_from":              {`[{ secret = "a" }]`, `[{ config_map = "a", prefix = "P_" }, { secret = "a" }]`},
		"env_vars":              {`{ A = "b" }`, `{ A = "c", B = "" }`, `{}`},
		"expose":                {`{ hosts = ["a.example.com"] }`, `{ hosts = ["b.example.com"], path = "/v1" }`},
		"extended_resources":    {`{}`},
		"freeze":                {`true`, `false`},
		"gpu_anti_affinity":     {`true`, `false`},
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
		"memory":                {`"256Mi"`, `"0.5Gi"`},
		"node_selector":         {`{ "kubernetes.io/os" = "linux" }`},
		"pod_disruption_budget": {`{ min_available = 1 }`, `{ max_unavailable = 1 }`},
		"pod_labels":            {`{ mesh = "on" }`, `{ mesh = "off", team = "pods" }`},
		"priority_class_name":   {`"system-cluster-critical"`},
		"replicas":              {`0`, `1`, `2`, `3`},
		"init_containers": {`[{ name = "fetch", image = "a:1", env_vars = { A = "b", EMPTY = "" } }]`,
			`[{ name = "fetch", image = "a:2", command = ["x"], cpus = 1, limits = { cpu = 2 } },
				{ name = "check", image = "a:2", env_from = [{ secret = "a" }] }]`, `[]`},
		"sidecars": {`[{ name = "proxy", image = "a:1", ports = [{ container_port = 81 }] }]`,
			`[{ name = "logs", image = "a:1", memory = "64Mi", env_vars = { A = "c" } },
				{ name = "proxy", image = "a:1", args = ["y"] }]`},
		"security_context": {`{ run_as_user = 0, privileged = false }`,
			`{ run_as_non_root = true, run_as_user = 1000, fs_group = 0, supplemental_groups = [1, 2],
				seccomp_profile = { type = "RuntimeDefault" }, allow_privilege_escalation = false,
				read_only_root_filesystem = false, capabilities = { drop = ["NET_RAW"] } }`,
			`{ capabilities = { add = ["IPC_LOCK", "SYS_PTRACE"] } }`, `{}`},
		"host_network":             {`true`, `false`},
		"restart_triggers":         {`{ a = "1" }`, `{ a = "2", b = "" }`, `{}`},
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
		"volumes": {`[{ empty_dir = {}, mount_path = "/scratch" }, { claim_name = "data", mount_path = "/data" }]`,
			`[{ name = "x", empty_dir = { medium = "Memory", size_limit = "0.5Gi" }, mount_path = "/scratch" },
				{ config_map = "a", mount_path = "/config", sub_path = "a.json", read_only = true }]`,
			`[{ host_path = { path = "/mnt", type = "Directory" }, mount_path = "/scratch" },
				{ image = { reference = "models:1" }, mount_path = "/models" }, { secret = "s", mount_path = "/s" }]`},
		"working_dir": {`"/work"`, `"/app"`},
	}
}

func without() map[string]string {
	const formed, elsewhere, notOfObjects = "part of a form", "needs objects of others", "is not about objects"
	return map[string]string{
		"args": formed, "command": formed, "distribute": formed, "image": formed, "manifest": formed, "port": formed,
		"name": formed, "runtime": formed, "manifest_only": formed, "pod_template_path": formed, "selector": formed,
		"autoscale": elsewhere, "gpu_memory": elsewhere, "image_ref": elsewhere, "queue_name": elsewhere,
		"queue_scheduler": elsewhere, "runtime_class_name": elsewhere, "secrets": elsewhere,
		"volume_claim_templates": elsewhere,
		"adopt_existing":         notOfObjects, "deletion_protection": notOfObjects, "namespace": notOfObjects,
		"on_expiry": notOfObjects, "on_not_ready": notOfObjects, "renderer_revision": notOfObjects,
		"sensitive_fields": notOfObjects, "timeouts": notOfObjects,
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
	for _, s := range subjects() {
		for _, a := range schemas.ResourceSchemas[s.typ].Block.Attributes {
			_, varied := s.values[a.Name]
			if _, excluded := s.without[a.Name]; (a.Optional || a.Required) && varied == excluded {
				t.Errorf("%s: %s has values: %t, and a reason to have none: %t", s.typ, a.Name, varied, excluded)
			}
		}
	}
}

// declaration returns a random one. It may be invalid, or not fit the cluster.
func (s subject) declaration(random *rand.Rand, name string) string {
	lines := []string{fmt.Sprintf("name = %q", name), s.common, s.forms[random.IntN(len(s.forms))]}
	for _, attribute := range slices.Sorted(maps.Keys(s.values)) {
		if of := s.values[attribute]; random.IntN(5) == 0 {
			lines = append(lines, fmt.Sprintf("%s = %s", attribute, of[random.IntN(len(of))]))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
