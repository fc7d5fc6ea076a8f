package kind

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
)

// Deployment is apps/v1 Deployment, the default kind of a compute.
func Deployment() Kind { return must("apps", "Deployment") }

func deployment() Kind {
	return workload(appsv1.SchemeGroupVersion, "Deployment", "deployments", &Workload{
		Mode:        "deployment",
		Template:    "deployment",
		Container:   ContainerName,
		Picks:       func(Compute) bool { return true },
		Spec:        deploymentSpec,
		Complete:    completeDeployment,
		Groups:      replicated(),
		Scales:      true,
		Suspension:  noReplicas(),
		Selects:     true,
		ReplicaSets: true,
		Readiness:   OfDeployment,
	}, "spec.selector")
}

func deploymentSpec(c Compute) (map[string]any, error) {
	template, err := c.PodTemplate(false)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{
		"replicas": c.Replicas, "selector": map[string]any{"matchLabels": Texts(c.PodLabels)}, "template": template,
	}
	if recreated(c, c.Replicas) {
		spec["strategy"] = recreate()
	}
	return spec, nil
}

// recreated reports whether all pods are replaced together. It depends on the
// configured number of replicas, so that suspending a compute changes only the
// number.
func recreated(c Compute, replicas int64) bool { return cmp.Or(c.DesignedFor, replicas) > 1 }

func recreate() map[string]any {
	return map[string]any{"type": string(appsv1.RecreateDeploymentStrategyType)}
}

func completeDeployment(c Compute, workload map[string]any) {
	replicas := c.Replicas
	if current, ok := NumberAt(workload, []string{"spec", "replicas"}); ok && !c.ReplicasGiven {
		replicas = current
	}
	if _, ok := Find(workload, []string{"spec", "strategy"}); !ok && recreated(c, replicas) {
		SetAt(workload, []string{"spec", "strategy"}, recreate())
	}
}
