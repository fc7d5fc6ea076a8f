package protocol_test

import (
	"maps"
	"strings"
	"testing"
)

func TestComputeAcceptsValidInput(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	good := goodInputs()
	maps.Copy(good, goodModes())
	maps.Copy(good, goodTensorServers())
	maps.Copy(good, goodServing())
	for name, config := range good {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, f := range o.validate(t, "kt_compute", jsonConfig(t, o.types["kt_compute"], withName(config))) {
				t.Errorf("%s: %s", config, f)
			}
		})
	}
}

func goodInputs() map[string]string {
	return map[string]string{
		"a name alone":                       `{}`,
		"name of 63 characters":              `{"name": "` + strings.Repeat("a", 63) + `"}`,
		"namespace that starts with a digit": `{"namespace": "2024-ml"}`,
		"quantities": `{"cpus": "0.5", "memory": "4096Mi", "disk_size": "1.5Ti",
			"shared_memory_limit": "64M"}`,
		"quantities of many notations": `{"cpus": "1e-3", "memory": "1e9", "disk_size": "07Gi"}`,
		"no gpus":                      `{"gpus": 0}`,
		"no gpus with gpu_memory":      `{"gpus": 0, "gpu_memory": "4Gi"}`,
		"gpus of a product":            `{"gpus": 8, "gpu_type": "NVIDIA-H100-80GB-HBM3"}`,
		"gpus of a label":              `{"gpus": 1, "gpu_type": "cloud.google.com/gke-accelerator: nvidia-l4"}`,
		"gpu_type equal to node_selector": `{"gpus": 1, "gpu_type": "L4",
			"node_selector": {"nvidia.com/gpu.product": "L4"}}`,
		"anti-affinity without gpus": `{"gpus": 0, "gpu_anti_affinity": true}`,
		"no anti-affinity with gpus": `{"gpus": 1, "gpu_anti_affinity": false}`,
		"no replicas":                `{"replicas": 0}`,
		"most replicas":              `{"replicas": 2147483647}`,
		"durations": `{"launch_timeout": "1d12h", "inactivity_ttl": "1m",
			"timeouts": {"create": "1h30m", "update": "90s", "delete": "10m"}}`,
		"bare seconds": `{"launch_timeout": "900", "inactivity_ttl": "3600"}`,
		"labels with prefix": `{"labels": {"example.com/team": "ml", "empty": "",
			"Upper_Case.1": "A_b.C"}}`,
		"labels equal to reserved labels": `{"labels": {"kubetorch.com/service": "trainer",
			"app.kubernetes.io/managed-by": "terraform-provider-kt"}}`,
		"annotations of any value": `{"annotations": {"example.com/note": "any text\nof any length: ` +
			strings.Repeat("é", 300) + `"}}`,
		"variables of any value": `{"env_vars": {"PATH": "/opt/bin:$PATH", "_x": "", "a.b-c": "x"}}`,
		"modes of secrets": `{"secrets": [{"name": "a", "mount_path": "/a", "default_mode": "0000"},
			{"name": "a", "mount_path": "/b", "default_mode": "0777"}, {"name": "b",
			"mount_path": "(known after apply)", "default_mode": "0400"}, {"name": "c", "mount_path": "/c",
			"default_mode": "(known after apply)"}]}`,
		"secrets as variables and files": `{"secrets": [{"name": "hf", "env_vars": ["HF_TOKEN"],
			"mount_path": "/root/.hf"}, {"name": "hf.v2", "mount_path": "/root/.hf2/"}]}`,
		"one claim at two paths": `{"volumes": [{"claim_name": "data", "mount_path": "/a"},
			{"claim_name": "data", "mount_path": "/b", "read_only": true}]}`,
		"volume inside of a volume": `{"volumes": [{"claim_name": "a", "mount_path": "/data"},
			{"claim_name": "b", "mount_path": "/data/sub"}]}`,
		"tolerations": `{"tolerations": [{"operator": "Exists"}, {"key": "a", "value": ""},
			{"key": "a", "operator": "Exists", "value": ""}, {"key": "b", "operator": "Equal", "value": "c",
			"effect": "NoExecute", "toleration_seconds": -1}]}`,
		"root as working directory":      `{"working_dir": "/"}`,
		"working directory with a colon": `{"working_dir": "/opt/a:b/"}`,
		"image by digest": `{"image": "registry.example.com:5000/ml/train:v1@sha256:` +
			strings.Repeat("0f", 32) + `"}`,
		"image without tag":                 `{"image": "pytorch"}`,
		"kueue queue":                       `{"queue_name": "team-a"}`,
		"default scheduler without a queue": `{"queue_scheduler": "kueue"}`,
		"as many replicas as workers":       `{"distribute": {"workers": 4}, "replicas": 4}`,
		"kai queue":                         `{"queue_name": "team-a", "queue_scheduler": "kai"}`,
		"endpoint by URL":                   `{"endpoint": {"url": "https://api.example.com/train?x=1"}}`,
		"endpoint by address":               `{"endpoint": {"url": "my-svc.my-ns.svc.cluster.local:8080"}}`,
		"endpoint by selector":              `{"endpoint": {"selector": {"app": "ray", "role": "head"}}}`,
		"template that adds": `{"service_template": "{\"spec\": {\"template\": {\"spec\": ` +
			`{\"containers\": [{\"name\": \"kubetorch\", \"tty\": true}, ` +
			`{\"name\": \"sidecar\", \"image\": \"x\"}]}}}}"}`,
		"template that is empty": `{"service_template": "{}"}`,
		"template that is null":  `{"service_template": "null"}`,
		// The namespace of the compute is that of the provider, which is unknown during validation.
		"template of a namespace": `{"service_template": "{\"metadata\": {\"namespace\": \"ml\"}}"}`,
		"empty collections": `{"labels": {}, "annotations": {}, "node_selector": {}, "env_vars": {},
			"tolerations": [], "secrets": [], "volumes": []}`,
		"choices": `{"image_pull_policy": "Never", "on_not_ready": "warn", "runtime": "kubetorch",
			"logging_config": {"level": "debug"}, "allowed_serialization": ["json", "pickle"],
			"freeze": true, "suspend": true, "adopt_existing": true, "deletion_protection": true}`,
		"logging with defaults": `{"logging_config": {}}`,
	}
}

