package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// everything returns configurations that together set each configurable
// attribute. None of them sets mutually exclusive attributes.
func everything() map[string]string {
	const (
		around = `"namespace": "ml", "labels": {"team": "ml"}, "annotations": {"note": "x"}, "inactivity_ttl": "2h",
			"on_expiry": "keep_suspended",
			"launch_timeout": "30m", "kubetorch_version": "0.5.0", "renderer_revision": 1,
			"allowed_serialization": ["json"],
			"logging_config": {"level": "info", "stream_logs": true, "include_system_logs": false,
			"include_events": true, "include_name": true,
				"grace_period": "2s", "poll_timeout": "1s", "shutdown_grace_period": "5s"},
			"runtime": "kubetorch", "on_not_ready": "error", "adopt_existing": false, "deletion_protection": false,
			"timeouts": {"create": "20m", "update": "20m", "delete": "10m"}`
		inPod = around + `, "cpus": "1", "memory": "4Gi", "disk_size": "10Gi", "shared_memory_limit": "1Gi",
			"node_selector": {"zone": "a"}, "limits": {"cpu": "2"}, "extended_resources": {"rdma/hca": "1"},
			"pod_labels": {"mesh": "on"}, "affinity": "{\"nodeAffinity\": {}}",
			"topology_spread_constraints": [{"topology_key": "zone", "max_skew": 2,
				"when_unsatisfiable": "ScheduleAnyway"}],
			"tolerations": [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute",
			"toleration_seconds": 60}],
			"service_account_name": "robot", "priority_class_name": "high",
			"runtime_class_name": "gvisor", "image_pull_policy": "Always",
			"image_pull_secrets": ["registry"],
			"sensitive_fields": ["metadata.annotations"],
			"working_dir": "/app", "image": "pytorch:2.4",
			"env_vars": {"A": "b"}, "secrets": [{"name": "hf", "env_vars": ["HF_TOKEN"], "env_keys": {"T": "t"},
			"mount_path": "/hf",
			"default_mode": "0400"}],
			"volumes": [{"claim_name": "data", "mount_path": "/data", "read_only": true}],
			"load": {"module_name": "work", "cls_or_fn_name": "Model", "file_path": "/app", "callable_type": "cls",
			"init_args": "{\"size\": 7}"},
			"freeze": false, "gpu_anti_affinity": false`
		gpus  = `"gpus": 1, "gpu_type": "L4"`
		queue = `"queue_name": "q", "queue_scheduler": "kueue"`
	)
	const sources = `"config_maps": [{"name": "settings", "env_vars": ["MODE"], "env_keys": {"LEVEL": "level"},
			"mount_path": "/settings", "default_mode": "0440"}],
			"env_from": [{"secret": "db", "prefix": "DB_"}, {"config_map": "defaults"}],
			"volumes": [{"name": "data", "claim_name": "data", "mount_path": "/data", "read_only": true},
			{"config_map": "settings", "mount_path": "/a"}, {"secret": "keys", "mount_path": "/b", "sub_path": "key"},
			{"empty_dir": {"medium": "Memory", "size_limit": "1Gi"}, "mount_path": "/c"},
			{"host_path": {"path": "/mnt", "type": "Directory"}, "mount_path": "/d"},
			{"image": {"reference": "models:1", "pull_policy": "Always"}, "mount_path": "/e"}],
			"security_context": {"run_as_user": 1000, "run_as_group": 1000, "run_as_non_root": true, "fs_group": 2000,
			"supplemental_groups": [3000], "seccomp_profile": {"type": "Localhost", "localhost_profile": "a.json"},
			"privileged": false, "allow_privilege_escalation": false, "read_only_root_filesystem": true,
			"capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]}},
			"init_containers": [{"name": "fetch", "image": "fetch:1", "image_pull_policy": "Always",
			"command": ["fetch"], "args": ["-v"], "working_dir": "/w", "env_vars": {"A": "b"},
			"env_from": [{"secret": "s", "prefix": "S_"}, {"config_map": "c"}], "cpus": "1", "memory": "1Gi",
			"limits": {"memory": "2Gi"}, "ports": [{"container_port": 9000, "name": "health"}],
			"volume_mounts": [{"name": "data", "mount_path": "/data", "sub_path": "a", "read_only": false}]}],
			"sidecars": [{"name": "proxy", "image": "proxy:1", "image_pull_policy": "Never", "command": ["proxy"],
			"args": ["-v"], "working_dir": "/w", "env_vars": {"A": "b"},
			"env_from": [{"secret": "s", "prefix": "S_"}, {"config_map": "c"}], "cpus": "1", "memory": "1Gi",
			"limits": {"memory": "2Gi"},
			"volume_mounts": [{"name": "data", "mount_path": "/data", "sub_path": "a", "read_only": true}]}],
			"host_network": true, "restart_triggers": {"settings": "1"}`
	set := func(parts ...string) string { return "{" + strings.Join(parts, ", ") + "}" }
	return map[string]string{
		"pods": set(inPod, gpus, queue, `"replicas": 2, "suspend": false, "endpoint": {"selector": {"app": "x"}},
			"service_template": "{\"spec\": {\"minReadySeconds\": 5}}"`),
		"sources and other containers": set(around, sources),
		"server of one's own": set(around, gpus, `"image": "vllm/vllm-openai:v0.11.0", "command": ["vllm"],
			"args": ["serve"], "port": 8000, "health_path": "/health", "env_vars": {"A": "$(B)"}, "replicas": 2,
			"sidecars": [{"name": "metrics", "image": "m:1", "ports": [{"container_port": 9000, "name": "metrics"}]}],
			"strategy": "RollingUpdate", "max_surge": "1", "max_unavailable": "25%",
			"pre_stop": {"sleep": "10s"}, "termination_grace_period": "2m", "suspend": false,
			"pod_disruption_budget": {"min_available": "1"},
			"expose": {"hosts": ["a.example"], "path": "/v1", "protocol": "http", "annotations": {"a": "b"},
			"gateway": {"name": "public", "namespace": "gateways", "section_name": "https"}}`),
		"job": set(around, gpus, queue, `"image": "trainer:1", "command": ["python", "train.py"], "replicas": 4,
			"wait_for_completion": true,
			"job": {"completions": 8, "backoff_limit": 2, "active_deadline": "12h", "ttl": "1h", "pod_failure_policy": [
			{"action": "FailJob", "on_exit_codes": {"container_name": "kubetorch", "operator": "In", "values": [42]}},
			{"action": "Ignore", "on_pod_conditions": [{"type": "DisruptionTarget", "status": "True"}]}]}`),
		"server of one's own with a maximum": set(around, `"args": ["serve"], "port": 8000,
			"pod_disruption_budget": {"max_unavailable": "50%"},
			"expose": {"hosts": ["a.example"], "ingress_class_name": "nginx", "tls_secret_name": "tls"}`),
		"server of one's own with further ports": set(around, `"args": ["serve"],
			"ports": [{"name": "metrics", "port": 9090, "protocol": "TCP", "app_protocol": "http"},
				{"name": "grpc", "port": 9000}],
			"service": {"type": "LoadBalancer", "annotations": {"a": "b"}, "load_balancer_class": "example.com/nlb",
				"load_balancer_source_ranges": ["10.0.0.0/8"], "external_traffic_policy": "Local",
				"session_affinity": "ClientIP"},
			"probes": {
				"startup": {"grpc": {"port": 9000, "service": "health"}, "initial_delay": "1s", "period": "2s",
					"timeout": "3s", "failure_threshold": 4, "success_threshold": 1},
				"readiness": {"http_get": {"path": "/ready", "port": 8000, "scheme": "HTTPS"}, "initial_delay": "1s",
					"period": "2s", "timeout": "3s", "failure_threshold": 4, "success_threshold": 2},
				"liveness": {"tcp_socket": {"port": 8000}, "initial_delay": "1s", "period": "2s", "timeout": "3s",
					"failure_threshold": 4, "success_threshold": 1}},
			"pre_stop": {"http_get": {"path": "/drain", "port": 8000, "scheme": "HTTP"}}`),
		"server of one's own with other probes": set(around, `"args": ["serve"], "port": 8000,
			"probes": {"startup": {"http_get": {"path": "/", "port": 1, "scheme": "HTTP"}},
				"readiness": {"grpc": {"port": 9000, "service": "health"}},
				"liveness": {"exec": {"command": ["check"]}}},
			"pre_stop": {"exec": {"command": ["drain"]}}`),
		"server of one's own with yet other probes": set(around, `"args": ["serve"], "port": 8000,
			"probes": {"startup": {"tcp_socket": {"port": 1}}, "readiness": {"exec": {"command": ["check"]}},
				"liveness": {"http_get": {"path": "/", "port": 1, "scheme": "HTTP"}}}`),
		"server of one's own with the last probes": set(around, `"args": ["serve"], "port": 8000,
			"probes": {"startup": {"exec": {"command": ["check"]}}, "readiness": {"tcp_socket": {"port": 1}},
				"liveness": {"grpc": {"port": 9000, "service": "health"}}}`),
		"pods on a shared GPU": set(inPod,
			`"gpu_memory": "4Gi", "queue_name": "q", "queue_scheduler": "kai", "suspend": true`),
		"autoscaled": set(inPod, gpus, `"endpoint": {"url": "http://x"},
			"service_template": "{\"spec\": {\"traffic\": [{\"percent\": 100, \"latestRevision\": true}]}}",
			"autoscale": {"min_scale": 1, "max_scale": 4, "initial_scale": 2, "target": 10, "target_utilization": 80,
			"metric": "rps", "window": "60s", "concurrency": 20,
				"scale_down_delay": "2m", "scale_to_zero_pod_retention_period": "5m",
				"autoscaler_class": "kpa.autoscaling.knative.dev", "progress_deadline": "20m",
				"extra_annotations": {"panic-window-percentage": "20.0", "min-scale": "1"}}`),
		"autoscaled by processor": set(inPod, `"autoscale": {"metric": "cpu", "target": 70,
			"autoscaler_class": "hpa.autoscaling.knative.dev"}`),
		"autoscaled by metrics": set(around, gpus, `"command": ["serve"], "autoscale": {"scaler": "hpa",
			"min_scale": 0, "max_scale": 4, "metrics": [
				{"resource": {"name": "cpu", "target": {"average_utilization": 70}}},
				{"pods": {"metric": {"name": "waiting", "selector": {"match_labels": {"a": "b"}}},
					"target": {"average_value": "5"}}},
				{"object": {"described_object": {"api_version": "v1", "kind": "Service", "name": "a"},
					"metric": {"name": "requests"}, "target": {"value": "5"}}},
				{"resource": {"name": "memory", "target": {"average_value": "1Gi"}}},
				{"object": {"described_object": {"kind": "Service", "name": "a"},
					"metric": {"name": "queue", "selector": {"match_labels": {"a": "b"}}},
					"target": {"average_value": "5"}}},
				{"external": {"metric": {"name": "queue"}, "target": {"average_value": "5"}}},
				{"external": {"metric": {"name": "queue", "selector": {"match_labels": {"a": "b"}}},
					"target": {"value": "5"}}}],
			"behavior": {"scale_up": {"stabilization_window_seconds": 0, "select_policy": "Max",
				"policies": [{"type": "Pods", "value": 1, "period_seconds": 60}]},
				"scale_down": {"stabilization_window_seconds": 300, "select_policy": "Disabled",
				"policies": [{"type": "Percent", "value": 10, "period_seconds": 60}]}}}`),
		"autoscaled by KEDA": set(around, gpus, `"command": ["serve"], "autoscale": {"scaler": "keda",
			"min_scale": 0, "max_scale": 4, "polling_interval": "10s", "cooldown_period": "5m",
			"behavior": {"scale_up": {"stabilization_window_seconds": 30}},
			"triggers": [{"type": "prometheus", "name": "waiting", "metric_type": "AverageValue",
				"metadata": {"threshold": "5"},
				"authentication_ref": {"name": "prometheus", "kind": "TriggerAuthentication"}}]}`),
		"distributed by Ray": set(inPod, gpus, queue,
			`"service_template": "{\"spec\": {\"headGroupSpec\": {\"serviceType\": \"ClusterIP\"}}}",
			"distribute": {"type": "ray", "workers": 4, "quorum_workers": 2, "quorum_timeout": "5m",
			"monitor_members": true,
			"args": "{\"rayVersion\": \"2.46.0\"}"}`),
		"distributed by PyTorch": set(`"name": "`+strings.Repeat("a", 54)+`"`, inPod, gpus, queue,
			`"suspend": true, "endpoint": {"selector": {"app": "x"}},
			"distribute": {"type": "pytorch", "workers": 4, "quorum_workers": 4, "quorum_timeout": "5m",
			"monitor_members": false,
			"args": "{\"num_proc\": 8}"}`),
		"PyTorchJob": withYAML(pyTorchJob, `"pod_template_path": "spec.pytorchReplicaSpecs.Master.template"`,
			`"replicas": 4`,
			`"service_template": "{\"spec\": {\"nprocPerNode\": \"8\"}}"`, `"selector": {"role": "head"}`,
			`"suspend": false, "manifest_only": false`, inPod, gpus, queue),
		"unknown kind": withYAML(workflow, `"pod_template_path": "spec.templates.0.pod"`,
			`"endpoint": {"url": "http://x"}`, inPod, gpus, queue),
		"existing pods": set(around, `"selector": {"app": "x", "role": "head"}, "endpoint": {"url": "http://x"},
			"queue_scheduler": null,
			"gpus": 0, "freeze": false, "suspend": false, "gpu_anti_affinity": false`),
		"tensor server": set(`"namespace": "ml", "runtime": "skytorch", "labels": {"team": "ml"},
			"annotations": {"note": "x"}, "launch_timeout": "30m",
			"on_not_ready": "warn", "adopt_existing": true, "deletion_protection": false, "timeouts": {"create": "20m"},
			"replicas": 1, "suspend": false,
			"cpus": "4", "memory": "16Gi", "disk_size": "10Gi", "node_selector": {"zone": "a"},
			"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}],
			"service_account_name": "robot", "image": "server:1", "command": ["/server"], "args": ["--limit", "1"],
			"env_vars": {"A": "b"},
			"secrets": [{"name": "hf", "mount_path": "/hf", "default_mode": "0400"}], "volumes": [{"claim_name": "data",
			"mount_path": "/data", "read_only": true}],
			"volume_claim_templates": [{"name": "scratch", "size": "100Gi", "mount_path": "/scratch",
			"storage_class": "fast", "access_mode": "ReadWriteOnce"}],
			"service_template": "{\"spec\": {\"override\": {}}}"`, gpus),
		"image of a kt_image": set(around, `"image_ref": {"image": "pytorch:2.4",
			"setup": {"config_map": "kt-image-train", "digest": "abc",
			"python_path": "/usr/bin/python3", "install_cmd": "pip install kubetorch"}}`),
		"existing pods with an endpoint selector": set(around,
			`"selector": {"app": "x"}, "endpoint": {"selector": {"app": "x", "role": "head"}}`),
	}
}

