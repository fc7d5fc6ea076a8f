package manifest

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

func deploymentKind() kind {
	return kind{
		mode:        "deployment",
		template:    "deployment",
		gvk:         appsv1.SchemeGroupVersion.WithKind("Deployment"),
		picks:       func(Compute) bool { return true },
		spec:        deploymentSpec,
		suspend:     scaleToZero,
		podTemplate: []string{"spec", "template"},
		fixed:       [][]string{{"spec", "selector"}},
	}
}

func deploymentSpec(c Compute) (map[string]any, error) {
	spec := appsv1ac.DeploymentSpec().
		WithReplicas(int32(c.Replicas)). //nolint:gosec // validate has seen that it fits
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(ownPods(c))).
		WithTemplate(podTemplate(c))
	// Decided from the replicas that were asked for, so that suspending a
	// compute changes nothing but their number.
	if cmp.Or(c.DesignedFor, c.Replicas) > 1 {
		spec.WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType))
	}
	return toMap(spec)
}

// scaleToZero suspends a workload that has spec.replicas.
func scaleToZero(workload map[string]any) {
	if spec, ok := workload["spec"].(map[string]any); ok {
		spec["replicas"] = int64(0)
	}
}
