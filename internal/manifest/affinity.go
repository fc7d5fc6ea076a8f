package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ParseAffinity parses the affinity of a pod, as JSON with the fields of the Kubernetes API. An error is a sentence
// without its subject.
func ParseAffinity(text string) (*corev1.Affinity, error) {
	var affinity corev1.Affinity
	strict, err := kjson.UnmarshalStrict([]byte(text), &affinity)
	if err = errors.Join(append(strict, err)...); err != nil {
		return nil, fmt.Errorf("is not an Affinity of Kubernetes (kubectl explain pod.spec.affinity): %w", err)
	}
	return &affinity, nil
}

// podAffinity returns the affinity of the user, which also keeps the pods off GPU nodes if c requires that, or nil. The
// terms of a node selector are alternatives, so each of them excludes the GPU nodes.
func podAffinity(c Compute) *corev1.Affinity {
	affinity := cmp.Or(c.Affinity.DeepCopy(), &corev1.Affinity{})
	if c.GPUAntiAffinity && !c.WantsGPU() {
		affinity.NodeAffinity = cmp.Or(affinity.NodeAffinity, &corev1.NodeAffinity{})
		required := &affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if *required == nil || len((*required).NodeSelectorTerms) == 0 {
			*required = &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 1)}
		}
		for i := range (*required).NodeSelectorTerms {
			term := &(*required).NodeSelectorTerms[i]
			term.MatchExpressions = append(term.MatchExpressions, offGPUNodes()...)
		}
	}
	if *affinity == (corev1.Affinity{}) {
		return nil
	}
	return affinity
}

// offGPUNodes excludes the nodes that have GPUs according to the labels of the device
// plugin, EKS or GKE.
func offGPUNodes() []corev1.NodeSelectorRequirement {
	labels := []string{kind.GPUResource, kind.EKSGPUCountLabel, kind.GKEAcceleratorLabel}
	return kind.Each(labels, func(label string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: label, Operator: corev1.NodeSelectorOpDoesNotExist}
	})
}

// observeAffinity is the inverse of podAffinity.
func observeAffinity(c *Compute, live *corev1.Affinity) {
	if live == nil {
		return
	}
	affinity := live.DeepCopy()
	if node := affinity.NodeAffinity; node != nil && node.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		required := node.RequiredDuringSchedulingIgnoredDuringExecution
		c.GPUAntiAffinity = slices.ContainsFunc(required.NodeSelectorTerms, keepsOffGPUs)
		required.NodeSelectorTerms = withoutGPUTerms(required.NodeSelectorTerms)
		if c.GPUAntiAffinity && len(required.NodeSelectorTerms) == 0 {
			node.RequiredDuringSchedulingIgnoredDuringExecution = nil
			if len(node.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
				affinity.NodeAffinity = nil
			}
		}
	}
	if *affinity != (corev1.Affinity{}) {
		c.Affinity = affinity
	}
}

func keepsOffGPUs(term corev1.NodeSelectorTerm) bool {
	return slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
		return r.Key == kind.GPUResource && keepsOff(r)
	})
}

// keepsOff reports whether a requirement is one of offGPUNodes.
func keepsOff(r corev1.NodeSelectorRequirement) bool {
	return slices.ContainsFunc(offGPUNodes(), func(ours corev1.NodeSelectorRequirement) bool {
		return r.Key == ours.Key && r.Operator == ours.Operator
	})
}

// withoutGPUTerms omits the requirements of offGPUNodes, and terms with no other.
func withoutGPUTerms(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
	var rest []corev1.NodeSelectorTerm
	for _, term := range terms {
		if keepsOffGPUs(term) {
			term.MatchExpressions = slices.DeleteFunc(term.MatchExpressions, keepsOff)
		}
		if len(term.MatchExpressions)+len(term.MatchFields) > 0 {
			rest = append(rest, term)
		}
	}
	return rest
}
