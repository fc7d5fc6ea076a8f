package ready

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// misfit describes why no node can run a pod, even if nothing else runs there.
type misfit struct {
	summary   string
	hint      advice.Text
	temporary bool // a node is still setting up its devices
}

// ForecastNodes returns the cause that will prevent so many pods of a workload
// from ever running at the same time, as far as neverFits determines it, or nil.
// The subject of the cause is "labels" if no node has the labels that the pod
// requires.
func ForecastNodes(p *corev1.Pod, nodes []*corev1.Node, pods int) *Cause {
	why, never := neverFits(p, nodes, pods)
	if !never {
		return nil
	}
	c := &Cause{Reason: ReasonUnschedulable, Subject: "requests", Summary: why.summary, Hint: why.hint}
	if len(nodes) > 0 && !slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return matchesLabels(p, n) }) {
		c.Subject = "labels"
	}
	return c
}

// neverFits checks a pod against the total capacity of nodes, not the free
// capacity: node selector and affinity, permanent taints, and allocatable
// resources. replicas is the number of such pods that must run at the same
// time, or 0 if unknown. For spread constraints, pod affinity, host ports and
// volumes, see the message of the scheduler.
func neverFits(p *corev1.Pod, nodes []*corev1.Node, replicas int) (misfit, bool) {
	nodes = slices.SortedFunc(slices.Values(nodes),
		func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	want := requests(p)
	labelled := filter(nodes, func(n *corev1.Node) bool { return matchesLabels(p, n) })
	if len(labelled) == 0 {
		return labelMisfit(p, nodes), true
	}
	tolerated := filter(labelled, func(n *corev1.Node) bool { return untolerated(p, n) == nil })
	suffices := func(n *corev1.Node) bool { return podsPerNode(n, want) > 0 }
	largeEnough, eligible := filter(labelled, suffices), filter(tolerated, suffices)
	settingUp := registering(labelled, want)
	switch {
	case settingUp != nil:
		return misfit{
			summary: fmt.Sprintf("Node %s is labeled as a GPU node, but does not offer %s yet, because its device "+
				"plugin has not registered. Installing the driver on a new node takes some "+
				"minutes.", settingUp.Name, kind.GPUResource),
			hint:      advice.Of("Check the GPU operator or the device plugin if this persists."),
			temporary: true,
		}, len(eligible) == 0
	case len(eligible) > 0:
		return tooManyReplicas(p, eligible, want, replicas)
	case len(largeEnough) > 0:
		return taintMisfit(p, largeEnough), true
	case len(tolerated) > 0:
		return resourceMisfit(tolerated, nodes, want), true
	}
	return resourceMisfit(labelled, nodes, want), true
}

// requests returns the requested resources of the pod that are greater than
// zero.
func requests(p *corev1.Pod) corev1.ResourceList {
	list := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	maps.DeleteFunc(list, func(_ corev1.ResourceName, q resource.Quantity) bool { return q.Sign() <= 0 })
	return list
}

// amounts formats requests: "8 nvidia.com/gpu, 16 cpu".
func amounts(want corev1.ResourceList) string {
	parts := kind.Each(resourceNames(want), func(name corev1.ResourceName) string { return amountOf(name, want) })
	if len(parts) == 0 {
		return "no resources"
	}
	return Listed(parts, 5)
}

// resourceNames returns the names, devices before CPU, memory and disk, because
// devices limit scheduling most.
func resourceNames(list corev1.ResourceList) []corev1.ResourceName {
	native := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	return slices.SortedFunc(maps.Keys(list), func(a, b corev1.ResourceName) int {
		return cmp.Or(cmp.Compare(slices.Index(native, a), slices.Index(native, b)),
			strings.Compare(string(a), string(b)))
	})
}

// ceiling returns the maximum of a resource that a node can ever provide. The
// capacity includes devices that are currently unhealthy.
func ceiling(n *corev1.Node, name corev1.ResourceName) resource.Quantity {
	if q, known := n.Status.Capacity[name]; known && strings.Contains(string(name), "/") {
		return q
	}
	return n.Status.Allocatable[name]
}

// maxPods exceeds the number of pods of any node, and keeps sums in range.
const maxPods = 1 << 20

// podsPerNode returns the number of pods with these requests that an empty node can
// run.
func podsPerNode(n *corev1.Node, want corev1.ResourceList) int {
	most := maxPods
	for name, q := range want {
		have := ceiling(n, name)
		most = min(most, int(min(have.AsApproximateFloat64()/q.AsApproximateFloat64()*(1+1e-9), maxPods)))
	}
	return most
}

func matchesLabels(p *corev1.Pod, n *corev1.Node) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return (ok || err != nil) && // an invalid expression does not exclude the node
		!slices.ContainsFunc(spreadLabels(p), func(d corev1.NodeSelectorRequirement) bool { return !meets(n, d) })
}

