package ready

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// nodePool contains the labels of the nodes of a NodePool (pkg/apis/v1 in sigs.k8s.io/karpenter).
type nodePool struct {
	Spec struct {
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
			Spec struct {
				Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// missingInPools returns a label in the node selector of a pod that the nodes of no NodePool can have, as KEY=VALUE, or
// "". No pools are unknown, or may still be created.
func missingInPools(p *corev1.Pod, pools []*unstructured.Unstructured) string {
	for _, key := range slices.Sorted(maps.Keys(p.Spec.NodeSelector)) {
		value := p.Spec.NodeSelector[key]
		provides := func(pool *unstructured.Unstructured) bool {
			of := decoded[nodePool](pool)
			return of == nil || of.provides(key, value)
		}
		if len(pools) > 0 && !slices.ContainsFunc(pools, provides) {
			return key + "=" + value
		}
	}
	return ""
}

// provides reports whether a node of the pool can have a label. Karpenter creates no node for a label that the pool
// does not define, unless it is one of its well-known labels (Requirements.Compatible in pkg/scheduling).
func (n *nodePool) provides(key, value string) bool {
	if set, defined := n.Spec.Template.Metadata.Labels[key]; defined {
		return set == value
	}
	defined, node := false, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: value}}}
	for _, r := range n.Spec.Template.Spec.Requirements {
		if r.Key != key {
			continue
		}
		defined = true
		number := r.Operator == corev1.NodeSelectorOpGt || r.Operator == corev1.NodeSelectorOpLt // any value may fit
		if !number && !meets(node, r) {
			return false
		}
	}
	return defined || wellKnown(key)
}

// wellKnown reports whether a label can be one of those that Karpenter or a cloud determines for each instance type.
func wellKnown(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return strings.HasPrefix(domain, "karpenter.") ||
		slices.ContainsFunc([]string{"kubernetes.io", "k8s.io"}, func(known string) bool {
			return domain == known || strings.HasSuffix(domain, "."+known)
		})
}
