package kind

import corev1 "k8s.io/api/core/v1"

// Pod is the core Pod.
func Pod() Kind { return must("", "Pod") }

// pod is its own template and cannot be suspended. The shared watch contains all pods
// of Kubetorch services, including those that controllers create.
func pod() Kind {
	k := workload(corev1.SchemeGroupVersion, "Pod", "pods", &Workload{
		Mode:      "pod",
		Template:  "pod",
		Container: ContainerName,
		Groups:    always(Group{}),
		Unscaled:  true,
		Readiness: OfPod,
	},
		"spec", "spec.containers", "spec.initContainers", "spec.ephemeralContainers", "spec.nodeName",
		"spec.nodeSelector", "spec.affinity", "spec.tolerations", "spec.schedulingGates", "spec.activeDeadlineSeconds",
		"spec.terminationGracePeriodSeconds")
	k.LabelSelector = OfServices
	return k
}
