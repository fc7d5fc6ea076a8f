package kind

import appsv1 "k8s.io/api/apps/v1"

// ReplicaSet is apps/v1 ReplicaSet.
func ReplicaSet() Kind { return must("apps", "ReplicaSet") }

// replicaSet has a shared watch of the ReplicaSets of Kubetorch services. Those of
// Deployments have the labels of their pods.
func replicaSet() Kind {
	k := workload(appsv1.SchemeGroupVersion, "ReplicaSet", &Workload{
		Groups:     replicated(),
		Scales:     true,
		Scale:      scaledReplicas(),
		Suspension: noReplicas(),
		Selects:    true,
		KeepsPods:  keepsPods,
		Restart:    restartBy(ByDeletion),
		Readiness:  OfReplicaSet,
	}, "spec.selector")
	k.LabelSelector = OfServices
	return k
}
