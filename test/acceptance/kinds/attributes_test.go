package kinds_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// attributes are related attributes that are created, changed and removed.
type attributes struct {
	name    string
	objects string // YAML of objects that must exist
	always  string // attributes that are never removed

	created, changed string

	// hidden are attributes that cannot be read from the cluster. The plan after an
	// import sets only them.
	hidden []string
}

func allAttributes() []attributes {
	return append(servingAttributes(), []attributes{
		{
			name:    "resources",
			created: "cpus = \"500m\"\n memory = \"512Mi\"\n disk_size = \"1Gi\"\n shared_memory_limit = \"64Mi\"",
			changed: "cpus = 0.25\n memory = \"1Gi\"\n disk_size = \"2G\"\n shared_memory_limit = \"128Mi\"",
		},
		{
			name:    "number of GPUs",
			created: "gpus = 1\n gpu_type = \"NVIDIA-L4\"",
			changed: "gpus = 2\n gpu_type = \"nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3\"",
		},
		{
			name:    "hidden fields",
			created: "labels = { team = \"ml\" }\n sensitive_fields = [\"metadata.labels.team\"]",
			changed: "labels = { team = \"web\" }\n sensitive_fields = [\"metadata.labels.team\", \"spec.replicas\"]",
			hidden:  []string{"manifests", "sensitive_fields", "sensitive_values"},
		},
		{
			name:    "limits",
			created: "memory = \"1Gi\"\n limits = { cpu = 2, memory = \"2048Mi\" }",
			changed: "memory = \"1Gi\"\n limits = { memory = \"3Gi\", \"ephemeral-storage\" = \"1Gi\" }",
		},
		{
			name: "devices", always: `on_not_ready = "ignore"`, // no node has them
			created: `extended_resources = { "amd.com/gpu" = 8, "rdma/hca" = 1 }`,
			changed: `extended_resources = { "amd.com/gpu" = 4, "nvidia.com/mig-1g.5gb" = 1 }`,
		},
		{
			name: "a server of one's own",
			created: "command = [\"serve\", \"--model\", \"a\"]\n port = 8000\n health_path = \"/health\"\n " +
				"launch_timeout = \"3m\"",
			changed: "args = [\"--verbose\"]\n port = 9000\n launch_timeout = \"3m\"",
		},
		{
			name:    "a command without a port",
			created: `command = ["/bin/bash", "-c", "sleep infinity"]`,
			changed: `command = ["sleep", "infinity"]`,
		},
		{
			name: "placement",
			created: `
			  replicas        = 2
			  pod_labels      = { mesh = "on" }
			  strategy        = "RollingUpdate"
			  affinity        = jsonencode({ podAntiAffinity = {
			    preferredDuringSchedulingIgnoredDuringExecution = [{ weight = 1, podAffinityTerm = {
			      topologyKey = "kubernetes.io/hostname", labelSelector = { matchLabels = { mesh = "on" } }
			    } }]
			  } })
			  topology_spread_constraints = [{ topology_key = "kubernetes.io/hostname" }]
			  termination_grace_period = "1m"`,
			changed: `
			  replicas          = 2
			  labels            = { mesh = "half" }
			  pod_labels        = { mesh = "off" }
			  strategy          = "Recreate"
			  gpu_anti_affinity = true
			  affinity          = jsonencode({ nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution = {
			    nodeSelectorTerms = [{ matchExpressions = [{
			      key = "kubernetes.io/os", operator = "In", values = ["linux"]
			    }] }]
			  } } })
			  topology_spread_constraints   = [{
			    topology_key = "kubernetes.io/os", max_skew = 2, when_unsatisfiable = "ScheduleAnyway"
			  }]
			  termination_grace_period = 0`,
		},
		{
			name:    "pod disruption budget",
			created: "pod_disruption_budget = { min_available = 1 }",
			changed: "pod_disruption_budget = { max_unavailable = \"50%\" }",
		},
		{
			name:    "exposure by an Ingress",
			created: `expose = { hosts = ["a.example.com"], protocol = "grpc" }`,
			changed: `expose = {
			    hosts = ["b.example.com", "*.example.com"], path = "/v1", ingress_class_name = "nginx"
			    tls_secret_name = "certificate", annotations = { "example.com/timeout" = "60" }
			  }`,
		},
		{
			name:    "a share of a GPU",
			created: `gpu_memory = "4Gi"`,
			changed: `gpu_memory = "5000M"`,
		},
		{
			name:    "replicas",
			created: "replicas = 3",
			changed: "replicas = 2",
		},
		{
			name:    "labels and annotations",
			created: "labels = { team = \"ml\", tier = \"\" }\n annotations = { owner = \"alice\" }",
			changed: "labels = { team = \"web\" }\n annotations = { owner = \"bob\", \"example.com/cost\" = \"\" }",
		},
		{
			name:    "scheduling",
			objects: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}",
			created: `
			  node_selector        = { "kubernetes.io/os" = "linux" }
			  tolerations          = [{ key = "spot", operator = "Exists" },
			    { key = "zone", value = "a", effect = "NoExecute", toleration_seconds = 60 }]
			  gpu_anti_affinity    = true
			  service_account_name = "runner"`,
			changed: `
			  node_selector = { "kubernetes.io/arch" = "amd64" }
			  tolerations   = [{ key = "spot", operator = "Equal", value = "yes" }]
			  gpu_anti_affinity = false`,
		},
		{
			name:    "priority",
			created: `priority_class_name = "system-cluster-critical"`,
			changed: `priority_class_name = "system-node-critical"`,
		},
		{
			name: "container runtime",
			objects: "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: gvisor}, handler: runsc}\n" +
				"---\n{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata}",
			created: `runtime_class_name = "gvisor"`,
			changed: `runtime_class_name = "kata"`,
		},
		{
			name: "container",
			created: "image = \"one:1\"\n image_pull_policy = \"Always\"\n working_dir = \"/work\"\n env_vars = { " +
				"MODE = \"fast\", EMPTY = \"\" }",
			changed: "image = \"two:2\"\n image_pull_policy = \"Never\"\n working_dir = \"/tmp\"\n env_vars = { " +
				"MODE = \"slow\", PATHS = \"$HOME/x\" }",
		},
		{
			name: "ConfigMaps",
			objects: "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, " +
				"data: {MODE: fast, level: high}}\n---\n" +
				"{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {USER: none}}",
			created: `
			  config_maps = [{
			    name = "settings", env_vars = ["MODE"], mount_path = "/settings", default_mode = "0440"
			  }]
			  env_from    = [{ secret = "db", prefix = "DB_" }]`,
			changed: `
			  config_maps = [{ name = "settings", env_keys = { LEVEL = "level" } }]
			  env_from    = [{ config_map = "settings" }, { secret = "db" }]`,
		},
		{
			name: "other containers",
			created: `
			  volumes         = [{ name = "models", empty_dir = {}, mount_path = "/models", read_only = true }]
			  init_containers = [{
			    name = "fetch", image = "fetch:1", command = ["fetch"], env_vars = { FROM = "hub", EMPTY = "" }
			    cpus = 0.1, limits = { memory = "128Mi" }, volume_mounts = [{ name = "models", mount_path = "/out" }]
			  }]
			  sidecars = [{
			    name = "metrics", image = "metrics:1", ports = [{ container_port = 9000, name = "metrics" }]
			  }]`,
			changed: `
			  init_containers = [
			    { name = "check", image = "check:1", working_dir = "/" },
			    { name = "fetch", image = "fetch:2", args = ["--all"], env_vars = { FROM = "mirror" } },
			  ]
			  sidecars = [
			    { name = "logs", image = "logs:1", image_pull_policy = "Always", memory = "64Mi" },
			    { name = "metrics", image = "metrics:1" },
			  ]`,
		},
		{
			name: "security",
			created: `
			  security_context = {
			    run_as_user = 0, fs_group = 2000, supplemental_groups = [1, 2]
			    seccomp_profile = { type = "RuntimeDefault" }
			    read_only_root_filesystem = false, capabilities = { add = ["IPC_LOCK"], drop = ["NET_RAW"] }
			  }`,
			changed: `
			  security_context = {
			    run_as_user = 1000, run_as_non_root = true, run_as_group = 0, allow_privilege_escalation = true
			    privileged = false
			  }
			  host_network = true`,
		},
		{
			name:    "restart triggers",
			created: `restart_triggers = { settings = "1" }`,
			changed: `restart_triggers = { settings = "2", empty = "" }`,
			hidden:  []string{"restart_triggers"},
		},
		{
			name:    "sources of volumes",
			objects: "{apiVersion: v1, kind: ConfigMap, metadata: {name: files}, data: {app.json: '{}'}}",
			created: `
			  volumes = [
			    { name = "cache", empty_dir = { medium = "Memory", size_limit = "0.5Gi" }, mount_path = "/cache" },
			    { config_map = "files", mount_path = "/etc/app.json", sub_path = "app.json", read_only = true },
			    { host_path = { path = "/tmp", type = "Directory" }, mount_path = "/host" },
			  ]`,
			changed: `
			  volumes = [
			    { name = "cache", empty_dir = {}, mount_path = "/cache" },
			    { image = { reference = "models:1", pull_policy = "Never" }, mount_path = "/models" },
			    { config_map = "files", mount_path = "/etc/app" },
			  ]`,
		},
		{
			name: "secrets and volumes",
			objects: `
apiVersion: v1
kind: Secret
metadata: {name: tokens}
stringData: {HF_TOKEN: none, WANDB_API_KEY: none}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`,
			created: `
			  secrets = [{ name = "tokens", env_vars = ["HF_TOKEN"], mount_path = "/secrets" }]
			  volumes = [{ claim_name = "data", mount_path = "/data", read_only = true }]`,
			changed: `
			  secrets = [{ name = "tokens", env_vars = ["WANDB_API_KEY", "HF_TOKEN"] }]
			  volumes = [{ claim_name = "data", mount_path = "/mnt" }]`,
		},
		{
			name:    "image pull secrets",
			created: `image_pull_secrets = ["registry", "mirror"]`,
			changed: `image_pull_secrets = ["mirror", "other.registry"]`,
		},
		{
			name:    "files of secrets",
			objects: "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\nstringData: {id_rsa: none}",
			created: `
			  secrets = [
			    { name = "keys", mount_path = "/none", default_mode = "0000" },
			    { name = "keys", mount_path = "/ssh", default_mode = "0400" },
			    { name = "keys", mount_path = "/open", default_mode = "0644" },
			    { name = "keys", mount_path = "/default" },
			  ]`,
			changed: `
			  secrets = [
			    { name = "keys", mount_path = "/none" }, { name = "keys", mount_path = "/ssh", default_mode = "0000" },
			    { name = "keys", mount_path = "/default", default_mode = "0644" },
			  ]`,
		},
		{
			name:    "queue of Kueue",
			created: `queue_name = "team-a"`,
			changed: "queue_name = \"team-b\"\n queue_scheduler = \"kueue\"",
		},
		{
			name: "queue of KAI", always: `on_not_ready = "ignore"`,
			created: "queue_name = \"team-a\"\n queue_scheduler = \"kai\"",
			changed: "queue_name = \"team-b\"\n queue_scheduler = \"kai\"",
		},
		{
			name: "behaviour",
			created: `
			  freeze                = true
			  launch_timeout        = "3m"
			  inactivity_ttl        = "2h"
			  on_expiry             = "keep_suspended"
			  allowed_serialization = ["json", "pickle"]
			  logging_config        = { level = "debug", stream_logs = false }`,
			changed: `
			  launch_timeout        = "1m30s"
			  inactivity_ttl        = "30m"
			  allowed_serialization = ["json"]
			  logging_config        = { level = "warning", grace_period = "5s" }`,
			// All of logging but the level is in the registration, if there is one.
			hidden: []string{"logging_config", "on_expiry"},
		},
		{
			// It is imported as the environment that it sets, to which manifests refers.
			name: "function of the image", hidden: []string{"env_vars", "load", "manifests"},
			created: `load = { module_name = "work", cls_or_fn_name = "add" }`,
			changed: `load = { module_name = "work", cls_or_fn_name = "Model", callable_type = "cls",
				file_path = "/app", init_args = jsonencode({ size = 7 }) }`,
		},
		{
			name: "image and its set-up",
			objects: `
apiVersion: v1
kind: ConfigMap
metadata: {name: kt-image-one}
data: {setup.sh: "true"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kt-image-two}
data: {setup.sh: "true"}`,
			created: `image_ref = { image = "one:1", setup = { config_map = "kt-image-one", digest = "sha256:1" } }`,
			changed: `image_ref = { image = "two:2", setup = { config_map = "kt-image-two", digest = "sha256:2",
				python_path = "/opt/bin/python", install_cmd = "pip install --no-deps" } }`,
		},
		{
			// The grace period, the probes and the hook are imported as their attributes.
			name:   "service template",
			hidden: []string{"pre_stop", "probes", "service_template", "termination_grace_period"},
			created: `service_template = jsonencode({ spec = { minReadySeconds = 1, template = { spec = {
			  terminationGracePeriodSeconds = 5
			  containers = [{ name = "kubetorch", readinessProbe = null,
			    lifecycle = { preStop = { sleep = { seconds = 1 } } } }, { name = "sidecar", image = "sidecar:1" }]
			} } } })`,
			changed: `service_template = jsonencode({ spec = { template = { spec = { terminationGracePeriodSeconds ` +
				`= 7 } } } })`,
		},
		{
			name: "endpoint elsewhere", hidden: []string{"endpoint", "url"},
			created: `endpoint = { url = "http://gateway.example:8080" }`,
			changed: `endpoint = { url = "http://gateway.example:9090" }`,
		},
		{
			name:    "endpoint of other pods",
			created: `endpoint = { selector = { app = "proxy" } }`,
			changed: `endpoint = { selector = { app = "proxy", tier = "web" } }`,
		},
		{
			name:    "suspension",
			created: "suspend = true",
			changed: "suspend = false\n replicas = 2",
		},
		{
			name:    "suspension of several replicas",
			created: "suspend = true\n replicas = 3",
			changed: "suspend = true\n replicas = 1",
		},
		{
			name:   "settings of the provider",
			hidden: []string{"adopt_existing", "deletion_protection", "on_not_ready", "timeouts"},
			created: "runtime = \"kubetorch\"\n adopt_existing = true\n on_not_ready = \"warn\"\n " +
				"deletion_protection = true\n timeouts = { create = \"2m\", delete = \"3m\" }",
			changed: "adopt_existing = false\n on_not_ready = \"error\"\n timeouts = { update = \"2m\" }",
		},
	}...)
}