// untolerated returns a taint that permanently excludes the pod from the node, or
// nil.
func untolerated(p *corev1.Pod, n *corev1.Node) *corev1.Taint {
	// Toleration operators of newer clusters are supported too, so that a pod that
	// may run is never reported as unschedulable.
	taint, found := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), n.Spec.Taints, p.Spec.Tolerations,
		isPermanent, true)
	if !found {
		return nil
	}
	return &taint
}

// isPermanent reports whether a taint is permanent. Temporary taints show the
// state of a node: cordoned, not ready, under pressure, waiting for an agent.
func isPermanent(t *corev1.Taint) bool {
	if t.Effect == corev1.TaintEffectPreferNoSchedule {
		return false
	}
	domain, name, _ := strings.Cut(t.Key, "/")
	return domain != "node.kubernetes.io" && domain != "node.cloudprovider.kubernetes.io" &&
		!strings.Contains(name, "not-ready") && !strings.Contains(name, "startup") &&
		!strings.Contains(name, "unregistered")
}

// registering returns a node that has GPUs by its labels, but does not offer
// any yet.
func registering(nodes []*corev1.Node, want corev1.ResourceList) *corev1.Node {
	if _, ok := want[kind.GPUResource]; !ok {
		return nil
	}
	return first(nodes, func(n *corev1.Node) bool {
		have := ceiling(n, kind.GPUResource)
		return have.IsZero() && gpuByLabel(n)
	})
}

// gpuByLabel reports whether a node has one of the labels that are set on GPU
// nodes before their devices can be used: by node feature discovery, the GPU
// operator, GKE and EKS.
func gpuByLabel(n *corev1.Node) bool {
	labels := []string{kind.GPUPresentLabel, "feature.node.kubernetes.io/pci-10de.present", kind.GKEAcceleratorLabel,
		kind.EKSGPUCountLabel}
	return slices.ContainsFunc(labels, func(label string) bool {
		v := n.Labels[label]
		return v != "" && v != "false" && v != "0"
	})
}

func tooManyReplicas(
	p *corev1.Pod, eligible []*corev1.Node, want corev1.ResourceList, replicas int,
) (misfit, bool) {
	room, what := 0, amounts(want)
	for _, n := range eligible {
		room += podsPerNode(n, want)
	}
	if usesHostPort(p) {
		room, what = min(room, len(eligible)), strings.TrimPrefix(what+", a port of its node", "no resources, ")
	}
	if room >= replicas {
		return misfit{}, false
	}
	return misfit{
		summary: fmt.Sprintf("%s cannot run at the same time: each requests %s, and the %s that can run such a pod "+
			"can run %d in total.", advice.Number(replicas, "pod"), what, advice.Number(len(eligible), "node"), room),
		hint: advice.Of("Reduce %s or the requests of each pod, or add nodes.", advice.Replicas),
	}, true
}

// usesHostPort reports whether a node can run only one such pod.
func usesHostPort(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool { return port.HostPort > 0 })
	})
}