// withUnknown returns a configuration with an unknown value at a path.
func withUnknown(t *testing.T, config tftypes.Value, at *tftypes.AttributePath) tftypes.Value {
	t.Helper()
	return with(t, config, at, tftypes.UnknownValue)
}

// with returns a configuration with another value at a path.
func with(t *testing.T, config tftypes.Value, at *tftypes.AttributePath, value any) tftypes.Value {
	t.Helper()
	replace := func(path *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if path.Equal(at) {
			return tftypes.NewValue(v.Type(), value), nil
		}
		return v, nil
	}
	changed, err := tftypes.Transform(config, replace)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// places returns the paths of all values that are set, including nested ones.
func places(t *testing.T, config tftypes.Value) []*tftypes.AttributePath {
	t.Helper()
	var all []*tftypes.AttributePath
	err := tftypes.Walk(config, func(path *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		if len(path.Steps()) > 0 && !v.IsNull() {
			all = append(all, path)
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestComputeReportsNothingForAnUnknownValue(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for name, config := range everything() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			complete := jsonConfig(t, o.types["kt_compute"], withName(config))
			for _, f := range o.validate(t, "kt_compute", complete) {
				t.Fatalf("fully known: %s", f)
			}
			set := places(t, complete)
			if len(set) < 25 {
				t.Fatalf("only %d values are set", len(set))
			}
			for _, at := range set {
				for _, f := range o.validate(t, "kt_compute", withUnknown(t, complete, at)) {
					t.Errorf("%s unknown: %s", pathText(at), f)
				}
			}
		})
	}
}

// A text that is invalid must not lead to advice about other attributes.
func TestComputeReportsAnInvalidTextOnlyAtItsAttribute(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for name, config := range everything() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			complete := jsonConfig(t, o.types["kt_compute"], withName(config))
			for _, at := range places(t, complete) {
				var text string
				if value, _, err := tftypes.WalkAttributePath(complete, at); err != nil ||
					!value.(tftypes.Value).Type().Is(tftypes.String) || value.(tftypes.Value).As(&text) != nil {
					continue
				}
				wrong := text + "?"
				found := o.validate(t, "kt_compute", with(t, complete, at, wrong))
				if !slices.ContainsFunc(found, func(f finding) bool { return f.path == pathText(at) }) {
					continue // any text is allowed
				}
				for _, f := range found {
					if f.path != pathText(at) {
						t.Errorf("%s = %q: %s", pathText(at), wrong, f)
					}
				}
			}
		})
	}
}

