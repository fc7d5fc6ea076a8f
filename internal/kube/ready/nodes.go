package ready

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

const gpuResource corev1.ResourceName = kind.GPUResource

// misfit says why no node can hold a pod, whatever else runs there.
type misfit struct {
	summary, hint string
	mayHeal       bool // a node is still setting up its devices
}

// neverFits judges a pod by what nodes have in all, not by what is free: node
// selector and affinity, taints that stay, and allocatable resources. replicas
// is how many such pods must run side by side; 0 is unknown. Spread, pod
// affinity, host ports and volumes are left to the scheduler's own message.
func neverFits(p *corev1.Pod, nodes []*corev1.Node, replicas int) (misfit, bool) {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return n == nil })
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	want := requests(p)
	labelled := filter(nodes, func(n *corev1.Node) bool { return matchesLabels(p, n) })
	if len(labelled) == 0 {
		return labelMisfit(p, nodes), true
	}
	roomy := filter(labelled, func(n *corev1.Node) bool { return holds(n, want) > 0 })
	open := filter(roomy, func(n *corev1.Node) bool { return barrier(p, n) == nil })
	coming := registering(labelled, want)
	switch {
	case len(open) > 0 && coming != nil:
		return misfit{}, false
	case len(open) > 0:
		return tooManyReplicas(open, want, replicas)
	case coming != nil:
		return misfit{
			summary: fmt.Sprintf("Node %s is labelled as a GPU node, but offers no %s yet: its device plugin has not registered. New nodes take some minutes to install the driver.", coming.Name, gpuResource),
			hint:    "Check the GPU operator or the device plugin if this lasts.",
			mayHeal: true,
		}, true
	case len(roomy) > 0:
		return taintMisfit(p, roomy), true
	}
	if free := filter(labelled, func(n *corev1.Node) bool { return barrier(p, n) == nil }); len(free) > 0 {
		return resourceMisfit(free, nodes, want), true
	}
	return resourceMisfit(labelled, nodes, want), true
}

func filter(nodes []*corev1.Node, keep func(*corev1.Node) bool) []*corev1.Node {
	var out []*corev1.Node
	for _, n := range nodes {
		if keep(n) {
			out = append(out, n)
		}
	}
	return out
}

// requests are the pod's resources that are more than zero.
func requests(p *corev1.Pod) corev1.ResourceList {
	list := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	for name, q := range list {
		if q.Sign() <= 0 {
			delete(list, name)
		}
	}
	return list
}

// amounts writes requests for reading: "8 nvidia.com/gpu, 16 cpu".
func amounts(want corev1.ResourceList) string {
	var parts []string
	for _, name := range resourceNames(want) {
		parts = append(parts, amountOf(name, want))
	}
	if len(parts) == 0 {
		return "no resources"
	}
	return listed(parts, 5)
}

// resourceNames orders devices before CPU, memory and disk: they decide most.
func resourceNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	native := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	slices.SortFunc(names, func(a, b corev1.ResourceName) int {
		return cmp.Or(cmp.Compare(slices.Index(native, a), slices.Index(native, b)), strings.Compare(string(a), string(b)))
	})
	return names
}

// ceiling is the most of a resource that a node can ever give. A device that is
// unhealthy now still counts in the capacity.
func ceiling(n *corev1.Node, name corev1.ResourceName) resource.Quantity {
	q := n.Status.Allocatable[name]
	if c := n.Status.Capacity[name]; strings.Contains(string(name), "/") && c.Cmp(q) > 0 {
		return c
	}
	return q
}

// plenty is more pods than any node runs; it keeps sums in range.
const plenty = 1 << 20

// holds is how many pods with these requests an empty node can run.
func holds(n *corev1.Node, want corev1.ResourceList) int {
	most := plenty
	for name, q := range want {
		have := ceiling(n, name)
		if q.Cmp(have) > 0 {
			return 0
		}
		most = min(most, int(min(have.AsApproximateFloat64()/q.AsApproximateFloat64()*(1+1e-9), plenty)))
	}
	return most
}

func matchesLabels(p *corev1.Pod, n *corev1.Node) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return ok || err != nil // what cannot be understood is not held against the node
}

// barrier is a taint that keeps the pod off the node for good; nil if there is none.
func barrier(p *corev1.Pod, n *corev1.Node) *corev1.Taint {
	// Toleration operators that only newer clusters know are understood too: a
	// pod is never given up where it might run.
	taint, found := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), n.Spec.Taints, p.Spec.Tolerations, staysForGood, true)
	if !found {
		return nil
	}
	return &taint
}

// staysForGood leaves out taints that say how a node is at the moment: cordoned,
// not ready, under pressure, waiting for an agent.
func staysForGood(t *corev1.Taint) bool {
	if t.Effect == corev1.TaintEffectPreferNoSchedule {
		return false
	}
	domain, name, _ := strings.Cut(t.Key, "/")
	return domain != "node.kubernetes.io" && domain != "node.cloudprovider.kubernetes.io" &&
		!strings.Contains(name, "not-ready") && !strings.Contains(name, "startup") && !strings.Contains(name, "unregistered")
}

