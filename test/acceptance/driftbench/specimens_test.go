package driftbench_test

import (
	"fmt"
	"strings"
)

// A specimen is a resource to change that sets as many kinds of fields as possible.
type specimen struct {
	name     string
	resource string // kt_compute if empty
	body     string // attributes, with SELF for the name of the subject
	copies   int    // one if zero
}

const attributes = `
  cpus          = "500m"
  memory        = "1Gi"
  disk_size     = "2Gi"
  gpus          = 1
  gpu_type      = "NVIDIA-L4"
  labels        = { team = "ml", "example.com/cost-centre" = "7" }
  annotations   = { owner = "alice" }
  env_vars      = { MODE = "fast", LEVEL = "3" }
  node_selector = { "kubernetes.io/os" = "linux" }
  tolerations   = [
    { key = "spot", operator = "Equal", value = "yes", effect = "NoSchedule" },
    { key = "spot", operator = "Exists", effect = "NoExecute", toleration_seconds = 60 },
  ]
  volumes       = [{ claim_name = "data", mount_path = "/data" }]
  secrets       = [{ name = "token", env_vars = ["TOKEN"] }]
  working_dir   = "/srv"
  shared_memory_limit = "256Mi"
  image_pull_policy   = "IfNotPresent"`

// ownServer sets the attributes of a server of one's own, and of its placement and its exposure.
const ownServer = `
  image           = "mine:1"
  command         = ["serve"]
  args            = ["--model", "a"]
  port            = 8000
  health_path     = "/health"
  replicas        = 2
  memory          = "1Gi"
  limits          = { cpu = 2, memory = "2Gi" }
  extended_resources = { "rdma/hca" = 1 }
  pod_labels      = { mesh = "on" }
  strategy        = "RollingUpdate"
  affinity        = jsonencode({ podAntiAffinity = { preferredDuringSchedulingIgnoredDuringExecution = [{
    weight = 1, podAffinityTerm = { topologyKey = "zone", labelSelector = { matchLabels = { mesh = "on" } } }
  }] } })
  topology_spread_constraints = [{ topology_key = "zone", when_unsatisfiable = "ScheduleAnyway" }]
  termination_grace_period = "45s"
  pod_disruption_budget    = { max_unavailable = 1 }`

// podSpec contains what attributes cannot express: empty structs, unions, and lists
// of each type.
const podSpec = `
      terminationGracePeriodSeconds: 0
      automountServiceAccountToken: false
      securityContext: {}
      hostAliases: [{ip: 10.0.0.1, hostnames: [a, b]}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}
      volumes:
      - {name: scratch, emptyDir: {}}
      - {name: settings, configMap: {name: settings}}
      - {name: mixed, projected: {sources: [{secret: {name: token}}, {configMap: {name: settings}}]}}
      initContainers:
      - {name: fetch, image: "fetch:1", command: [sh, -c, fetch]}
      - {name: unpack, image: "unpack:1"}
      containers:
      - name: kubetorch
        image: "mine:1"
        envFrom: [{configMapRef: {name: settings}}]
        env:
        - {name: ZERO, value: "0"}
        - {name: KEY, valueFrom: {secretKeyRef: {name: token, key: TOKEN}}}
        ports: [{name: dns, containerPort: 53}, {name: dns-udp, containerPort: 53, protocol: UDP}]
        volumeMounts: [{name: scratch, mountPath: /scratch}, {name: settings, mountPath: /settings, readOnly: true}]
        lifecycle: {preStop: {exec: {command: [sleep, "1"]}}}
      - {name: helper, image: "helper:1", resources: {limits: {cpu: 1500m}}}`

// pods returns podSpec without the lines that a kind does not support.
func pods(without ...string) string {
	text := podSpec
	for _, part := range without {
		text = strings.Replace(text, part, "", 1)
	}
	return text
}

func yaml(text string) string { return "\n  manifest = <<-EOT\n" + strings.TrimSpace(text) + "\nEOT\n" }

// under indents a block of podSpec, which is indented by six spaces, further.
func under(spaces int, block string) string {
	return strings.ReplaceAll(block, "\n", "\n"+strings.Repeat(" ", spaces))
}