// During validation, kt_volume.x.ref is completely unknown.
func TestRequiredAttributesOfUnknownItemsAreNotMissing(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for config, want := range map[string][]string{
		`{"volumes": ["` + unknown + `"], "secrets": ["` + unknown + `"], "image_ref": "` + unknown + `"}`: nil,
		`{"volumes": ["` + unknown +
			`", {"claim_name": "a"}]}`: {"volumes[1].mount_path"},
		`{"runtime": "skytorch", "volume_claim_templates": ["` + unknown + `"]}`: nil,
		`{"image_ref": {"image": "a", "setup": "` + unknown + `"}}`:              nil,
	} {
		var at []string
		for _, f := range o.validate(t, "kt_compute", jsonConfig(t, o.types["kt_compute"], withName(config))) {
			at = append(at, f.path)
		}
		if !slices.Equal(at, want) {
			t.Errorf("%s: errors at %q, want %q", config, at, want)
		}
	}
	steps := `{"name": "torch", "image_id": "a", "steps": ["` + unknown + `", {"copy": "` + unknown + `"}]}`
	for _, f := range o.validate(t, "kt_image", jsonConfig(t, o.types["kt_image"], steps)) {
		t.Errorf("%s: %s", steps, f)
	}
}

// Two unknown attributes must not cause diagnostics either.
func TestComputeReportsNothingForTwoUnknownAttributes(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	modes := []string{"autoscale", "distribute", "manifest", "pod_template_path", "selector", "replicas", "name",
		"queue_scheduler", "suspend", "endpoint", "runtime", "volume_claim_templates", "command"}
	for name, config := range everything() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			complete := jsonConfig(t, o.types["kt_compute"], withName(config))
			for i, a := range modes {
				for _, b := range modes[:i] {
					unknowns := withUnknown(t, withUnknown(t, complete,
						tftypes.NewAttributePath().WithAttributeName(a)),
						tftypes.NewAttributePath().WithAttributeName(b))
					for _, f := range o.validate(t, "kt_compute", unknowns) {
						t.Errorf("%s and %s unknown: %s", a, b, f)
					}
				}
			}
		})
	}
}

