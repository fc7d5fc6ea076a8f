package manifest

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

func deploymentKind() kind {
	return kind{
		mode:       "deployment",
		template:   "deployment",
		gvk:        appsv1.SchemeGroupVersion.WithKind("Deployment"),
		container:  ContainerName,
		picks:      func(Compute) bool { return true },
		spec:       deploymentSpec,
		complete:   completeDeployment,
		groups:     replicated(),
		scales:     true,
		suspension: noReplicas(),
		selects:    true,
	}
}

func deploymentSpec(c Compute, k kind) (map[string]any, error) {
	replicas, _ := askedReplicas(c)
	spec := appsv1ac.DeploymentSpec().
		WithReplicas(int32(replicas)). //nolint:gosec // validate has seen that it fits
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(ownPods(c))).
		WithTemplate(podTemplate(c, k, false))
	if recreated(c, replicas) {
		spec.WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType))
	}
	return toMap(spec)
}

// recreated tells whether all pods are replaced together. It is decided from
// the replicas that were asked for, so that suspending a compute changes
// nothing but their number.
func recreated(c Compute, replicas int64) bool { return cmp.Or(c.DesignedFor, replicas) > 1 }

func completeDeployment(c Compute, workload map[string]any) {
	replicas, attribute := askedReplicas(c)
	if said, ok := numberAt(workload, []string{"spec", "replicas"}); ok && attribute == "" {
		replicas = said
	}
	if _, ok := find(workload, []string{"spec", "strategy"}); !ok && recreated(c, replicas) {
		setAt(workload, []string{"spec", "strategy"}, map[string]any{"type": string(appsv1.RecreateDeploymentStrategyType)})
	}
}

// noReplicas suspends a workload that has spec.replicas.
func noReplicas() []setting {
	return []setting{{path: []string{"spec", "replicas"}, value: int64(0)}}
}
