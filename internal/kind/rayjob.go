package kind

import "k8s.io/apimachinery/pkg/runtime/schema"

// rayJob is ray.io/v1 RayJob of KubeRay: a RayCluster at spec.rayClusterSpec that runs spec.entrypoint, and is deleted
// afterwards. KubeRay disregards changes of a job that has its cluster (getOrCreateRayClusterInstance in
// ray-operator/controllers/ray/rayjob_controller.go), so they replace the object.
func rayJob() Kind {
	return workload(schema.GroupVersion{Group: RayGroup, Version: "v1"}, "RayJob", &Workload{
		Complete: func(c Compute, workload map[string]any) {
			exposeDashboard(workload)
			completeRay(rayJobCluster()...)(c, workload)
			// Without it, KubeRay rejects a suspended RayJob (ValidateRayJobSpec), and Kueue every one.
			SetDefault(workload, true, "spec", "shutdownAfterJobFinishes")
		},
		ScriptRemark: rayScriptRemark,
		Groups:       rayGroups(rayJobCluster()...),
		Scales:       true,
		Ends:         true,
		Unscaled:     true,
		LongestName:  47, // MaxRayJobNameLength in ray-operator/controllers/ray/utils/constant.go
		PodLabel:     rayClusterLabel,
		PodLabelFrom: []string{"status", "rayClusterName"},
		Suspension:   suspendField("spec", "suspend"),
		Admitted:     true,
		Refuses: runsToCompletionWithFixedPods("KubeRay disregards changes of spec.rayClusterSpec, which contains " +
			"the number of pods."),
		RefusesSome: map[Operation]func(map[string]any) *Refusal{Suspending: keepsRayCluster},
		CreationOnly: [][]string{
			rayJobCluster(), {"spec", "entrypoint"}, {"spec", "runtimeEnvYAML"}, {"spec", "submissionMode"},
			{"spec", "submitterPodTemplate"}, {"spec", "entrypointNumCpus"}, {"spec", "entrypointNumGpus"},
			{"spec", "entrypointResources"}, {"spec", "metadata"}, {"spec", "jobId"}, {"spec", "clusterSelector"},
		},
		Route:       routeToRayHead,
		RouteLabels: []string{rayNodeLabel},
		// GenerateRayClusterName in ray-operator/controllers/ray/utils/util.go; the Job submits the entrypoint.
		Children:  children(map[string]string{"RayCluster": `^-[a-z0-9]{5}$`, "Job": `^$`}),
		Readiness: OfRayJob,
	}, "spec.managedBy")
}

// exposeDashboard adds the port at which KubeRay submits the entrypoint to the container that Kubetorch's port is added
// to. For a container without ports, KubeRay adds it itself (getServicePorts in
// ray-operator/controllers/ray/common/service.go).
func exposeDashboard(workload map[string]any) {
	at := Under(rayJobCluster(), "headGroupSpec", "template", "spec", "containers")
	if there, _ := Find(workload, at); IsEmpty(there) {
		SetAt(workload, at, []any{map[string]any{"name": ContainerName}})
	}
	for _, container := range ListAt(workload, at...) {
		if container["name"] == ContainerName && container["ports"] == nil && container["command"] == nil &&
			container["args"] == nil {
			container["ports"] = []any{map[string]any{"name": "dashboard", "containerPort": int64(rayDashboardPort)}}
		}
	}
}

func rayJobCluster() []string { return []string{"spec", "rayClusterSpec"} }

// keepsRayCluster refuses to suspend a job that keeps its cluster, because KubeRay would report that it has failed.
func keepsRayCluster(workload map[string]any) *Refusal {
	if ends, _ := Find(workload, []string{"spec", "shutdownAfterJobFinishes"}); ends == true {
		return nil
	}
	return new(refusal("KubeRay rejects a suspended RayJob unless its `spec.shutdownAfterJobFinishes` is true.",
		"Set this field of the object to true first."))
}