// bodies returns the blocks of all cases with the attributes that of returns, and of a compute without optional
// attributes, like all others at the end.
func bodies(of func(attributes) string) map[string]string {
	out := map[string]string{"case-plain": `name = "case-plain"`}
	for _, a := range allAttributes() {
		name := acctest.CaseName(a.name)
		out[name] = fmt.Sprintf("name = %q\n%s\n%s", name, a.always, of(a))
	}
	return out
}

// All cases run in one state, each with a separate compute.
func TestAccAttributesAreSetImportedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	hidden := map[string][]string{}
	for _, a := range allAttributes() {
		hidden[acctest.CaseName(a.name)] = a.hidden
		if a.objects != "" {
			cluster.Apply(t, a.objects, "-n", ns)
		}
	}
	computes := cluster.Resources(t, "kt_compute", ns, `launch_timeout = "2m"`)
	created := bodies(func(a attributes) string { return a.created })
	computes.Change(t, created)

	computes.Import(t, ns, slices.Sorted(maps.Keys(hidden)))
	for name, p := range computes.Change(t, created) {
		changed := slices.DeleteFunc(p.Attributes(), func(a string) bool { return a == "ready" })
		if err := acctest.SameElements("attributes", changed, hidden[name]); err != nil {
			t.Errorf("%s: after the import, %v", name, err)
		}
	}
	for _, next := range []func(attributes) string{
		func(a attributes) string { return a.changed }, func(attributes) string { return "" },
	} {
		for name, p := range computes.Change(t, bodies(next)) {
			if want := core.Update; name != "case-plain" && p.Action != want {
				t.Errorf("%s: the plan is %s instead of %s", name, p.Action, want)
			} else if name == "case-plain" && p.Action != core.NoOp {
				t.Errorf("%s: the plan is %s", name, p.Action)
			}
		}
	}
	if err := allPlain(t, ns); err != nil {
		t.Error(err)
	}
	computes.Destroy(t)
	if err := cluster.NothingLeft(t, ns)(nil); err != nil {
		t.Error(err)
	}
}

