package kind

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

// SuspendedNodeLabel is a label that no node has. A suspended DaemonSet selects nodes
// by it, because the number of its pods cannot be set.
const SuspendedNodeLabel = KubetorchGroup + "/suspended"

func daemonSet() Kind {
	return workload(appsv1.SchemeGroupVersion, "DaemonSet", &Workload{
		Groups: always(Group{Template: []string{"spec", "template"}}),
		Suspension: []Setting{
			{Path: []string{"spec", "template", "spec", "nodeSelector", SuspendedNodeLabel}, Value: "true"},
		},
		Unscaled: true,
		Restart:  restartByStrategy,
		Refuses: map[Operation]Refusal{
			Scaling: refusal("It runs one pod on each node that it selects.",
				"Change %s or the labels of nodes.", advice.NodeSelector),
			Evacuating: refusal("It runs one pod on each node that it selects, and would start another one on the "+
				"same node.", "Change %s, or taint the node with a taint that its pods do not tolerate and the effect "+
				"NoExecute.", advice.NodeSelector),
		},
		Selects:   true,
		Readiness: OfDaemonSet,
		Defaults:  map[string]any{"revisionHistoryLimit": int64(10), "updateStrategy": rolling(int64(0), int64(1))},
	}, "spec.selector")
}
