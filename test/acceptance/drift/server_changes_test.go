package drift_test

// serverDrifting contains the attributes of a server of one's own that users often change by hand.
const serverDrifting = `
  command = ["serve"]
  args    = ["--verbose"]
  port    = 8000
  health_path = "/health"
  memory   = "1Gi"
  limits   = { cpu = 2 }
  replicas = 2
  labels     = { team = "ml" }
  pod_labels = { mesh = "on" }
  strategy   = "RollingUpdate"
  ports      = [{ name = "metrics", port = 9090, app_protocol = "http" }]
  service    = { type = "NodePort", external_traffic_policy = "Cluster" }
  pre_stop   = { sleep = "5s" }
  topology_spread_constraints = [{ topology_key = "kubernetes.io/hostname", when_unsatisfiable = "ScheduleAnyway" }]
  affinity = jsonencode({ nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution = {
    nodeSelectorTerms = [{ matchExpressions = [{ key = "kubernetes.io/os", operator = "In", values = ["linux"] }] }]
  } } })
  termination_grace_period = "45s"
  pod_disruption_budget    = { min_available = 1 }
  expose = { hosts = ["a.example.com"], annotations = { "example.com/timeout" = "60" } }
`

// serverChanges are changes of serverDrifting.
func serverChanges() []change {
	const pod = "/spec/template/spec/"
	replace := func(path, value string) []string {
		return jsonPatch("deployment/trainer", `[{"op": "replace", "path": "`+path+`", "value": `+value+`}]`)
	}
	all := []change{
		{
			name: "command changed", kubectl: replace(pod+"containers/1/command", `["other"]`),
			plans: []string{"command"}, fields: []string{container + "command.0"},
			warnings: []string{named + "command: changed by kubectl-patch at "},
		},
		{
			name: "port of the server changed", kubectl: replace(pod+"containers/1/ports/0/containerPort", "9000"),
			plans: []string{"port"}, fields: []string{container + "ports"},
			warnings: []string{named + "ports[containerPort=8000,protocol=TCP]: removed ("},
		},
		{
			name: "health path changed", kubectl: replace(pod+"containers/1/readinessProbe/httpGet/path", `"/ready"`),
			plans: []string{"health_path"}, fields: []string{container + "readinessProbe.httpGet.path"},
			warnings: []string{named + "readinessProbe.httpGet.path: changed by kubectl-patch at "},
		},
		{
			name:    "limit set",
			kubectl: []string{"set", "resources", "deployment/trainer", "-c", "kubetorch", "--limits=cpu=3"},
			plans:   []string{"limits"}, fields: []string{container + "resources.limits.cpu"},
			warnings: []string{named + "resources.limits.cpu: changed by kubectl-set at "},
		},
		{
			name: "further port changed", kubectl: replace(pod+"containers/1/ports/1/containerPort", "9091"),
			plans: []string{"ports"}, fields: []string{container + "ports"},
			warnings: []string{named + "ports[containerPort=9090,protocol=TCP]: removed ("},
		},
		{
			name: "traffic policy of the Service changed",
			kubectl: jsonPatch("service/trainer", `[{"op": "replace", "path": "/spec/externalTrafficPolicy",
				"value": "Local"}]`),
			plans: []string{"service"}, fields: []string{"Service spec.externalTrafficPolicy"},
			warnings: []string{"spec.externalTrafficPolicy: changed by kubectl-patch at "},
		},
		{
			name: "hook changed", kubectl: replace(pod+"containers/1/lifecycle/preStop/sleep/seconds", "1"),
			plans: []string{"pre_stop"}, fields: []string{container + "lifecycle.preStop.sleep.seconds"},
			warnings: []string{named + "lifecycle.preStop.sleep.seconds: changed by kubectl-patch at "},
		},
		{
			name: "strategy changed", kubectl: replace("/spec/strategy", `{"type": "Recreate"}`),
			plans: []string{"strategy"}, fields: []string{dep + "spec.strategy.type"},
			warnings: []string{"spec.strategy.type: changed by kubectl-patch at "},
		},
		{
			name:    "label of the workload changed",
			kubectl: []string{"label", "deployment/trainer", "--overwrite", "team=web"},
			plans:   []string{"labels"}, fields: []string{dep + "metadata.labels.team"},
			warnings: []string{"metadata.labels.team: changed by kubectl-label at "},
		},
		{
			name: "own label of the pods changed", kubectl: replace("/spec/template/metadata/labels/mesh", `"off"`),
			plans: []string{"pod_labels"}, fields: []string{dep + "spec.template.metadata.labels.mesh"},
			warnings: []string{"spec.template.metadata.labels.mesh: changed by kubectl-patch at "},
		},
		{
			name: "termination changed", kubectl: replace(pod+"terminationGracePeriodSeconds", "5"),
			plans:    []string{"termination_grace_period"},
			fields:   []string{dep + thePod + "terminationGracePeriodSeconds"},
			warnings: []string{thePod + "terminationGracePeriodSeconds: changed by kubectl-patch at "},
		},
		{
			name: "spread changed", kubectl: replace(pod+"topologySpreadConstraints/0/maxSkew", "3"),
			plans:    []string{"topology_spread_constraints"},
			fields:   []string{dep + thePod + "topologySpreadConstraints.0.maxSkew"},
			warnings: []string{thePod + "topologySpreadConstraints"},
		},
		{
			name:    "affinity removed",
			kubectl: jsonPatch("deployment/trainer", `[{"op": "remove", "path": "`+pod+`affinity"}]`),
			plans:   []string{"affinity"}, fields: []string{dep + thePod + "affinity"},
			warnings: []string{thePod + "affinity"},
		},
		{
			name:    "budget changed",
			kubectl: jsonPatch("pdb/trainer", `[{"op": "replace", "path": "/spec/minAvailable", "value": "50%"}]`),
			plans:   []string{"pod_disruption_budget"}, fields: []string{"PodDisruptionBudget spec.minAvailable"},
			warnings: []string{"spec.minAvailable: changed by kubectl-patch at "},
		},
		{
			name: "budget deleted", kubectl: []string{"delete", "pdb", "trainer"}, recreated: true,
			fields: []string{"PodDisruptionBudget"}, warnings: []string{"PodDisruptionBudget ID no longer exists"},
		},
		{
			name: "host changed",
			kubectl: jsonPatch("ingress/trainer", `[{"op": "replace", "path": "/spec/rules/0/host", "value":
				"b.example.com"}]`),
			plans: []string{"expose"}, fields: []string{"Ingress spec.rules.0.host"},
			warnings: []string{"spec.rules"},
		},
		{
			name:    "annotation of the Ingress changed",
			kubectl: []string{"annotate", "ingress/trainer", "--overwrite", "example.com/timeout=5"},
			plans:   []string{"expose"}, fields: []string{"Ingress metadata.annotations.example.com/timeout"},
			warnings: []string{`metadata.annotations["example.com/timeout"]: changed by kubectl-annotate at `},
		},
		{
			name: "Ingress deleted", kubectl: []string{"delete", "ingress", "trainer"}, recreated: true,
			fields: []string{"Ingress"}, warnings: []string{"Ingress ID no longer exists"},
		},
	}
	for i := range all {
		all[i].attributes = serverDrifting
	}
	return all
}
