package ready

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ClusterQueueStatus is what Kueue reports about a ClusterQueue.
type ClusterQueueStatus struct {
	// Verdict is ready if the queue admits workloads.
	Verdict Verdict

	Pending   int64 // workloads that wait
	Reserving int64 // workloads with reserved quota, admitted ones included
	Admitted  int64 // workloads that are admitted and have not finished

	// Reserved is the quota in use, by flavor and resource.
	Reserved map[string]map[string]resource.Quantity
}

// AssessClusterQueue returns the status of a ClusterQueue.
func AssessClusterQueue(live *unstructured.Unstructured) ClusterQueueStatus {
	q := cmp.Or(decoded[clusterQueue](live), &clusterQueue{})
	out := ClusterQueueStatus{
		Verdict: q.verdict(), Pending: q.Status.PendingWorkloads, Reserving: q.Status.ReservingWorkloads,
		Admitted: q.Status.AdmittedWorkloads, Reserved: map[string]map[string]resource.Quantity{},
	}
	for _, flavor := range q.Status.FlavorsReservation {
		used := map[string]resource.Quantity{}
		for _, r := range flavor.Resources {
			used[string(r.Name)] = r.Total
		}
		out.Reserved[flavor.Name] = used
	}
	return out
}

// verdict reports whether Kueue admits workloads to the queue.
func (cq *clusterQueue) verdict() Verdict {
	active := cq.Status.Conditions.of("Active")
	cause := &Cause{Reason: ReasonQueueInactive,
		Command: describe(kind.ClusterQueue("").GroupVersionKind, "", cq.Metadata.Name)}
	switch {
	case active.Type == "" || active.ObservedGeneration < cq.Metadata.Generation:
		cause.Summary = "Kueue has not processed the ClusterQueue yet."
		cause.Hint = advice.Of("Check that the controller of Kueue is running.")
		return Verdict{Message: "Kueue has not processed the ClusterQueue yet", Cause: cause}
	case active.isTrue():
		return Verdict{Ready: true, Message: "the ClusterQueue is active"}
	}
	cause.Summary = "The ClusterQueue admits no workloads" + active.suffix() + "."
	cause.Hint = advice.Of("Correct the cause that Kueue reports.")
	switch {
	case active.Reason == "Stopped":
		cause.Hint = advice.Of("Set %s to None.", advice.StopPolicy)
	case strings.HasSuffix(active.Reason, "NotFound"):
		cause.Hint = advice.Of("Create the missing object, or correct its name.")
	}
	return Verdict{Message: "the ClusterQueue admits no workloads" + active.suffix(), Cause: cause}
}
