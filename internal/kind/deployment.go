package kind

import appsv1 "k8s.io/api/apps/v1"

// Deployment is apps/v1 Deployment, the default kind of a compute.
func Deployment() Kind { return must("apps", "Deployment") }

func deployment() Kind {
	return workload(appsv1.SchemeGroupVersion, "Deployment", &Workload{
		Picks:       func(Compute) bool { return true },
		Spec:        func(c Compute) map[string]any { return map[string]any{"replicas": c.Replicas} },
		Complete:    completeDeployment,
		Groups:      replicated(),
		Scales:      true,
		Scale:       scaledReplicas(),
		Suspension:  noReplicas(),
		Strategy:    strategyOfDeployment(),
		Restart:     restartBy(ByTemplate),
		Paused:      []string{"spec", "paused"},
		Selects:     true,
		ReplicaSets: true,
		Readiness:   OfDeployment,
		Defaults: map[string]any{"progressDeadlineSeconds": int64(600), "revisionHistoryLimit": int64(10),
			"strategy": rolling("25%", "25%")},
	}, "spec.selector")
}

func strategyOfDeployment() []string { return []string{"spec", "strategy", "type"} }

// strategyOf returns the strategy of a compute, or "" for the default of Kubernetes. By default, several pods are
// replaced together, as in Kubetorch.
func strategyOf(c Compute) appsv1.DeploymentStrategyType {
	if c.Strategy == "" && c.Replicas > 1 {
		return appsv1.RecreateDeploymentStrategyType
	}
	return appsv1.DeploymentStrategyType(c.Strategy)
}

func completeDeployment(c Compute, workload map[string]any) {
	_, given := Find(workload, []string{"spec", "strategy"})
	if strategy := strategyOf(c); !given && strategy != "" {
		SetAt(workload, strategyOfDeployment(), string(strategy))
	}
}
