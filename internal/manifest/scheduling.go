package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// podSpec returns the fields of a pod, including those for its scheduling. The affinity is separate because it has the
// type of the API, and is not an apply configuration.
func podSpec(c Compute, pod *corev1ac.PodSpecApplyConfiguration) (map[string]any, error) {
	schedule(pod, c)
	spec, err := toMap(pod)
	if affinity := podAffinity(c); err == nil && affinity != nil {
		spec["affinity"], err = toMap(affinity)
	}
	return spec, err
}

// schedule sets the fields of a pod for its scheduling and for pulling images, except the affinity.
func schedule(pod *corev1ac.PodSpecApplyConfiguration, c Compute) {
	if selector := NodeSelector(c); len(selector) > 0 {
		pod.WithNodeSelector(selector)
	}
	for _, t := range tolerations(c) {
		pod.WithTolerations(tolerationConfiguration(t))
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
	if c.TerminationGracePeriod != nil {
		pod.WithTerminationGracePeriodSeconds(int64(*c.TerminationGracePeriod / time.Second))
	}
	for _, spread := range c.TopologySpread {
		pod.WithTopologySpreadConstraints(corev1ac.TopologySpreadConstraint().
			WithTopologyKey(spread.TopologyKey).
			WithMaxSkew(spread.MaxSkew).
			WithWhenUnsatisfiable(corev1.UnsatisfiableConstraintAction(spread.WhenUnsatisfiable)).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(podSelector(c))))
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
	if seconds := pod.TerminationGracePeriodSeconds; seconds != nil {
		c.TerminationGracePeriod = new(time.Duration(*seconds) * time.Second)
	}
	for _, spread := range pod.TopologySpreadConstraints {
		c.TopologySpread = append(c.TopologySpread, TopologySpread{
			TopologyKey: spread.TopologyKey, MaxSkew: spread.MaxSkew,
			WhenUnsatisfiable: string(spread.WhenUnsatisfiable),
		})
	}
	observeAffinity(c, pod.Affinity)
}

// WantsGPU reports whether the pods request GPUs of any vendor, or a share of one.
func (c Compute) WantsGPU() bool {
	return c.GPUs > 0 || c.GPUMemory != nil || hasResource(c, func(name string) bool {
		return ofNVIDIA(name) || strings.HasSuffix(name, "/gpu")
	})
}

// hasResource reports whether the name of an extra resource satisfies is.
func hasResource(c Compute, is func(name string) bool) bool {
	for name := range c.ExtendedResources {
		if is(name) {
			return true
		}
	}
	return false
}

// ofNVIDIA reports whether a resource is one of NVIDIA's device plugin, such as a slice of a GPU.
func ofNVIDIA(name string) bool { return strings.HasPrefix(name, kind.NVIDIADomain) }

// NodeSelector returns the labels that the nodes of a compute must have, including that of its GPU type.
func NodeSelector(c Compute) map[string]string {
	selector := union(c.NodeSelector)
	if c.GPUType.Key != "" {
		selector[c.GPUType.Key] = c.GPUType.Value
	}
	return selector
}

// tolerations returns the tolerations of the user and those for common taints of nodes with the requested devices that
// the user has not set.
func tolerations(c Compute) []Toleration {
	all := slices.Clone(c.Tolerations)
	for _, implied := range impliedTolerations(c) {
		if !slices.ContainsFunc(all, func(t Toleration) bool { return sameTaint(t, implied) }) {
			all = append(all, implied)
		}
	}
	return all
}

// impliedTolerations returns the tolerations for the taints of nodes with GPUs, and for those of other devices: a taint
// with the name of the resource, as in the ExtendedResourceToleration admission plugin of Kubernetes. Nodes with slices
// of NVIDIA's GPUs have the taints of nodes with complete ones.
func impliedTolerations(c Compute) []Toleration {
	noSchedule := string(corev1.TaintEffectNoSchedule)
	exists := func(key string) Toleration {
		return Toleration{Key: key, Operator: string(corev1.TolerationOpExists), Effect: noSchedule}
	}
	var all []Toleration
	if c.GPUs > 0 || hasResource(c, ofNVIDIA) {
		all = append(all, exists(kind.GPUResource), Toleration{Key: kind.DedicatedTaint,
			Operator: string(corev1.TolerationOpEqual), Value: kind.DedicatedGPU, Effect: noSchedule})
	}
	for _, name := range slices.Sorted(maps.Keys(c.ExtendedResources)) {
		if !ofNVIDIA(name) {
			all = append(all, exists(name))
		}
	}
	return all
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

// withoutImplied omits the tolerations that schedule adds for the devices of c.
func withoutImplied(tolerations []Toleration, c Compute) []Toleration {
	return slices.DeleteFunc(slices.Clone(tolerations), func(t Toleration) bool {
		return slices.ContainsFunc(impliedTolerations(c),
			func(implied Toleration) bool { return sameTaint(t, implied) && t.TolerationSeconds == nil })
	})
}