func goodModes() map[string]string {
	return map[string]string{
		"empty autoscale": `{"autoscale": {}}`,
		"autoscale without a limit": `{"autoscale": {"min_scale": 5, "max_scale": 0, "concurrency": 0,
			"initial_scale": 0}}`,
		"autoscale between equal scales": `{"autoscale": {"min_scale": 3, "max_scale": 3}}`,
		"autoscale by requests": `{"autoscale": {"metric": "rps", "target": 100,
			"target_utilization": 100, "autoscaler_class": "kpa.autoscaling.knative.dev"}}`,
		"autoscale by processor": `{"autoscale": {"metric": "cpu", "target": 70,
			"autoscaler_class": "hpa.autoscaling.knative.dev"}}`,
		"autoscale by a metric of the user's": `{"autoscale": {"metric": "queue_depth",
			"autoscaler_class": "hpa.autoscaling.knative.dev"}}`,
		"autoscale at the ends of what Knative takes": `{"autoscale": {"window": "6s", "scale_down_delay": "1h",
			"scale_to_zero_pod_retention_period": "0s", "progress_deadline": "1s"}}`,
		"autoscale with bare seconds": `{"autoscale": {"window": "60", "progress_deadline": "1d"}}`,
		"autoscale with further annotations": `{"autoscale": {"min_scale": 1,
			"extra_annotations": {"panic-window-percentage": "10.0", "min-scale": "1",
			"example.com/note": "any text"}}}`,
		"autoscale reached by a URL": `{"autoscale": {}, "endpoint": {"url": "http://x"}}`,
		"autoscale by the usage of pods, from zero by another trigger": scaled("keda", `"triggers": [
			{"type": "cpu", "metric_type": "Utilization", "metadata": {"value": "50"}},
			{"type": "cron", "metadata": {"timezone": "Etc/UTC"}}]`),
		"autoscale with the type of a metric before KEDA 2.18": scaled("keda", `"min_scale": 1, "triggers": [
			{"type": "cpu", "metadata": {"type": "Utilization", "value": "50"}}]`),
		"autoscale a LeaderWorkerSet": withYAML(`{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet,
			spec: {leaderWorkerTemplate: {size: 4}}}`, `"autoscale": {"scaler": "keda", "triggers": [
			{"type": "cron", "metadata": {"timezone": "Etc/UTC"}}]}`),
		"autoscale suspended": `{"autoscale": {"min_scale": 2}, "suspend": true}`,
		"empty distribute":    `{"distribute": {}}`,
		"distribute with a quorum of all": `{"distribute": {"type": "jax", "workers": 4,
			"quorum_workers": 4, "quorum_timeout": "90", "monitor_members": false}}`,
		"distribute with a quorum of one": `{"distribute": {"quorum_workers": 1}}`,
		"distribute with args": `{"distribute": {"type": "pytorch", "workers": 2,
			"args": "{\"num_proc\": 8, \"port\": 29500}"}}`,
		"launch timeout of a server that loads a function": `{"launch_timeout": "20s", "load": {"module_name": "work",
			"cls_or_fn_name": "add"}}`,
		"launch timeout of a server of one's own": `{"launch_timeout": "5s", "command": ["serve"]}`,
		"distribute with args that are null":      `{"distribute": {"type": "monarch", "args": "null"}}`,
		"distribute by Ray of a version": `{"distribute": {"type": "ray", "workers": 3,
			"args": "{\"rayVersion\": \"2.46.0\"}"}}`,
		"distribute by Ray under the longest name": `{"name": "` + strings.Repeat("a", 53) +
			`", "distribute": {"type": "ray"}}`,
		"distribute under the longest name": `{"name": "` + strings.Repeat("a", 54) +
			`", "distribute": {"workers": 2}}`,
		"manifest in JSON": withYAML(`{"apiVersion": "apps/v1", "kind": "Deployment",
			"spec": {"replicas": 2}}`),
		"manifest with a comment and a document mark": withYAML("# ours\n---\napiVersion: apps/v1\nkind: " +
			"Deployment\n"),
		"manifest that agrees with the attributes": withYAML(`{apiVersion: apps/v1, kind: Deployment,
            metadata: {name: trainer, namespace: ml, labels: {kubetorch.com/service: trainer}}, spec: {replicas: 2}}`,
			`"namespace": "ml"`, `"replicas": 2`),
		"manifest of a namespace": withYAML(`{apiVersion: apps/v1, kind: Deployment,
            metadata: {namespace: ml}}`),
		"manifest with an empty status": withYAML(`{apiVersion: apps/v1, kind: Deployment,
            metadata: {creationTimestamp: null}, status: {}}`),
		"manifest with pod attributes": withYAML(deployment, `"cpus": "2"`, `"gpus": 1`,
			`"image": "pytorch"`, `"env_vars": {"A": "b"}`, `"replicas": 3`),
		"manifest of a StatefulSet with workers": withYAML(statefulSet, `"distribute": {"type": "pytorch",
			"workers": 2}`),
		"manifest of a StatefulSet with a quorum": withYAML(statefulSet, `"distribute": {"type": "pytorch",
			"quorum_workers": 2}`),
		"manifest of a RayCluster with workers": withYAML(rayCluster, `"distribute": {"type": "ray",
			"workers": 3}`),
		"manifest of a PyTorchJob in a queue": withYAML(pyTorchJob, `"queue_name": "team-a"`, `"replicas": 4`),
		"manifest of a PyTorchJob that gets workers": withYAML(`{apiVersion: kubeflow.org/v1, kind: PyTorchJob,
            spec: {pytorchReplicaSpecs: {Master: {}}}}`, `"replicas": 4`),
		"manifest of a JobSet suspended":    withYAML(jobSet, `"suspend": true`),
		"manifest of a DaemonSet suspended": withYAML(daemonSet, `"suspend": true`),
		"manifest of a CronJob suspended":   withYAML(cronJob, `"suspend": true`),
		"manifest of a Pod":                 withYAML(pod, `"queue_name": "a"`),
		"manifest of Knative by a URL":      withYAML(knative, `"endpoint": {"url": "http://x"}`),
		"manifest of an unknown kind": withYAML(workflow,
			`"pod_template_path": "spec.templates.0.pod"`),
		"manifest of a known kind with the right path": withYAML(job, `"pod_template_path": "spec.template"`),
		"manifest with a selector": withYAML(deployment, `"selector": {"role": "head"}`,
			`"cpus": "1"`),
		"selector alone": `{"selector": {"app": "x", "role": ""}}`,
		"selector alone without pod attributes": `{"selector": {"app": "x"}, "labels": {"a": "b"},
			"inactivity_ttl": "1h", "logging_config": {"stream_logs": false}, "allowed_serialization": ["json"],
			"launch_timeout": "5m"}`,
		"selector alone with empty pod attributes": `{"selector": {"app": "x"}, "gpus": 0,
			"gpu_anti_affinity": false, "freeze": false, "suspend": false, "env_vars": {}, "volumes": [],
			"tolerations": []}`,
		"complete image_ref": `{"image_ref": {"image": "pytorch", "setup": {"config_map": "kt-image-train",
			"digest": "sha256:00", "python_path": "/opt/venv/bin/python", "install_cmd": "pip install kubetorch"}}}`,
		"image_ref": `{"image_ref": {"image": "pytorch", "setup": {"config_map": "c", "digest": "d"}}}`,
		"image_ref with a manifest": withYAML(deployment, `"image_ref": {"image": "pytorch",
			"setup": {"config_map": "c", "digest": "d"}}`),
		"complete logging": `{"logging_config": {"level": "error", "stream_logs": true,
			"include_system_logs": false, "include_events": true, "include_name": false, "grace_period": "0s",
			"poll_timeout": "500ms", "shutdown_grace_period": "10"}}`,
	}
}