// An unknown value may hide a problem, but must not cause additional diagnostics.
func TestComputeReportsNoAdditionalProblemsForUnknownValues(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for _, group := range [][]badInput{
		badCombinations(), badDuplicates(), badIdentity(), badAutoscale(), badDistribute(), badModes(),
		badManifests(), badManifestOnly(), badIdentityOfManifests(),
		badPodTemplatePaths(), badSelectors(), badImageSetups(),
		badTensorServers(), badOwnServers(), badDevices(), badPlacement(), badExposures(), badServing(),
		badSources(), badSecurity(), badContainers(), badScalers(),
	} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				complete := jsonConfig(t, o.types["kt_compute"], withName(c.config))
				for _, at := range places(t, complete) {
					for _, f := range o.validate(t, "kt_compute", withUnknown(t, complete, at)) {
						if f.path != c.at {
							t.Errorf("%s unknown: %s", pathText(at), f)
						}
					}
				}
			})
		}
	}
}

// computed returns the attributes that no configuration can set.
func computed() []string {
	return []string{"id", "mode", "service_name", "url", "grpc_target", "ready", "uid", "manifests",
		"sensitive_values"}
}

func TestConfigurationsWithUnknownsSetEveryAttribute(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	typ := o.types["kt_compute"]
	set := map[string]bool{}
	for _, config := range everything() {
		for _, at := range places(t, jsonConfig(t, typ, withName(config))) {
			set[attributeNames(at)] = true
		}
	}
	for _, name := range attributesOf(typ) {
		if root, _, _ := strings.Cut(name, "."); !set[name] && !slices.Contains(computed(), root) {
			t.Errorf("everything does not set %s", name)
		}
	}
}