func job(kind, roles, replicas string) string {
	text := "apiVersion: kubeflow.org/v1\nkind: " + kind + "\nspec:\n  " + roles + ":"
	for role := range strings.SplitSeq(replicas, " ") {
		text += "\n    " + role + ":\n      replicas: 1\n      restartPolicy: Never\n      template:\n        spec:" +
			under(4, pods("\n      terminationGracePeriodSeconds: 0"))
	}
	return yaml(strings.ReplaceAll(text, "name: kubetorch", "name: "+map[string]string{
		"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "MXJob": "mxnet",
	}[kind]))
}

func specimens() []specimen {
	apps := func(kind, more string) string {
		return yaml("apiVersion: apps/v1\nkind: " + kind + "\nspec:" + more +
			"\n  template:\n    metadata: {labels: {tier: web}}\n    spec:" + podSpec)
	}
	template := "\n  service_template = jsonencode(yamldecode(<<-EOT\nspec:\n  paused: true\n  template:\n    spec:" +
		pods(`
        image: "mine:1"`) + "\nEOT\n  ))"
	group := func(name string) string {
		return "\n  - groupName: " + name +
			"\n    replicas: 1\n    minReplicas: 0\n    rayStartParams: {num-cpus: \"1\"}\n    template:\n      spec:" +
			under(2, strings.ReplaceAll(pods(), "name: kubetorch", "name: ray-worker"))
	}
	cluster := "apiVersion: ray.io/v1\nkind: RayCluster\nspec:\n  headGroupSpec:\n    rayStartParams: " +
		"{dashboard-host: 0.0.0.0}\n    template:\n      spec:" +
		under(2, strings.ReplaceAll(pods(), "name: kubetorch", "name: ray-head")) + "\n  workerGroupSpecs:" +
		group("small") + group("large")
	probed := strings.NewReplacer("\n      terminationGracePeriodSeconds: 0", "",
		"\n        lifecycle: {preStop: {exec: {command: [sleep, \"1\"]}}}", "",
		"[{name: dns, containerPort: 53}, {name: dns-udp, containerPort: 53, protocol: UDP}]",
		"[{name: h2c, containerPort: 80}]")
	return []specimen{
		{name: "deployment", body: attributes + template, copies: 6},
		{name: "own-server", copies: 3, body: ownServer + `
  expose = {
    hosts = ["a.example.com", "b.example.com"], path = "/v1", ingress_class_name = "nginx"
    tls_secret_name = "certificate", annotations = { "example.com/timeout" = "60" }
  }`},
		{name: "http-route", copies: 2, body: `expose = {
    hosts = ["c.example.com"], annotations = { owner = "alice" }
    gateway = { name = "public", namespace = "gateways", section_name = "https" }
  }`},
		{name: "grpc-route", copies: 2, body: ownServer + `
  expose = { hosts = ["d.example.com"], protocol = "grpc", gateway = { name = "public" } }`},
		{name: "distributed",
			body: "distribute = { type = \"pytorch\", workers = 2 }\n service_template = jsonencode({ spec = { " +
				"paused = true } })", copies: 2},
		{name: "autoscaled",
			body:   attributes + "\n autoscale = { min_scale = 1, max_scale = 4, target = 5, window = \"90s\" }",
			copies: 2},
		{name: "ray", body: attributes + "\n distribute = { type = \"ray\", workers = 3 }", copies: 2},
		{name: "own-deployment",
			body:   apps("Deployment", "\n  paused: true\n  replicas: 1\n  strategy: {rollingUpdate: {maxSurge: 1}}"),
			copies: 4},
		{name: "stateful-set",
			body: apps("StatefulSet",
				"\n  replicas: 1\n  volumeClaimTemplates: [{metadata: {name: own}, spec: {accessModes: "+
					"[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]"), copies: 3},
		{name: "daemon-set", body: "node_selector = { none = \"such\" }\n" + apps("DaemonSet", ""), copies: 3},
		{name: "replica-set", body: apps("ReplicaSet", "\n  replicas: 1"), copies: 3},
		{name: "pod",
			body: yaml("apiVersion: v1\nkind: Pod\nspec:" +
				under(-0, strings.ReplaceAll(podSpec, "\n      ", "\n  ")))},
		{name: "job",
			body: yaml("apiVersion: batch/v1\nkind: Job\nspec:\n  backoffLimit: 0\n  template:\n    spec:" + podSpec)},
		{name: "cron-job",
			body: yaml("apiVersion: batch/v1\nkind: CronJob\nspec:\n  schedule: 0 3 1 1 *\n  jobTemplate:\n    " +
				"spec:\n      backoffLimit: 0\n      template:\n        spec:" + under(4, podSpec)), copies: 3},
		{name: "own-knative",
			body: yaml("apiVersion: serving.knative.dev/v1\nkind: Service\nspec:\n  template:\n    spec:" +
				probed.Replace(podSpec)), copies: 2},
		{name: "own-ray", body: yaml(cluster), copies: 4},
		{name: "job-set",
			body: yaml("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec:\n  replicatedJobs:\n  - name: " +
				"workers\n    replicas: 1\n    template:\n      spec:\n        template:\n          spec:" +
				under(6, podSpec))},
		{name: "pytorch-job", body: job("PyTorchJob", "pytorchReplicaSpecs", "Master Worker"), copies: 2},
		{name: "tf-job", body: job("TFJob", "tfReplicaSpecs", "Worker")},
		{name: "mx-job", body: job("MXJob", "mxReplicaSpecs", "Scheduler Worker")},
		{name: "xgboost-job", body: job("XGBoostJob", "xgbReplicaSpecs", "Master")},
		{name: "selector", body: `selector = { app = "mine" }`},
		{name: "endpoint",
			body: "endpoint = { selector = { app = \"mine\" } }\n service_template = jsonencode({ spec = { paused = " +
				"true } })"},
		{name: "skytorch",
			body: "runtime = \"skytorch\"\n image = \"mine:1\"\n cpus = \"500m\"\n env_vars = { MODE = \"fast\" }\n " +
				"labels = { team = \"ml\" }"},
		{name: "kpu",
			body: "runtime = \"kpu\"\n image = \"mine:1\"\n env_vars = { MODE = \"fast\" }\n " +
				"labels = { team = \"ml\" }"},
		{name: "leader-worker-set",
			body: yaml("apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nspec:\n  replicas: 1\n  " +
				"startupPolicy: LeaderReady\n  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate:\n      spec:" +
				under(2, podSpec) + "\n    workerTemplate:\n      spec:" + under(2, podSpec)), copies: 2},
		{name: "queue", resource: "kt_queue", copies: 2, body: `
  flavors = [{
    name = "SELF", node_labels = { gpu = "l4" }
    node_taints = [{ key = "gpu", value = "yes", effect = "NoSchedule" }]
    tolerations = [{ key = "spot", operator = "Exists" }]
    quotas = { cpu = { nominal = "4", borrowing_limit = "2" }, memory = { nominal = "8Gi", lending_limit = "1Gi" } }
  }]
  cohort            = "research"
  fair_share_weight = "2"
  admission_checks  = ["budget"]
  queueing_strategy = "StrictFIFO"
  stop_policy       = "None"
  wait_for_active   = false
  labels            = { team = "ml" }
  annotations       = { owner = "alice" }
  preemption        = { reclaim_within_cohort = "Any", within_cluster_queue = "LowerPriority" }`},
		{name: "volume", resource: "kt_volume",
			body: "size = \"1Gi\"\n mount_path = \"/data\"\n access_mode = \"ReadWriteOnce\"\n wait_for_bound = " +
				"false\n labels = { team = \"ml\" }\n annotations = { owner = \"alice\" }"},
		{name: "secret", resource: "kt_secret",
			body: "values_wo = { TOKEN = \"one\", USER = \"two\" }\n values_wo_version = 1\n labels = { team = " +
				"\"ml\" }\n annotations = { owner = \"alice\" }"},
		{name: "image", resource: "kt_image",
			body: "base = \"python3.12\"\n labels = { team = \"ml\" }\n steps = [{ run_bash = \"true\" }, " +
				"{ set_env_vars = { A = \"b\" } }]"},
	}
}

// configuration returns the configuration of all subjects.
func configuration(all []*subject) string {
	var b strings.Builder
	for _, s := range all {
		waits := "\n  on_not_ready = \"ignore\""
		if s.resource != "kt_compute" {
			waits = ""
		}
		fmt.Fprintf(&b, "resource %q %q {\n  name = %q%s\n%s\n}\n", s.resource, s.name, s.name, waits,
			strings.ReplaceAll(s.body, "SELF", s.name)+s.more)
	}
	return b.String()
}
