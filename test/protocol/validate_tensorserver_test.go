package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// badTensorServers returns invalid combinations with the runtimes of operators.
func badTensorServers() []badInput {
	cases := []badInput{
		{name: "more than one tensor server", config: `{"runtime": "skytorch", "replicas": 2}`, at: "replicas",
			text: `replicas is 2, but the operator of runtime "skytorch" runs one pod: remove it, or set suspend = ` +
				`true to run none.`},
		{name: "no tensor server", config: `{"runtime": "kpu", "replicas": 0}`, at: "replicas",
			text: "set suspend = true to run none"},
		{name: "name too long for a StatefulSet", config: `{"name": "` + strings.Repeat("a", 53) +
			`", "runtime": "skytorch"}`, at: "name",
			text: "name has 53 characters. The pod of a tensor server has a label with the name, a dash and a " +
				"hash. The value of a label can have at most 63: use a name of at most 52."},
		{name: "label of the operator", config: `{"runtime": "kpu", "labels": {"app.kubernetes.io/name": "mine"}}`,
			at: "labels",
			text: `labels sets app.kubernetes.io/name to "mine", but it must be "kpu-torch-server" here: the ` +
				`operator selects the pods with it. Remove it.`},
		{name: "template that changes the label",
			config: `{"runtime": "kpu", "service_template": "{\"spec\": {\"labels\": {\"kubetorch.com/service\": ` +
				`\"x\"}}}"}`, at: "service_template", text: "changes spec.labels.kubetorch.com/service"},
		{name: "port of a tensor server", config: `{"runtime": "skytorch", "image": "a:1", "port": 8000}`, at: "port",
			text: `port has no field in the Compute resource of runtime "skytorch"`},
		{name: "claim template of Kubetorch", config: `{"volume_claim_templates": [{"name": "a", "size": "1Gi",
			"mount_path": "/a"}]}`,
			at: "volume_claim_templates", text: "volume_claim_templates applies only to a tensor server"},
		{name: "Compute as a manifest", config: withYAML(`{apiVersion: compute.skytorch.dev/v1alpha1, kind: Compute}`),
			at: "manifest", text: "is a Compute of compute.skytorch.dev: set runtime instead"},
		{name: "empty command", config: `{"runtime": "kpu", "command": []}`, at: "command", text: "at least 1"},
		{name: "null among the args", config: `{"runtime": "kpu", "args": ["a", null]}`, at: "args[1]",
			text: "is null"},
		{name: "claim template without a name",
			config: `{"runtime": "skytorch", "volume_claim_templates": [{"size": "1Gi", "mount_path": "/a"}]}`,
			at:     "volume_claim_templates[0].name",
			text:   "Must set a configuration value"},
		{name: "claim template of nothing", config: `{"runtime": "skytorch", "volume_claim_templates": [{"name": "a",
			"size": "0", "mount_path": "/a"}]}`, at: "volume_claim_templates[0].size", text: "must be more than zero"},
		{name: "claim template without a size",
			config: `{"runtime": "skytorch", "volume_claim_templates": [{"name": "a", "mount_path": "/a"}]}`,
			at:     "volume_claim_templates[0].size", text: "Must set a configuration value"},
		{name: "claim template without a path",
			config: `{"runtime": "skytorch", "volume_claim_templates": [{"name": "a", "size": "1Gi"}]}`,
			at:     "volume_claim_templates[0].mount_path", text: "Must set a configuration value"},
		{name: "claim template of no size that is one",
			config: `{"runtime": "skytorch", "volume_claim_templates": [{"name": "a", "size": "1gb",
			"mount_path": "/a"}]}`, at: "volume_claim_templates[0].size", text: `did you mean "1G"`},
		{name: "name of a claim template",
			config: `{"runtime": "skytorch", "volume_claim_templates": [{"name": "My_Data", "size": "1Gi",
			"mount_path": "/a"}]}`, at: "volume_claim_templates[0].name", text: `Did you mean "my-data"?`},
		{name: "access mode of a claim template",
			config: `{"runtime": "skytorch", "volume_claim_templates": [{"name": "a", "size": "1Gi", "mount_path": "/a",
			"access_mode": "RWO"}]}`, at: "volume_claim_templates[0].access_mode", text: `got: "RWO"`},
		{name: "secret as variables", config: `{"runtime": "skytorch", "secrets": [{"name": "a", "mount_path": "/a"},
			{"name": "b", "env_vars": ["B"]}]}`,
			at: "secrets[1].env_vars", text: "secrets[1].env_vars exposes keys of a Secret as variables, which its " +
				"operator does not support"},
		{name: "claim templates of one name", config: `{"runtime": "skytorch", "volume_claim_templates": [{"name": "a",
			"size": "1Gi", "mount_path": "/a"}, {"name": "a", "size": "1Gi", "mount_path": "/b"}]}`,
			at: "volume_claim_templates[1].name", text: "is a, which is already the name of volume_claim_templates[0]"},
		{name: "claim template where a claim is", config: `{"runtime": "skytorch", "volumes": [{"claim_name": "x",
			"mount_path": "/a"}], "volume_claim_templates": [{"name": "a", "size": "1Gi", "mount_path": "/a/"}]}`,
			at: "volume_claim_templates[0].mount_path", text: "volumes[0] is already mounted: use another path"},
	}
	for _, name := range []string{"PORT", "HOST", "LOG_LEVEL"} {
		for runtime, prefix := range map[string]string{"skytorch": "SKYTORCH_", "kpu": "KPU_"} {
			cases = append(cases, badInput{
				name: prefix + name + " of the operator", config: fmt.Sprintf(`{"runtime": %q, "env_vars": {%q: "1"}}`,
					runtime, prefix+name),
				at: fmt.Sprintf("env_vars[%q]", prefix+name), text: "env_vars sets " + prefix + name +
					", which the operator sets",
			})
		}
	}
	for _, attribute := range slices.Sorted(maps.Keys(beyondKPU())) {
		cases = append(cases, badInput{
			name: attribute + " with KPU", config: fmt.Sprintf(`{"runtime": "kpu", %q: %s}`, attribute,
				beyondKPU()[attribute]),
			at: attribute, text: attribute + " has no field in the Compute of KPU",
		})
	}
	for _, attribute := range slices.Sorted(maps.Keys(meaningless())) {
		cases = append(cases, badInput{
			name: attribute + " of a tensor server", config: fmt.Sprintf(`{"runtime": "skytorch", %q: %s}`, attribute,
				meaningless()[attribute]),
			at: attribute, text: attribute +
				` has no field in the Compute resource of runtime "skytorch": remove it.`,
		})
	}
	return cases
}

