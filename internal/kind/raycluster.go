package kind

import (
	"cmp"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// DistributionRay is the type of distribute that needs a RayCluster.
	DistributionRay = "ray"
	// RayVersionArg is the version of Ray in args of distribute, and in the spec.
	RayVersionArg = "rayVersion"
	// DefaultRayVersion is the default of Kubetorch.
	DefaultRayVersion = "2.8.0"

	rayPort          = 6379 // of the head, for the workers
	rayDashboardPort = 8265
	rayWorkerGroup   = "worker-group"
	rayNodeLabel     = RayGroup + "/node-type"
	// rayScriptRemark is why the startup script does not start Ray. KubeRay appends `ray start` to every command that
	// does not contain it.
	rayScriptRemark = "Kubetorch's server runs ray start itself."
	// rayClusterLabel is RayClusterLabelKey in ray-operator/controllers/ray/utils/constant.go of KubeRay.
	rayClusterLabel = RayGroup + "/cluster"
	rayGroupLabel   = RayGroup + "/group" // RayNodeGroupLabelKey in the same file
)

// rayCluster is ray.io/v1 RayCluster of KubeRay: a head, which receives the calls,
// and one group of workers. KubeRay adds the label of the role to each pod.
func rayCluster() Kind {
	return workload(schema.GroupVersion{Group: RayGroup, Version: "v1"}, "RayCluster", &Workload{
		Picks:        func(c Compute) bool { return c.Distribution == DistributionRay },
		Spec:         rayClusterSpec,
		Complete:     completeRay("spec"),
		Distribution: DistributionRay,
		ScriptRemark: rayScriptRemark,
		Groups:       rayGroups("spec"),
		Scales:       true,
		PodLabel:     rayClusterLabel,
		Unscaled:     true,
		Suspension:   suspendField("spec", "suspend"),
		Admitted:     true,
		Unserved:     [][]string{{"spec", "headServicePorts"}},
		KeepsPods:    rayKeepsPods,
		Restart:      restartBy(ByDeletion),
		RefusesSome:  map[Operation]func(map[string]any) *Refusal{Scaling: rayAutoscaled},
		LongestName:  53, // MaxRayClusterNameLength in ray-operator/controllers/ray/utils/constant.go
		Headless:     rayHeadless,
		Route:        routeToRayHead,
		RouteLabels:  []string{rayNodeLabel},
		Readiness:    OfRayCluster,
	})
}

// rayKeepsPods reports whether KubeRay keeps running pods, also those of groups that are no longer in the spec
// (reconcilePods in ray-operator/controllers/ray/raycluster_controller.go). It does unless the
// upgrade strategy recreates all of them
// (ray-operator/apis/ray/v1/raycluster_types.go, RayClusterUpgradeType).
func rayKeepsPods(workload map[string]any) bool {
	return TextAt(workload, "spec", "upgradeStrategy", "type") != "Recreate"
}

func routeToRayHead(map[string]any) map[string]string { return map[string]string{rayNodeLabel: "head"} }

// rayHeadless returns the headless Service that KubeRay creates for workers on several hosts, and never deletes
// (reconcileHeadlessService in ray-operator/controllers/ray/raycluster_controller.go, and
// BuildHeadlessServiceForRayCluster in common/service.go).
func rayHeadless(workload map[string]any) string {
	for _, worker := range ListAt(workload, "spec", "workerGroupSpecs") {
		if hosts, _ := NumberAt(worker, []string{"numOfHosts"}); hosts > 1 {
			return HeadlessName(TextAt(workload, "metadata", "name"))
		}
	}
	return ""
}

// rayAutoscaled refuses to scale a RayCluster with an autoscaler.
func rayAutoscaled(workload map[string]any) *Refusal {
	if on, _ := Find(workload, []string{"spec", "enableInTreeAutoscaling"}); on != true {
		return nil
	}
	return new(refusal("An autoscaler sets the number of its pods (`spec.enableInTreeAutoscaling`).",
		"Change its limits, or set this field of the object to false."))
}

// rayGroups returns the groups of the cluster whose spec is at a path: the head, then the workers.
func rayGroups(spec ...string) func(map[string]any) []Group {
	return func(workload map[string]any) []Group {
		groups := []Group{{Template: Under(spec, "headGroupSpec", "template")}}
		for i, worker := range ListAt(workload, Under(spec, "workerGroupSpecs")...) {
			at, name := Under(spec, "workerGroupSpecs", strconv.Itoa(i)), TextAt(worker, "groupName")
			groups = append(groups, Group{
				Name: name, Label: rayGroupLabel + "=" + name, Template: Under(at, "template"),
				Number: Under(at, "replicas"), Least: Under(at, "minReplicas"), Most: Under(at, "maxReplicas"),
				Sets: Under(at, "numOfHosts"), Worker: true, Scaled: i == 0,
			})
		}
		return groups
	}
}

func rayClusterSpec(c Compute) map[string]any {
	return map[string]any{
		RayVersionArg:             cmp.Or(RayVersion(c.DistributionArgs), DefaultRayVersion),
		"enableInTreeAutoscaling": false,
		"headServicePorts": []any{
			map[string]any{"name": "gcs", "port": int64(rayPort), "targetPort": int64(rayPort)},
		},
		"headGroupSpec": map[string]any{
			"rayStartParams": map[string]any{
				"dashboard-host":      "0.0.0.0",
				"dashboard-port":      strconv.Itoa(rayDashboardPort),
				"metrics-export-port": "8080",
				"node-manager-port":   "8077",
				"object-manager-port": "8076",
				"port":                strconv.Itoa(rayPort),
			},
		},
		"workerGroupSpecs": []any{workerGroup(max(c.Replicas-1, 0))},
	}
}

func workerGroup(workers int64) map[string]any {
	return map[string]any{
		"groupName": rayWorkerGroup, "rayStartParams": map[string]any{}, "template": map[string]any{},
		"replicas": workers, "minReplicas": int64(0), "maxReplicas": workers,
	}
}

// RayVersion is the version of Ray in args of distribute; "" if it is not set.
func RayVersion(args map[string]any) string {
	version, _ := args[RayVersionArg].(string)
	return version
}

// completeRay adds the requested workers to a manifest with the spec of a cluster at a path. Workers without a template
// use the template of the head.
func completeRay(spec ...string) func(Compute, map[string]any) {
	return func(c Compute, workload map[string]any) {
		head, _ := Find(workload, Under(spec, "headGroupSpec", "template"))
		if c.ReplicasGiven && c.Replicas > 1 && len(rayGroups(spec...)(workload)) == 1 {
			SetAt(workload, Under(spec, "workerGroupSpecs"), []any{workerGroup(c.Replicas - 1)})
		}
		for _, worker := range ListAt(workload, Under(spec, "workerGroupSpecs")...) {
			if template, _ := worker["template"].(map[string]any); worker != nil && len(template) == 0 && head != nil {
				worker["template"] = Copy(head)
			}
		}
	}
}