// attributeNames returns a path without keys and indexes, such as secrets.name.
func attributeNames(at *tftypes.AttributePath) string {
	var names []string
	for _, step := range at.Steps() {
		if name, ok := step.(tftypes.AttributeName); ok {
			names = append(names, string(name))
		}
	}
	return strings.Join(names, ".")
}

// attributesOf returns the attributes of a type, including nested ones.
func attributesOf(typ tftypes.Type) []string {
	var all []string
	switch typ := typ.(type) {
	case tftypes.List:
		return attributesOf(typ.ElementType)
	case tftypes.Object:
		for name, of := range typ.AttributeTypes {
			all = append(all, name)
			for _, below := range attributesOf(of) {
				all = append(all, name+"."+below)
			}
		}
	}
	return all
}

func TestComputeReportsNothingIfAllIsUnknown(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	values := map[string]tftypes.Value{}
	for name, typ := range o.types["kt_compute"].AttributeTypes {
		values[name] = tftypes.NewValue(typ, tftypes.UnknownValue)
		if slices.Contains(computed(), name) {
			values[name] = tftypes.NewValue(typ, nil)
		}
	}
	for _, f := range o.validate(t, "kt_compute", tftypes.NewValue(o.types["kt_compute"], values)) {
		t.Error(f)
	}
}

