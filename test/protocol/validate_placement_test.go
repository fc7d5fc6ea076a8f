package protocol_test

// badDevices are limits and extended resources.
func badDevices() []badInput {
	return []badInput{
		{name: "limit that is no quantity", config: `{"limits": {"memory": "4gb"}}`, at: `limits["memory"]`,
			text: `limits["memory"] is "4gb"`},
		{name: "limit of GPUs", config: `{"limits": {"nvidia.com/gpu": "1"}}`, at: `limits["nvidia.com/gpu"]`,
			text: "set gpus instead"},
		{name: "limit of a device", config: `{"limits": {"amd.com/gpu": "1"}}`, at: `limits["amd.com/gpu"]`,
			text: "set it in extended_resources instead"},
		{name: "limit of an unknown resource", config: `{"limits": {"cpus": "1"}}`, at: `limits["cpus"]`,
			text: "use cpu, memory, ephemeral-storage or hugepages-<size>"},
		{name: "limit in thousandths of a byte", config: `{"limits": {"cpu": "800m", "memory": "800m"}}`,
			at: `limits["memory"]`, text: `limits["memory"] is "800m", which is a fraction of a byte`},
		{name: "limit in bytes", config: `{"limits": {"memory": "64000"}}`, at: `limits["memory"]`,
			text: `limits["memory"] is "64k", less than 1M`},
		{name: "limit below the request", config: `{"memory": "4Gi", "limits": {"memory": "2Gi"}}`,
			at: `limits["memory"]`, text: "is 2Gi, but memory requests 4Gi"},
		{name: "no limits", config: `{"limits": {}}`, at: "limits", text: "at least 1"},
		{name: "null limit", config: `{"limits": {"cpu": null}}`, at: `limits["cpu"]`, text: "is null"},
		{name: "GPUs as extra resources", config: `{"extended_resources": {"nvidia.com/gpu": "1"}}`,
			at: `extended_resources["nvidia.com/gpu"]`, text: "set gpus instead"},
		{name: "extra resource without a domain", config: `{"extended_resources": {"gpu": "1"}}`,
			at: `extended_resources["gpu"]`, text: "with a domain, such as amd.com/gpu"},
		{name: "half a device", config: `{"extended_resources": {"amd.com/gpu": "0.5"}}`,
			at: `extended_resources["amd.com/gpu"]`, text: "only be requested as integers"},
		{name: "devices with a unit", config: `{"extended_resources": {"amd.com/gpu": "4Gi"}}`,
			at: `extended_resources["amd.com/gpu"]`, text: `set a number of devices without a unit, such as "4"`},
		{name: "extra resources of KPU", config: `{"runtime": "kpu", "image": "a:1", "extended_resources":
			{"amd.com/gpu": "1"}}`, at: "extended_resources", text: "has no field in the Compute of KPU"},
		{name: "GPUs of another vendor off GPU nodes", config: `{"extended_resources": {"amd.com/gpu": "1"},
			"gpu_anti_affinity": true}`, at: "gpu_anti_affinity", text: "remove one of the two"},
	}
}

