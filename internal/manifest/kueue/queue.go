// Package kueue renders the queue of a team into the objects of Kueue: the ResourceFlavors that it defines, a
// ClusterQueue with the quotas, and a LocalQueue in each namespace of the team.
//
// It is pure: it reads nothing from a cluster, a file or the environment. The fields are those of v1beta2 in
// sigs.k8s.io/kueue, which Kueue serves since release 0.15 (its CHANGELOG-0.15.md).
package kueue

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Queue is the input for the objects of one kt_queue. A zero field is an attribute that is not set.
type Queue struct {
	Name       string   // of the ClusterQueue and of the LocalQueues
	Namespace  string   // of the first LocalQueue
	Namespaces []string // of the other LocalQueues

	Cohort           string
	Flavors          []Flavor // in the order in which Kueue tries them
	Preemption       *Preemption
	FairShareWeight  *resource.Quantity
	AdmissionChecks  []string // names of AdmissionChecks, which must all pass
	QueueingStrategy string   // one of QueueingStrategies; empty: Kueue's default, BestEffortFIFO
	StopPolicy       string   // one of StopPolicies; empty: Kueue's default, None

	Labels, Annotations map[string]string
	// From the configuration of the provider. Labels and Annotations override them.
	DefaultLabels, DefaultAnnotations map[string]string
}

// Flavor is the quota for one kind of nodes, with the fields of spec of its ResourceFlavor.
type Flavor struct {
	Name   string           `json:"-"` // of the ResourceFlavor
	Quotas map[string]Quota `json:"-"` // by resource, such as nvidia.com/gpu

	NodeLabels   *map[string]string  `json:"nodeLabels,omitempty"` // of the nodes; empty: all nodes
	NodeTaints   []corev1.Taint      `json:"nodeTaints,omitempty"` // of the nodes, which workloads must tolerate
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
	TopologyName string              `json:"topologyName,omitempty"` // of a Topology, for topology-aware scheduling
}

// Defined reports whether the ResourceFlavor is created, because its nodes are described. Otherwise it exists.
func (f Flavor) Defined() bool {
	return f.NodeLabels != nil || f.NodeTaints != nil || f.Tolerations != nil || f.TopologyName != ""
}

// Quota is the quota of one resource in one flavor. The limits require a cohort; nil: no limit.
type Quota struct {
	Nominal        resource.Quantity  `json:"nominalQuota"`
	BorrowingLimit *resource.Quantity `json:"borrowingLimit,omitempty"`
	LendingLimit   *resource.Quantity `json:"lendingLimit,omitempty"`
}

// Preemption are the policies for the eviction of admitted workloads. Empty: Kueue's default, Never.
type Preemption struct {
	WithinClusterQueue  string
	ReclaimWithinCohort string
	BorrowWithinCohort  string
	// MaxPriorityThreshold limits BorrowWithinCohort to workloads with at most this priority; nil: no limit.
	MaxPriorityThreshold *int32
}

// QueueingStrategies returns the values of Queue.QueueingStrategy.
func QueueingStrategies() []string { return []string{"BestEffortFIFO", "StrictFIFO"} }

// StopPolicies returns the values of Queue.StopPolicy.
func StopPolicies() []string { return []string{"None", "Hold", HoldAndDrain} }

// HoldAndDrain is the stop policy that evicts the admitted workloads.
const HoldAndDrain = "HoldAndDrain"

// Never is the preemption policy that evicts nothing.
const Never = "Never"

// WithinClusterQueuePolicies returns the values of Preemption.WithinClusterQueue.
func WithinClusterQueuePolicies() []string {
	return []string{Never, "LowerPriority", "LowerOrNewerEqualPriority"}
}

// ReclaimWithinCohortPolicies returns the values of Preemption.ReclaimWithinCohort.
func ReclaimWithinCohortPolicies() []string { return []string{Never, "LowerPriority", "Any"} }

// BorrowWithinCohortPolicies returns the values of Preemption.BorrowWithinCohort.
func BorrowWithinCohortPolicies() []string { return []string{Never, "LowerPriority"} }

// allNamespaces returns the namespaces of all LocalQueues, sorted.
func (q Queue) allNamespaces() []string {
	all := append([]string{q.Namespace}, q.Namespaces...)
	slices.Sort(all)
	return slices.Compact(all)
}

// groups returns the flavors by resource group. Kueue requires that all flavors of a group have quotas for the same
// resources, and that each resource is in one group only: flavors with quotas for the same resources are a group.
func (q Queue) groups() [][]Flavor {
	var groups [][]Flavor
	for _, flavor := range q.Flavors {
		i := slices.IndexFunc(groups, func(group []Flavor) bool {
			return slices.Equal(group[0].resources(), flavor.resources())
		})
		if i < 0 {
			groups = append(groups, []Flavor{flavor})
		} else {
			groups[i] = append(groups[i], flavor)
		}
	}
	return groups
}
