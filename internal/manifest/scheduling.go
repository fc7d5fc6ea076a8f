package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// podSpec returns the fields of a pod, including its volumes and those for its scheduling.
func podSpec(c Compute, volumes []corev1.Volume, pod *corev1ac.PodSpecApplyConfiguration) map[string]any {
	typed := schedule(c)
	typed.Volumes = volumes
	spec, scheduled := toMap(pod), toMap(&typed)
	delete(scheduled, "containers")
	maps.Copy(spec, scheduled)
	return spec
}

// defaultMaxSkew is the MaxSkew of topology spread constraints without one. Their default of WhenUnsatisfiable is
// DoNotSchedule.
const defaultMaxSkew = 1

// schedule returns the fields of a pod for its scheduling and for pulling images.
func schedule(c Compute) corev1.PodSpec {
	pod := corev1.PodSpec{NodeSelector: nodeSelector(c), Tolerations: tolerations(c), Affinity: podAffinity(c),
		PriorityClassName: c.PriorityClassName, RuntimeClassName: c.RuntimeClassName,
		SecurityContext: podSecurity(c.SecurityContext), HostNetwork: c.HostNetwork}
	if c.HostNetwork {
		pod.DNSPolicy = corev1.DNSClusterFirstWithHostNet // the default would not resolve Services
	}
	for _, name := range c.ImagePullSecrets {
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if c.QueueName != "" && c.QueueScheduler == kind.QueueSchedulerKAI {
		pod.SchedulerName = kind.KAIScheduler
	}
	pod.TerminationGracePeriodSeconds = secondsOf(c.TerminationGracePeriod)
	for _, spread := range c.TopologySpread {
		spread.LabelSelector = &metav1.LabelSelector{MatchLabels: podSelector(c)}
		spread.MaxSkew = max(spread.MaxSkew, defaultMaxSkew)
		spread.WhenUnsatisfiable = cmp.Or(spread.WhenUnsatisfiable, corev1.DoNotSchedule)
		pod.TopologySpreadConstraints = append(pod.TopologySpreadConstraints, spread)
	}
	return pod
}

// observePod is the inverse of schedule.
func observePod(c *Compute, pod corev1.PodSpec) {
	c.ServiceAccountName, c.PriorityClassName = pod.ServiceAccountName, pod.PriorityClassName
	c.RuntimeClassName, c.HostNetwork = pod.RuntimeClassName, pod.HostNetwork
	observePodSecurity(c, pod.SecurityContext)
	c.NodeSelector, c.Tolerations = union(pod.NodeSelector), pod.Tolerations
	if product, ok := c.NodeSelector[kind.GPUProductLabel]; ok {
		c.GPUType = NodeLabel{kind.GPUProductLabel, product}
		delete(c.NodeSelector, kind.GPUProductLabel)
	}
	for _, secret := range pod.ImagePullSecrets {
		c.ImagePullSecrets = append(c.ImagePullSecrets, secret.Name)
	}
	c.TerminationGracePeriod = fromSeconds(pod.TerminationGracePeriodSeconds)
	for _, spread := range pod.TopologySpreadConstraints {
		c.TopologySpread = append(c.TopologySpread, corev1.TopologySpreadConstraint{
			TopologyKey: spread.TopologyKey, MaxSkew: unlessDefault(spread.MaxSkew, defaultMaxSkew),
			WhenUnsatisfiable: unlessDefault(spread.WhenUnsatisfiable, corev1.DoNotSchedule),
		})
	}
	observeAffinity(c, pod.Affinity)
}

// WantsGPU reports whether the pods request GPUs of any vendor, or a share of one.
func (c Compute) WantsGPU() bool {
	return c.GPUs > 0 || c.GPUMemory != nil || hasResource(c, func(name string) bool {
		return kind.IsGPU(name) || ofNVIDIA(name) || strings.HasSuffix(name, "/gpu")
	})
}

// hasResource reports whether the name of an extra resource satisfies is.
func hasResource(c Compute, is func(name string) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(c.ExtendedResources)), is)
}

// ofNVIDIA reports whether a resource is one of NVIDIA's device plugin, such as a slice of a GPU.
func ofNVIDIA(name string) bool { return strings.HasPrefix(name, kind.NVIDIADomain) }

// nodeSelector returns the labels that the nodes of a compute must have, including that of its GPU type.
func nodeSelector(c Compute) map[string]string {
	selector := union(c.NodeSelector)
	if c.GPUType.Key != "" {
		selector[c.GPUType.Key] = c.GPUType.Value
	}
	return selector
}

// tolerations returns the tolerations of the user and those for common taints of nodes with the requested devices that
// the user has not set.
func tolerations(c Compute) []corev1.Toleration {
	all := slices.Clone(c.Tolerations)
	for _, implied := range impliedTolerations(c) {
		if !slices.ContainsFunc(all, func(t corev1.Toleration) bool { return sameTaint(t, implied) }) {
			all = append(all, implied)
		}
	}
	return all
}

// impliedTolerations returns the tolerations for the taints of nodes with GPUs, and for those of other devices: a taint
// with the name of the resource, as in the ExtendedResourceToleration admission plugin of Kubernetes. Nodes with slices
// of NVIDIA's GPUs have the taints of nodes with complete ones.
func impliedTolerations(c Compute) []corev1.Toleration {
	exists := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	}
	var all []corev1.Toleration
	if c.GPUs > 0 || hasResource(c, ofNVIDIA) {
		all = append(all, exists(kind.GPUResource), corev1.Toleration{Key: kind.DedicatedTaint,
			Operator: corev1.TolerationOpEqual, Value: kind.DedicatedGPU, Effect: corev1.TaintEffectNoSchedule})
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
func sameTaint(a, b corev1.Toleration) bool {
	return a.Key == b.Key && a.Effect == b.Effect && a.Value == b.Value &&
		cmp.Or(a.Operator, corev1.TolerationOpEqual) == cmp.Or(b.Operator, corev1.TolerationOpEqual)
}

// withoutImplied omits the tolerations that schedule adds for the devices of c.
func withoutImplied(tolerations []corev1.Toleration, c Compute) []corev1.Toleration {
	return slices.DeleteFunc(slices.Clone(tolerations), func(t corev1.Toleration) bool {
		return slices.ContainsFunc(impliedTolerations(c),
			func(implied corev1.Toleration) bool { return sameTaint(t, implied) && t.TolerationSeconds == nil })
	})
}