// gpuLabels are set on GPU nodes before their devices can be used: by node
// feature discovery, the GPU operator, GKE and EKS.
func gpuLabels() []string {
	return []string{
		kind.GPUPresentLabel, "feature.node.kubernetes.io/pci-10de.present",
		"cloud.google.com/gke-accelerator", "eks.amazonaws.com/instance-gpu-count",
	}
}

// registering finds a node that has GPUs by its labels, and offers none yet.
func registering(nodes []*corev1.Node, want corev1.ResourceList) *corev1.Node {
	if _, ok := want[gpuResource]; !ok {
		return nil
	}
	for _, n := range nodes {
		if have := ceiling(n, gpuResource); have.IsZero() && gpuByLabel(n) {
			return n
		}
	}
	return nil
}

func gpuByLabel(n *corev1.Node) bool {
	return slices.ContainsFunc(gpuLabels(), func(label string) bool {
		v := n.Labels[label]
		return v != "" && v != "false" && v != "0"
	})
}

func tooManyReplicas(open []*corev1.Node, want corev1.ResourceList, replicas int) (misfit, bool) {
	if len(want) == 0 {
		return misfit{}, false
	}
	room := 0
	for _, n := range open {
		room += holds(n, want)
	}
	if room >= replicas {
		return misfit{}, false
	}
	return misfit{
		summary: fmt.Sprintf("%s cannot run side by side: each asks for %s, and the %s that can hold such a pod can hold %d in all.",
			number(replicas, "pod"), amounts(want), number(len(open), "node"), room),
		hint: "Ask for fewer `replicas`, or for less in each, or add nodes.",
	}, true
}

func taintMisfit(p *corev1.Pod, nodes []*corev1.Node) misfit {
	count := map[string]int{}
	for _, n := range nodes {
		count[barrier(p, n).ToString()]++
	}
	who := fmt.Sprintf("the %d nodes that could hold it have taints", len(nodes))
	if len(nodes) == 1 {
		who = "the only node that could hold it has a taint"
	}
	return misfit{
		summary: fmt.Sprintf("No node takes this pod: %s that it does not tolerate: %s.", who, tally(count)),
		hint:    "Add `tolerations` for them, if this pod is meant to run there.",
	}
}

// resourceMisfit explains a pod that is too large for each of the nodes, which
// are what its labels and taints leave of all.
func resourceMisfit(nodes, all []*corev1.Node, want corev1.ResourceList) misfit {
	for _, name := range resourceNames(want) {
		having, largest := offers(nodes, name)
		everywhere, _ := offers(all, name)
		where := ""
		if everywhere > having {
			where = " that it may run on"
		}
		q := want[name]
		switch {
		case q.Cmp(largest) <= 0:
			continue
		case everywhere == 0:
			return misfit{
				summary: fmt.Sprintf("No node can hold this pod: it asks for %s, and no node has any.", amountOf(name, want)),
				hint:    "Add such nodes, or correct " + attribute(name) + ".",
			}
		case having == 0:
			return misfit{
				summary: fmt.Sprintf("No node can hold this pod: it asks for %s, and none of the %s%s has any.", amountOf(name, want), number(len(nodes), "node"), where),
				hint:    "Add such nodes, or correct " + attribute(name) + ".",
			}
		case having == 1:
			return misfit{
				summary: fmt.Sprintf("No node can hold this pod: it asks for %s, and the only %s%s has %s.", amountOf(name, want), nodeNoun(name), where, amount(name, largest)),
				hint:    "Ask for no more than that in " + attribute(name) + ", or add larger nodes.",
			}
		}
		return misfit{
			summary: fmt.Sprintf("No node can hold this pod: it asks for %s, and the largest of %s%s has %s.", amountOf(name, want), number(having, nodeNoun(name)), where, amount(name, largest)),
			hint:    "Ask for no more than that in " + attribute(name) + ", or add larger nodes.",
		}
	}
	return misfit{
		summary: fmt.Sprintf("No node can hold this pod: each of its requests fits on one of the %s that it may run on, but no node has all of %s.", number(len(nodes), "node"), amounts(want)),
		hint:    "Bring the requests into the proportion that nodes have, or add larger nodes.",
	}
}

// offers is how many nodes have some of a resource, and the most that one has.
func offers(nodes []*corev1.Node, name corev1.ResourceName) (having int, largest resource.Quantity) {
	for _, n := range nodes {
		q := ceiling(n, name)
		if q.Cmp(largest) > 0 {
			largest = q
		}
		if q.Sign() > 0 {
			having++
		}
	}
	return having, largest
}

func nodeNoun(name corev1.ResourceName) string {
	if name == gpuResource {
		return "GPU node"
	}
	return "node"
}

// attribute is where a compute sets a resource.
func attribute(name corev1.ResourceName) string {
	switch name {
	case corev1.ResourceCPU:
		return "`cpus`"
	case corev1.ResourceMemory:
		return "`memory`"
	case corev1.ResourceEphemeralStorage:
		return "`disk_size`"
	case gpuResource:
		return "`gpus`"
	}
	return "`service_template`"
}

func amountOf(name corev1.ResourceName, list corev1.ResourceList) string {
	return amount(name, list[name]) + " " + string(name)
}

// amount writes a quantity for reading: bytes with at most one decimal, in the
// largest fitting binary unit, since nodes report theirs in Ki.
func amount(name corev1.ResourceName, q resource.Quantity) string {
	bytes := name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
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