// A value that may still become valid is not a conflict.
func TestComputeReportsNoConflictsForUnknownValues(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for _, config := range []string{
		`{"queue_name": "a", "queue_scheduler": "?", "labels": {"kueue.x-k8s.io/queue-name": "b"}}`,
		`{"queue_name": "?", "queue_scheduler": "kai"}`,
		`{"gpus": "?", "gpu_memory": "4Gi"}`,
		`{"gpus": 1, "gpu_memory": "?"}`,
		`{"gpu_memory": "?", "gpu_anti_affinity": true}`,
		`{"gpu_type": "?", "node_selector": {"nvidia.com/gpu.product": "H100"}}`,
		`{"name": "?", "labels": {"kubetorch.com/service": "x"}}`,
		`{"namespace": "?", "service_template": "{\"metadata\": {\"namespace\": \"x\"}}"}`,
		`{"endpoint": {"url": "?", "selector": {"a": "b"}}}`,
		`{"endpoint": {"url": "?"}}`,
		`{"secrets": [{"name": "hf", "env_vars": "?"}]}`,
		`{"secrets": [{"name": "hf", "mount_path": "?"}]}`,
		`{"secrets": ["?"], "volumes": ["?"], "tolerations": ["?"]}`,
		`{"tolerations": [{"operator": "?", "value": "x"}, {"key": "?", "value": "x"},
			{"key": "a", "toleration_seconds": 5, "effect": "?"}]}`,
		`{"env_vars": {"A": "?"}, "labels": {"a": "?"}, "allowed_serialization": ["?", "json"]}`,

		`{"selector": "?", "cpus": "1", "replicas": 2, "suspend": true, "pod_template_path": "?"}`,
		`{"selector": {"app": "x"}, "manifest": "?", "cpus": "1", "replicas": 2, "suspend": true,
			"service_template": "{\"spec\": {}}"}`,
		`{"selector": {"app": "x"}, "cpus": "?", "autoscale": "?", "distribute": "?", "freeze": "?"}`,
		`{"autoscale": {}, "distribute": "?", "manifest": "?", "replicas": "?"}`,
		`{"autoscale": "?", "distribute": {}, "replicas": "?"}`,
		`{"autoscale": "?", "labels": {"kubetorch.com/template": "ksvc"}, "endpoint": {"selector": {"a": "b"}}}`,
		`{"autoscale": "?", "annotations": {"autoscaling.knative.dev/min-scale": "3"}}`,
		`{"autoscale": {"min_scale": "?"}, "annotations": {"autoscaling.knative.dev/min-scale": "3"},
			"service_template": "{\"spec\": {\"traffic\": []}}"}`,
		`{"autoscale": {"min_scale": 4, "max_scale": "?", "metric": "cpu", "autoscaler_class": "?",
			"extra_annotations": {"max-scale": "1"}}}`,
		`{"autoscale": {"min_scale": 4, "extra_annotations": {"min-scale": "?"}}}`,
		`{"distribute": {"workers": "?", "quorum_workers": 9}}`,
		`{"distribute": {"type": "?", "args": "{\"rayVersion\": 2}"}, "name": "` + strings.Repeat("a", 63) + `"}`,
		`{"distribute": {"quorum_workers": 9}, "manifest": "?"}`,
		`{"distribute": {"type": "ray"}, "manifest": "?"}`,
		`{"manifest": "?", "pod_template_path": "spec.template", "replicas": 3, "suspend": true,
			"labels": {"kubetorch.com/template": "pod"}}`,
		withYAML(workflow, `"pod_template_path": "?"`),
		withYAML(statefulSet, `"replicas": "?"`),
		withYAML(pod, `"suspend": "?"`),
		withYAML(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: other}}`, `"name": "?"`),
		withYAML(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: other}}`, `"namespace": "?"`),
		withYAML(`{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {kueue.x-k8s.io/queue-name: b}}}`,
			`"queue_name": "?"`),
		`{"image_ref": "?", "volumes": [{"claim_name": "c", "mount_path": "/etc/kubetorch/image"}]}`,
		`{"image_ref": {"image": "?", "setup": {"config_map": "?", "digest": "?"}}}`,
		`{"runtime": "?", "command": ["x"], "args": ["y"], "volume_claim_templates": [{"name": "a", "size": "1Gi",
			"mount_path": "/dev/shm"}]}`,
		`{"runtime": "?", "autoscale": {}, "freeze": true, "labels": {"app.kubernetes.io/name": "mine"}}`,
		`{"runtime": "skytorch", "replicas": "?", "queue_name": "?", "volume_claim_templates": ["?",
			{"name": "a", "size": "?", "mount_path": "?"}]}`,
		`{"runtime": "skytorch", "volume_claim_templates": "?", "command": "?", "args": ["?"]}`,
	} {
		config = strings.ReplaceAll(config, `"?"`, `"`+unknown+`"`)
		if !strings.Contains(config, `"name": "`+unknown) {
			config = withName(config)
		}
		for _, f := range o.validate(t, "kt_compute", jsonConfig(t, o.types["kt_compute"], config)) {
			t.Errorf("%s: %s", config, f)
		}
	}
}