// beyondKPU returns the attributes for which the Compute of KPU has no fields.
func beyondKPU() map[string]string {
	return map[string]string{
		"cpus": `"1"`, "memory": `"1Gi"`, "disk_size": `"1Gi"`, "gpus": `1`,
		"node_selector": `{"a": "b"}`, "gpu_type": `"L4"`, "tolerations": `[{"operator": "Exists"}]`,
		"service_account_name":   `"a"`,
		"image_pull_secrets":     `["registry"]`,
		"volumes":                `[{"claim_name": "x", "mount_path": "/a"}]`,
		"secrets":                `[{"name": "a", "mount_path": "/a"}]`,
		"volume_claim_templates": `[{"name": "a", "size": "1Gi", "mount_path": "/a"}]`, "gpu_anti_affinity": `true`,
	}
}

// meaningless returns the attributes that operators do not support.
func meaningless() map[string]string {
	return map[string]string{
		"autoscale": `{}`, "distribute": `{"type": "ray", "workers": 2}`,
		"manifest": `"{apiVersion: apps/v1, kind: Deployment}"`,
		"selector": `{"app": "x"}`, "endpoint": `{"url": "http://x"}`,
		"image_ref":  `{"image": "a", "setup": {"config_map": "a", "digest": "b"}}`,
		"gpu_memory": `"4Gi"`, "shared_memory_limit": `"1Gi"`, "priority_class_name": `"high"`,
		"runtime_class_name": `"gvisor"`, "image_pull_policy": `"Always"`,
		"working_dir": `"/x"`, "queue_name": `"q"`, "freeze": `true`, "inactivity_ttl": `"2h"`,
		"logging_config":        `{}`,
		"allowed_serialization": `["json"]`,
		"init_containers":       `[{"name": "a", "image": "a:1"}]`, "sidecars": `[{"name": "a", "image": "a:1"}]`,
		"security_context": `{"run_as_user": 1}`, "host_network": `true`, "restart_triggers": `{"a": "b"}`,
		"config_maps": `[{"name": "c", "mount_path": "/c"}]`, "env_from": `[{"secret": "s"}]`,
	}
}

func goodTensorServers() map[string]string {
	return map[string]string{
		"tensor server":                   `{"runtime": "skytorch"}`,
		"tensor server of KPU":            `{"runtime": "kpu", "replicas": 1, "suspend": true}`,
		"tensor server under a long name": `{"name": "` + strings.Repeat("a", 52) + `", "runtime": "skytorch"}`,
		"tensor server on GPUs": `{"runtime": "skytorch", "gpus": 2, "gpu_type": "L4", "cpus": "4",
			"memory": "16Gi", "disk_size": "1Gi", "tolerations": [{"operator": "Exists"}]}`,
		"tensor server off GPUs": `{"runtime": "skytorch", "gpus": 0, "gpu_anti_affinity": true}`,
		"tensor server with default values": `{"runtime": "skytorch", "freeze": false,
			"labels": {"app.kubernetes.io/name": "skytorch-server", "app.kubernetes.io/instance": "trainer"}}`,
		"tensor server with an empty arg": `{"runtime": "skytorch", "command": ["/server"],
			"args": ["--name", ""]}`,
		"tensor server with /dev/shm": `{"runtime": "skytorch", "volume_claim_templates": [{"name": "shm",
			"size": "1Gi", "mount_path": "/dev/shm"}]}`,
		"tensor server with a claim twice": `{"runtime": "skytorch", "volumes": [{"claim_name": "a",
			"mount_path": "/a"}, {"claim_name": "a", "mount_path": "/b", "read_only": true}]}`,
		"tensor server with a template": `{"runtime": "skytorch", "service_template": "{\"spec\": {\"override\": ` +
			`{\"imagePullSecrets\": [{\"name\": \"x\"}]}}}"}`,
		"tensor server with empty collections": `{"runtime": "skytorch", "volumes": [], "volume_claim_templates": [],
			"image_pull_secrets": [],
			"secrets": [], "env_vars": {}}`,
		"variables of the server": `{"runtime": "skytorch", "env_vars": {"SKYTORCH_METRICS_SOURCES": ` +
			`"nvidia-gpu", "SKYTORCH_GRPC_COMPRESSION": "gzip", "KPU_PORT": "1", "PORT": "1"}}`,
		"labels of another with Kubetorch": `{"labels": {"app.kubernetes.io/name": "mine"}}`,
	}
}