func taintMisfit(p *corev1.Pod, nodes []*corev1.Node) misfit {
	count := map[string]int{}
	for _, n := range nodes {
		count[untolerated(p, n).ToString()]++
	}
	who := fmt.Sprintf("the %d nodes with enough capacity have taints", len(nodes))
	if len(nodes) == 1 {
		who = "the only node with enough capacity has a taint"
	}
	return misfit{
		summary: fmt.Sprintf("No node accepts this pod: %s that it does not tolerate: %s.", who, tally(count)),
		hint:    advice.Of("Add tolerations for them if this pod is intended to run there."),
	}
}

// resourceMisfit explains a pod that is too large for all of the given nodes,
// which match its node selector and tolerations.
func resourceMisfit(nodes, all []*corev1.Node, want corev1.ResourceList) misfit {
	for _, name := range resourceNames(want) {
		having, largest := offers(nodes, name)
		everywhere, _ := offers(all, name)
		where := ""
		if everywhere > having {
			where = " that it may run on"
		}
		var offer string
		q, hint := want[name], advice.Of("Request at most that amount in %s, or add larger nodes.", requestOf(name))
		switch {
		case q.Cmp(largest) <= 0:
			continue
		case having == 0:
			offer = fmt.Sprintf("no node%s has any", where)
			hint = advice.Of("Add such nodes, or correct %s.", requestOf(name))
		case having == 1:
			offer = fmt.Sprintf("the only %s%s has %s", nodeNoun(name), where, amount(name, largest))
		default:
			offer = fmt.Sprintf("the largest of %s%s has %s", advice.Number(having, nodeNoun(name)), where,
				amount(name, largest))
		}
		return misfit{hint: hint,
			summary: fmt.Sprintf("No node can run this pod: it requests %s, and %s.", amountOf(name, want), offer)}
	}
	return misfit{
		summary: fmt.Sprintf("No node can run this pod: each of its requests fits on one of the %s that it may run "+
			"on, but no node has all of %s.", advice.Number(len(nodes), "node"), amounts(want)),
		hint: advice.Of("Match the proportions of the requests to those of the nodes, or add larger nodes."),
	}
}

// offers returns the number of nodes that have a resource, and the maximum of
// one node. There is at least one node.
func offers(nodes []*corev1.Node, name corev1.ResourceName) (having int, largest resource.Quantity) {
	for _, n := range nodes {
		if q := ceiling(n, name); q.Sign() > 0 {
			having++
		}
	}
	return having, ceiling(slices.MaxFunc(nodes, func(a, b *corev1.Node) int {
		q := ceiling(a, name)
		return q.Cmp(ceiling(b, name))
	}), name)
}

func nodeNoun(name corev1.ResourceName) string {
	if name == kind.GPUResource {
		return "GPU node"
	}
	return "node"
}

// requestOf returns the field that requests a resource.
func requestOf(name corev1.ResourceName) advice.Field {
	return cmp.Or(map[corev1.ResourceName]advice.Field{
		corev1.ResourceCPU: advice.CPU, corev1.ResourceMemory: advice.Memory,
		corev1.ResourceEphemeralStorage: advice.Disk, kind.GPUResource: advice.GPUs,
	}[name], advice.Devices)
}

func amountOf(name corev1.ResourceName, list corev1.ResourceList) string {
	return amount(name, list[name]) + " " + string(name)
}

// amount formats a quantity. Bytes have at most one decimal and the largest
// fitting binary unit, because nodes report them in Ki.
func amount(name corev1.ResourceName, q resource.Quantity) string {
	bytes := name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !bytes {
		return q.String()
	}
	value := q.AsApproximateFloat64()
	for _, unit := range []struct {
		size float64
		name string
	}{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if value >= unit.size {
			return fmt.Sprintf("%.4g%s", math.Floor(value/unit.size*10)/10, unit.name)
		}
	}
	return q.String()
}
