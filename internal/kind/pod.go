package kind

import corev1 "k8s.io/api/core/v1"

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
	replace := Refusal{Why: why, Instead: "{Replace the object}."}
	return map[Operation]Refusal{
		Restarting: replace,
		Suspending: {Why: why, Instead: "Use a kind with a controller, such as a Deployment, or delete the Pod."},
		Scaling:    {Why: "It is one pod.", Instead: "Use a kind with replicas, such as a Deployment."},
		Evacuating: replace,
	}
}
