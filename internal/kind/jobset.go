package kind

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// jobSet is jobset.x-k8s.io/v1alpha2 JobSet, whose controller creates a headless
// Service for its pods. By default, it has the name of the Service of the
// compute, so another name is set.
func jobSet() Kind {
	return workload(schema.GroupVersion{Group: JobSetGroup, Version: "v1alpha2"}, "JobSet", &Workload{
		Complete: func(c Compute, workload map[string]any) {
			SetDefault(workload, HeadlessName(c.Name), "spec", "network", "subdomain")
			for i := range ListAt(workload, "spec", "replicatedJobs") {
				restartJob(workload, []string{"spec", "replicatedJobs", strconv.Itoa(i), "template"})
			}
		},
		Groups:     jobSetGroups,
		Ends:       true,
		Unscaled:   true,
		Scales:     true,
		Headless:   jobSetHeadless,
		PodLabel:   "jobset.sigs.k8s.io/jobset-name", // JobSetNameKey in api/jobset/v1alpha2 of sigs.k8s.io/jobset
		Suspension: suspendField("spec", "suspend"),
		// pkg/webhooks/jobset_webhook.go
		Refuses: runsToCompletionWithFixedPods("The field spec.replicatedJobs, which contains the number of pods, is " +
			"immutable."),
		RefusesSome: map[Operation]func(map[string]any) *Refusal{Evacuating: jobSetFailsWithOnePod},
		Admitted:    true,
		Children:    children(map[string]string{"Job": `^-.+-\d+$`}),
		Readiness:   OfJobSet,
	},
		"spec.replicatedJobs", "spec.managedBy", "spec.network", "spec.successPolicy", "spec.failurePolicy",
		"spec.startupPolicy", "spec.coordinator", "spec.volumeClaimPolicies")
}

// jobSetFailsWithOnePod refuses to evict pods of a JobSet that restarts neither its Jobs nor their pods.
func jobSetFailsWithOnePod(workload map[string]any) *Refusal {
	if restarts, _ := NumberAt(workload, []string{"spec", "failurePolicy", "maxRestarts"}); restarts != 0 {
		return nil
	}
	for i, job := range ListAt(workload, "spec", "replicatedJobs") {
		if failsWithOnePod(workload, []string{"spec", "replicatedJobs", strconv.Itoa(i), "template"}) {
			return failsWith(fmt.Sprintf("The `backoffLimit` of its Job %s is 0, and its "+
				"`spec.failurePolicy.maxRestarts` is 0.", TextAt(job, "name")))
		}
	}
	return nil
}

func jobSetGroups(workload map[string]any) []Group {
	var groups []Group
	for i, job := range ListAt(workload, "spec", "replicatedJobs") {
		at := []string{"spec", "replicatedJobs", strconv.Itoa(i)}
		g := jobGroup(Under(at, "template"))
		g.Name, g.Sets, g.Scaled = TextAt(job, "name"), Under(at, "replicas"), i == 0
		groups = append(groups, g)
	}
	return groups
}

// jobSetHeadless returns the headless Service of the pods, which the controller
// creates by default, with addresses of pods that are not ready
// (pkg/controllers/jobset_controller.go, pkg/webhooks/jobset_webhook.go).
func jobSetHeadless(workload map[string]any) string {
	if hostnames, _ := Find(workload, []string{"spec", "network", "enableDNSHostnames"}); hostnames == false {
		return ""
	}
	return TextAt(workload, "spec", "network", "subdomain")
}
