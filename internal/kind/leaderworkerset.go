package kind

import "k8s.io/apimachinery/pkg/runtime/schema"

// workerIndexLabel is 0 in the leader of each group
// (api/leaderworkerset/v1/leaderworkerset_types.go in sigs.k8s.io/lws).
const workerIndexLabel = "leaderworkerset.sigs.k8s.io/worker-index"

// leaderWorkerSet is leaderworkerset.x-k8s.io/v1 LeaderWorkerSet: groups of a
// leader, which receives the calls, and its workers. Setting the number of pods
// changes the size of the groups; spec.replicas is the number of groups.
//
// By default, its controller creates a headless Service with the name of the set,
// which is the name of the Service of the compute. With one Service for each group,
// named after the leader, the names do not conflict.
func leaderWorkerSet() Kind {
	gv := schema.GroupVersion{Group: LeaderWorkerSetGroup, Version: "v1"}
	return workload(gv, "LeaderWorkerSet", &Workload{
		Complete:   completeLeaderWorkerSet,
		Groups:     leaderWorkerGroups,
		Scales:     true,
		Scale:      scaledReplicas(),
		PodLabel:   "leaderworkerset.sigs.k8s.io/name", // SetNameLabelKey in api/leaderworkerset/v1 of sigs.k8s.io/lws
		Suspension: noReplicas(),
		Restart:    restartBy(ByTemplate),
		// They are copied to StatefulSets, in which they are immutable.
		CreationOnly: [][]string{lwsTemplate("volumeClaimTemplates")},
		Route:        func(map[string]any) map[string]string { return map[string]string{workerIndexLabel: "0"} },
		RouteLabels:  []string{workerIndexLabel},
		// The StatefulSet of the leaders has the name of the set. The StatefulSet of
		// the workers of a group has the name of their leader.
		Children:   children(map[string]string{"StatefulSet": `^(-\d+)?$`}),
		PodsDecide: true, // its status counts groups, by StatefulSets whose size may be about to change
		Readiness:  OfLeaderWorkerSet,
	}, "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize") // the name in the webhook
}

func lwsTemplate(field string) []string { return []string{"spec", "leaderWorkerTemplate", field} }

// leaderWorkerGroups returns the leaders, with a separate template or that of the
// workers, and the workers. The size of a group includes both.
func leaderWorkerGroups(workload map[string]any) []Group {
	leader, _ := Find(workload, lwsTemplate("leaderTemplate"))
	worker := Group{
		Template: lwsTemplate("workerTemplate"), Number: lwsTemplate("size"), Absent: 1, AtLeast: 1,
		Sets: scaledReplicas(), Scaled: true,
	}
	if leader == nil {
		return []Group{worker}
	}
	worker.Worker, worker.Others = true, 1
	return []Group{{Template: lwsTemplate("leaderTemplate"), Number: scaledReplicas(), Absent: 1}, worker}
}

// completeLeaderWorkerSet uses the template of the leader for workers without one.
func completeLeaderWorkerSet(_ Compute, workload map[string]any) {
	SetDefault(workload, "UniquePerReplica", "spec", "networkConfig", "subdomainPolicy")
	leader, _ := Find(workload, lwsTemplate("leaderTemplate"))
	if worker, _ := Find(workload, lwsTemplate("workerTemplate")); IsEmpty(worker) && leader != nil {
		SetAt(workload, lwsTemplate("workerTemplate"), Copy(leader))
	}
}