// allPlain checks that no fields of removed attributes are left.
func allPlain(t *testing.T, ns string) error {
	t.Helper()
	objects := cluster.LiveObjects(t, ns)
	var errs []error
	for _, a := range allAttributes() {
		if got := objects[acctest.CaseName(a.name)]; a.always == "" && got != objects["case-plain"] {
			errs = append(errs,
				fmt.Errorf("%s: fields are left.\ngot:  %s\nwant: %s", a.name, got, objects["case-plain"]))
		}
	}
	return errors.Join(errs...)
}

func TestAccAttributesAreAllCovered(t *testing.T) {
	t.Parallel()
	server, err := acctest.Factories(t)["kt"]()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, a := range allAttributes() {
		all.WriteString(a.created + "\n" + a.changed + "\n")
	}
	for _, w := range lifeCycles() {
		all.WriteString(w.Created + "\n" + w.Changed + "\n")
	}
	for _, attribute := range schema.ResourceSchemas["kt_compute"].Block.Attributes {
		elsewhere := []string{
			"name", "namespace", "autoscale", "pod_template_path", "command", "args", "volume_claim_templates",
			"kubetorch_version", "manifest_only", "renderer_revision", "job", "wait_for_completion",
		} // covered by other tests
		if slices.Contains(elsewhere, attribute.Name) || (attribute.Computed && !attribute.Optional) {
			continue // covered by every test, or read-only
		}
		if !regexp.MustCompile(`(?m)^\s*` + attribute.Name + `\s+= `).MatchString(all.String()) {
			t.Errorf("no test case sets the attribute %s", attribute.Name)
		}
	}
}
