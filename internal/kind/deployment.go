package kind

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Deployment is apps/v1 Deployment, the default kind of a compute.
func Deployment() Kind {
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

// MaxSurge is the path of the number of additional pods during a rolling update of a Deployment.
func MaxSurge() []string { return []string{"spec", "strategy", "rollingUpdate", "maxSurge"} }

// MaxUnavailable is the path of the number of pods that a rolling update of a Deployment stops before their
// replacements are ready.
func MaxUnavailable() []string {
	return []string{"spec", "strategy", "rollingUpdate", "maxUnavailable"}
}

// StrategyOf returns the strategy of a compute that runs as a Deployment, or "" for the default of Kubernetes. By
// default, several pods are replaced together, as in Kubetorch, unless they serve requests independently.
func StrategyOf(c Compute) appsv1.DeploymentStrategyType {
	switch {
	case c.Strategy != "":
		return appsv1.DeploymentStrategyType(c.Strategy)
	case c.Serves:
		return appsv1.RollingUpdateDeploymentStrategyType
	case c.Replicas > 1:
		return appsv1.RecreateDeploymentStrategyType
	default:
		return ""
	}
}

// rolloutLimits returns the limits of a rolling update, or "" for those of Kubernetes. By default, servers with GPUs
// are replaced one by one, since an additional pod would wait for GPUs that are not available.
func rolloutLimits(c Compute) (surge, unavailable string) {
	surge, unavailable = c.MaxSurge, c.MaxUnavailable
	oneByOne := c.Serves && c.GPUs
	if oneByOne && surge == "" && !IsNoPod(unavailable) {
		surge = "0"
	}
	if oneByOne && unavailable == "" && IsNoPod(surge) {
		unavailable = "1"
	}
	return surge, unavailable
}

// IsNoPod reports whether a number of pods or a percentage is zero.
func IsNoPod(count string) bool { return count == "0" || count == "0%" }

func completeDeployment(c Compute, workload map[string]any) {
	_, given := Find(workload, []string{"spec", "strategy"})
	strategy := StrategyOf(c)
	if given || strategy == "" {
		return
	}
	SetAt(workload, strategyOfDeployment(), string(strategy))
	if strategy != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	surge, unavailable := rolloutLimits(c)
	setPodCount(workload, MaxSurge(), surge)
	setPodCount(workload, MaxUnavailable(), unavailable)
}

// setPodCount sets a number of pods, or a percentage as a text, unless it is "".
func setPodCount(workload map[string]any, path []string, count string) {
	switch parsed := intstr.Parse(count); {
	case count == "":
	case parsed.Type == intstr.Int:
		SetAt(workload, path, int64(parsed.IntVal))
	default:
		SetAt(workload, path, parsed.StrVal)
	}
}

// rolling is the strategy of a rolling update with these limits.
func rolling(surge, unavailable any) map[string]any {
	return map[string]any{"type": "RollingUpdate",
		"rollingUpdate": map[string]any{"maxSurge": surge, "maxUnavailable": unavailable}}
}