// badPlacement is where and how pods run.
func badPlacement() []badInput {
	return []badInput{
		{name: "affinity with an unknown field", config: `{"affinity": "{\"nodeaffinity\": {}}"}`, at: "affinity",
			text: `unknown field "nodeaffinity"`},
		{name: "affinity that is no object", config: `{"affinity": "[]"}`, at: "affinity", text: "is not an Affinity"},
		{name: "spread without a label", config: `{"topology_spread_constraints": [{"topology_key": ""}]}`,
			at: "topology_spread_constraints[0].topology_key", text: "topology_key is"},
		{name: "spread with a skew of zero",
			config: `{"topology_spread_constraints": [{"topology_key": "zone", "max_skew": 0}]}`,
			at:     "topology_spread_constraints[0].max_skew", text: "between 1 and"},
		{name: "spread with an unknown reaction", config: `{"topology_spread_constraints": [{"topology_key": "zone",
			"when_unsatisfiable": "Wait"}]}`, at: "topology_spread_constraints[0].when_unsatisfiable",
			text: "DoNotSchedule"},
		{name: "strategy of kubectl", config: `{"strategy": "recreate"}`, at: "strategy", text: "RollingUpdate"},
		{name: "strategy of Knative", config: `{"strategy": "Recreate", "autoscale": {}}`, at: "strategy",
			text: "the compute is a Knative Service: remove it"},
		{name: "strategy of a tensor server", config: `{"strategy": "Recreate", "runtime": "skytorch", "image": "a:1"}`,
			at: "strategy", text: "remove it"},
		{name: "termination in fractions of a second", config: `{"termination_grace_period": "1500ms"}`,
			at: "termination_grace_period", text: "only has whole seconds"},
		{name: "termination in Knative", config: `{"termination_grace_period": "60s", "autoscale": {}}`,
			at: "termination_grace_period", text: "Knative does not allow it"},
		{name: "no disruption budget", config: `{"pod_disruption_budget": {}}`, at: "pod_disruption_budget",
			text: "set min_available or max_unavailable"},
		{name: "two disruption budgets", config: `{"pod_disruption_budget": {"min_available": "1",
			"max_unavailable": "1"}}`, at: "pod_disruption_budget.max_unavailable", text: "remove one of the two"},
		{name: "disruption budget of words", config: `{"pod_disruption_budget": {"min_available": "half"}}`,
			at: "pod_disruption_budget.min_available", text: "such as 1 or 50%"},
		{name: "disruption budget above everything", config: `{"pod_disruption_budget": {"min_available": "101%"}}`,
			at: "pod_disruption_budget.min_available", text: "at most 100%"},
		{name: "disruption budget of a tensor server", config: `{"runtime": "skytorch", "image": "a:1",
			"pod_disruption_budget": {"min_available": "1"}}`, at: "pod_disruption_budget", text: "remove it"},
		{name: "identity as a label of pods", config: `{"pod_labels": {"kubetorch.com/service": "x"}}`,
			at: `pod_labels`, text: "kubetorch.com/service"},
		{name: "label of pods with spaces", config: `{"pod_labels": {"team": "a b"}}`, at: `pod_labels["team"]`,
			text: "a b"},
	}
}

func badExposures() []badInput {
	return []badInput{
		{name: "exposure without hosts", config: `{"expose": {"hosts": []}}`, at: "expose.hosts", text: "at least 1"},
		{name: "exposure of a URL", config: `{"expose": {"hosts": ["https://a.example.com"]}}`, at: "expose.hosts[0]",
			text: "a host name in lowercase"},
		{name: "exposure of a relative path", config: `{"expose": {"hosts": ["a.example"], "path": "v1"}}`,
			at: "expose.path", text: "starts with a slash"},
		{name: "exposure of TCP", config: `{"expose": {"hosts": ["a.example"], "protocol": "tcp"}}`,
			at: "expose.protocol", text: "grpc"},
		{name: "class of a Gateway", config: `{"expose": {"hosts": ["a.example"], "ingress_class_name": "nginx",
			"gateway": {"name": "public"}}}`, at: "expose.ingress_class_name", text: "remove one of the two"},
		{name: "certificate of a Gateway", config: `{"expose": {"hosts": ["a.example"], "tls_secret_name": "tls",
			"gateway": {"name": "public"}}}`, at: "expose.tls_secret_name", text: "whose listener has the certificate"},
		{name: "path of gRPC", config: `{"expose": {"hosts": ["a.example"], "protocol": "grpc", "path": "/v1",
			"gateway": {"name": "public"}}}`, at: "expose.path", text: "which a GRPCRoute does not have"},
		{name: "exposure of Knative", config: `{"autoscale": {}, "expose": {"hosts": ["a.example"]}}`, at: "expose",
			text: "creates a route itself"},
		{name: "exposure without a Service", config: `{"endpoint": {"url": "http://x"}, "expose":
			{"hosts": ["a.example"]}}`, at: "expose", text: "has no Service that could be exposed"},
	}
}
