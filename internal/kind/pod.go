package kind

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

// Pod is the core Pod.
func Pod() Kind { return must("", "Pod") }

// pod is its own template and cannot be suspended. The shared watch contains all pods
// of Kubetorch services, including those that controllers create.
func pod() Kind {
	k := workload(corev1.SchemeGroupVersion, "Pod", &Workload{
		Ends:      true,
		Groups:    always(Group{}),
		Unscaled:  true,
		Refuses:   refusedByPods(),
		Readiness: OfPod,
	},
		"spec", "spec.containers", "spec.initContainers", "spec.ephemeralContainers", "spec.nodeName",
		"spec.nodeSelector", "spec.affinity", "spec.tolerations", "spec.schedulingGates", "spec.activeDeadlineSeconds",
		"spec.terminationGracePeriodSeconds")
	k.LabelSelector = OfServices
	return k
}

// refusedByPods are the refusals of a Pod without a controller.
func refusedByPods() map[Operation]Refusal {
	const why = "No controller would create the pod again."
	replace := refusal(why, "%s.", advice.ReplaceObject)
	return map[Operation]Refusal{
		Restarting: replace,
		Suspending: refusal(why, "Use a kind with a controller, such as a Deployment, or delete the Pod."),
		Scaling:    refusal("It is one pod.", "Use a kind with replicas, such as a Deployment."),
		Evacuating: replace,
	}
}

// IsSidecar reports whether an init container is a sidecar, which runs as long as the pod.
func IsSidecar(initial corev1.Container) bool {
	return ptr.Deref(initial.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// LastingContainers returns the containers and the sidecars of a pod. Its other init containers end before it is ready.
func LastingContainers(pod *corev1.Pod) []corev1.Container {
	all := slices.Clone(pod.Spec.Containers)
	for _, initial := range pod.Spec.InitContainers {
		if IsSidecar(initial) {
			all = append(all, initial)
		}
	}
	return all
}
