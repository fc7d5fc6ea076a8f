package manifest

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// schedule sets the fields of a pod for its scheduling and for pulling images.
func schedule(pod *corev1ac.PodSpecApplyConfiguration, c Compute) {
	if selector := NodeSelector(c); len(selector) > 0 {
		pod.WithNodeSelector(selector)
	}
	for _, t := range tolerations(c) {
		pod.WithTolerations(tolerationConfiguration(t))
	}
	if c.GPUAntiAffinity && !c.WantsGPU() {
		pod.WithAffinity(corev1ac.Affinity().WithNodeAffinity(offGPUNodes()))
	}
	if c.PriorityClassName != "" {
		pod.WithPriorityClassName(c.PriorityClassName)
	}
	for _, name := range c.ImagePullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(name))
	}
	if c.QueueName != "" && c.QueueScheduler == kind.QueueSchedulerKAI {
		pod.WithSchedulerName(kind.KAIScheduler)
	}
}

// observePod is the inverse of schedule.
func observePod(c *Compute, pod corev1.PodSpec) {
	c.ServiceAccountName, c.PriorityClassName = pod.ServiceAccountName, pod.PriorityClassName
	c.NodeSelector = union(pod.NodeSelector)
	if product, ok := c.NodeSelector[kind.GPUProductLabel]; ok {
		c.GPUType = NodeLabel{kind.GPUProductLabel, product}
		delete(c.NodeSelector, kind.GPUProductLabel)
	}
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
			return r.Key == kind.GPUResource && r.Operator == corev1.NodeSelectorOpDoesNotExist
		})
	})
}

// WantsGPU reports whether the pods request GPUs, or a share of one.
func (c Compute) WantsGPU() bool { return c.GPUs > 0 || c.GPUMemory != nil }

// NodeSelector returns the labels that the nodes of a compute must have, including that of its GPU type.
func NodeSelector(c Compute) map[string]string {
	selector := union(c.NodeSelector)
	if c.GPUType.Key != "" {
		selector[c.GPUType.Key] = c.GPUType.Value
	}
	return selector
}

// tolerations returns the tolerations of the user and, if GPUs are requested, those
// for common taints of GPU nodes that the user has not set.
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
		{Key: kind.GPUResource, Operator: string(corev1.TolerationOpExists),
			Effect: string(corev1.TaintEffectNoSchedule)},
		{Key: kind.DedicatedTaint, Operator: string(corev1.TolerationOpEqual), Value: kind.DedicatedGPU,
			Effect: string(corev1.TaintEffectNoSchedule)},
	}
}

// sameTaint reports whether two tolerations are for the same taints. Equal is the
// default operator.
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

// offGPUNodes excludes the nodes that have GPUs according to the labels of the device
// plugin, EKS or GKE.
func offGPUNodes() *corev1ac.NodeAffinityApplyConfiguration {
	term := corev1ac.NodeSelectorTerm()
	for _, label := range []string{
		kind.GPUResource,
		kind.EKSGPUCountLabel,
		kind.GKEAcceleratorLabel,
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
