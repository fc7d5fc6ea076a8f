package ready

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// labelMisfit explains a pod whose node selector or affinity matches no node,
// by the first requirement that no node meets and the values that nodes have.
func labelMisfit(p *corev1.Pod, nodes []*corev1.Node) misfit {
	if len(nodes) == 0 {
		return misfit{summary: "The cluster has no nodes.",
			hint: advice.Of("Add nodes that meet the requests of the pod.")}
	}
	requirements := labelRequirements(p)
	for _, d := range requirements {
		if !slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return meets(n, d) }) {
			return unmetRequirement(d, nodes)
		}
	}
	if len(requirements) == 0 {
		return misfit{summary: "No node matches the pod's required node affinity.",
			hint: advice.Of("Correct %s.", advice.Affinity)}
	}
	return misfit{
		summary: fmt.Sprintf("No node has all labels that the pod requires: %s.",
			Listed(kind.Each(requirements, requirementText), 5)),
		hint: advice.Of("Remove or correct one of them in %s.", advice.NodeLabels),
	}
}

// labelRequirements returns the requirements on a node: the node selector, the
// required affinity if it has one term (several are alternatives), and the labels
// of spread constraints.
func labelRequirements(p *corev1.Pod) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(p.Spec.NodeSelector)) {
		out = append(out, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn,
			Values: []string{p.Spec.NodeSelector[key]}})
	}
	if terms := kind.RequiredNodeTerms(p.Spec.Affinity); len(terms) == 1 {
		out = append(out, terms[0].MatchExpressions...)
	}
	return append(out, spreadLabels(p)...)
}

// spreadLabels returns the labels without which the scheduler uses no node, because the pod must be spread over their
// values.
func spreadLabels(p *corev1.Pod) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, c := range p.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == corev1.DoNotSchedule {
			out = append(out,
				corev1.NodeSelectorRequirement{Key: c.TopologyKey, Operator: corev1.NodeSelectorOpExists})
		}
	}
	return out
}

func meets(n *corev1.Node, d corev1.NodeSelectorRequirement) bool {
	ok, err := scheduling.MatchNodeSelectorTerms(n, &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{d}}},
	})
	return ok || err != nil
}

func unmetRequirement(d corev1.NodeSelectorRequirement, nodes []*corev1.Node) misfit {
	values := map[string]int{}
	for _, n := range nodes {
		if v, ok := n.Labels[d.Key]; ok {
			values[v]++
		}
	}
	m := misfit{hint: advice.Of("Correct %s, or add such a node.", advice.NodeLabels)}
	gpu := strings.Contains(d.Key, "gpu") || strings.Contains(d.Key, "accelerator")
	if gpu {
		m.hint = advice.Of("Set %s to a GPU type of the cluster, or add such a node.", advice.GPUProduct)
	}
	if d.Operator == corev1.NodeSelectorOpExists {
		m.hint = advice.Of("Correct %s or %s, or add a node with the label.", advice.Spread, advice.Affinity)
	}
	switch {
	case d.Operator == corev1.NodeSelectorOpDoesNotExist:
		m.hint = advice.Of("Correct %s, or add a node without the label.", advice.NodeLabels)
		if gpu {
			m.hint = advice.Of("%s if the pod may run on them, or add a node without the label.", advice.AllowGPUNodes)
		}
		m.summary = fmt.Sprintf("All %d nodes have the label %s, and this pod may only run on a node without it.",
			len(nodes), d.Key)
	case len(values) == 0:
		m.summary = fmt.Sprintf("No node has the label %s, with any value.", requirementText(d))
	default:
		m.summary = fmt.Sprintf("No node has the label %s. Existing values: %s.", requirementText(d), tally(values))
	}
	if unlabelledGPU(d.Key, nodes) {
		m.temporary = true
		m.summary += " A GPU node does not have the label yet. Its driver may still be installing."
	}
	return m
}

// unlabelledGPU reports whether a GPU node lacks a label that the GPU operator
// sets some minutes after a node joins.
func unlabelledGPU(key string, nodes []*corev1.Node) bool {
	return strings.HasPrefix(key, kind.NVIDIADomain) && slices.ContainsFunc(nodes, func(n *corev1.Node) bool {
		_, labelled := n.Labels[key]
		return !labelled && gpuByLabel(n)
	})
}

func requirementText(d corev1.NodeSelectorRequirement) string {
	switch {
	case d.Operator == corev1.NodeSelectorOpExists:
		return d.Key
	case d.Operator == corev1.NodeSelectorOpDoesNotExist:
		return "!" + d.Key
	case d.Operator == corev1.NodeSelectorOpIn && len(d.Values) == 1:
		return d.Key + "=" + d.Values[0]
	}
	return fmt.Sprintf("%s %s (%s)", d.Key, strings.ToLower(string(d.Operator)), Listed(d.Values, 5))
}

// tally formats the number of nodes by value, most frequent first: "a (2
// nodes), b (1 node)".
func tally(counts map[string]int) string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	withNodes := func(key string) string { return fmt.Sprintf("%s (%s)", key, advice.Number(counts[key], "node")) }
	return Listed(kind.Each(keys, withNodes), 8)
}
