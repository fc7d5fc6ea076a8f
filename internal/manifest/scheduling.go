package manifest

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// schedule sets where the pods may run, who decides it, and how a node gets their images.
func schedule(pod *corev1ac.PodSpecApplyConfiguration, c Compute) {
	if selector := nodeSelector(c); len(selector) > 0 {
		pod.WithNodeSelector(selector)
	}
	for _, t := range tolerations(c) {
		pod.WithTolerations(tolerationConfiguration(t))
	}
	if c.GPUAntiAffinity && !wantsGPU(c) {
		pod.WithAffinity(corev1ac.Affinity().WithNodeAffinity(offGPUNodes()))
	}
	if c.PriorityClassName != "" {
		pod.WithPriorityClassName(c.PriorityClassName)
	}
	for _, name := range c.ImagePullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(name))
	}
	if c.QueueName != "" && c.QueueScheduler == QueueSchedulerKAI {
		pod.WithSchedulerName("kai-scheduler")
	}
}

// observePod is the inverse of schedule.
func observePod(c *Compute, pod corev1.PodSpec) {
	c.ServiceAccountName, c.PriorityClassName = pod.ServiceAccountName, pod.PriorityClassName
	c.NodeSelector = union(pod.NodeSelector)
	c.GPUType = c.NodeSelector[gpuProductLabel]
	delete(c.NodeSelector, gpuProductLabel)
	for _, t := range pod.Tolerations {
		c.Tolerations = append(c.Tolerations, Toleration{
			Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect),
			TolerationSeconds: t.TolerationSeconds,
		})
	}
	for _, secret := range pod.ImagePullSecrets {
		c.ImagePullSecrets = append(c.ImagePullSecrets, secret.Name)
	}
	c.GPUAntiAffinity = pod.Affinity != nil && pod.Affinity.NodeAffinity != nil &&
		keepsOffGPUs(pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

func keepsOffGPUs(selector *corev1.NodeSelector) bool {
	return selector != nil && slices.ContainsFunc(selector.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == string(gpuResource) && r.Operator == corev1.NodeSelectorOpDoesNotExist
		})
	})
}

func wantsGPU(c Compute) bool { return c.GPUs > 0 || c.GPUMemory != nil }

// NodeSelector is what a compute asks of its nodes' labels, its GPU product
// among them.
func NodeSelector(c Compute) map[string]string { return nodeSelector(c) }

func nodeSelector(c Compute) map[string]string {
	selector := union(c.NodeSelector)
	if c.GPUType != "" {
		if key, value, err := ParseGPUType(c.GPUType); err == nil { // validate has reported the error
			selector[key] = value
		}
	}
	return selector
}

// tolerations are the user's, then those of the taints that GPU nodes usually
// carry, unless the user gave an equal one.
func tolerations(c Compute) []Toleration {
	all := slices.Clone(c.Tolerations)
	if c.GPUs == 0 {
		return all
	}
	for _, gpu := range gpuTolerations() {
		if !slices.ContainsFunc(all, func(t Toleration) bool { return sameTaint(t, gpu) }) {
			all = append(all, gpu)
		}
	}
	return all
}

func gpuTolerations() []Toleration {
	return []Toleration{
		{Key: string(gpuResource), Operator: string(corev1.TolerationOpExists),
			Effect: string(corev1.TaintEffectNoSchedule)},
		{Key: "dedicated", Operator: string(corev1.TolerationOpEqual), Value: "gpu",
			Effect: string(corev1.TaintEffectNoSchedule)},
	}
}

// sameTaint reports whether two tolerations are for the same taints. Equal is
// what Kubernetes reads where no operator is given.
func sameTaint(a, b Toleration) bool {
	equal := string(corev1.TolerationOpEqual)
	return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value &&
		cmp.Or(a.Operator, equal) == cmp.Or(b.Operator, equal)
}

func tolerationConfiguration(t Toleration) *corev1ac.TolerationApplyConfiguration {
	result := corev1ac.Toleration()
	if t.Key != "" {
		result.WithKey(t.Key)
	}
	if t.Operator != "" {
		result.WithOperator(corev1.TolerationOperator(t.Operator))
	}
	if t.Value != "" {
		result.WithValue(t.Value)
	}
	if t.Effect != "" {
		result.WithEffect(corev1.TaintEffect(t.Effect))
	}
	if t.TolerationSeconds != nil {
		result.WithTolerationSeconds(*t.TolerationSeconds)
	}
	return result
}

// offGPUNodes keeps pods off the nodes that the device plugin, EKS or GKE mark
// as having GPUs.
func offGPUNodes() *corev1ac.NodeAffinityApplyConfiguration {
	term := corev1ac.NodeSelectorTerm()
	for _, label := range []string{
		string(gpuResource),
		"eks.amazonaws.com/instance-gpu-count",
		"cloud.google.com/gke-accelerator",
	} {
		term.WithMatchExpressions(corev1ac.NodeSelectorRequirement().
			WithKey(label).
			WithOperator(corev1.NodeSelectorOpDoesNotExist))
	}
	return corev1ac.NodeAffinity().WithRequiredDuringSchedulingIgnoredDuringExecution(
		corev1ac.NodeSelector().WithNodeSelectorTerms(term))
}

// withoutGPUTolerations omits the tolerations that schedule adds for GPUs.
func withoutGPUTolerations(tolerations []Toleration) []Toleration {
	return slices.DeleteFunc(slices.Clone(tolerations), func(t Toleration) bool {
		return slices.ContainsFunc(gpuTolerations(),
			func(gpu Toleration) bool { return sameTaint(t, gpu) && t.TolerationSeconds == nil })
	})
}
