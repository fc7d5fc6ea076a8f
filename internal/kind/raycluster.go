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

	rayPort        = 6379 // of the head, for the workers
	rayWorkerGroup = "worker-group"
	rayNodeLabel   = RayGroup + "/node-type"
)

// rayCluster is ray.io/v1 RayCluster of KubeRay: a head, which receives the calls,
// and one group of workers. KubeRay adds the label of the role to each pod.
func rayCluster() Kind {
	return workload(schema.GroupVersion{Group: RayGroup, Version: "v1"}, "RayCluster", &Workload{
		Picks:        func(c Compute) bool { return c.Distribution == DistributionRay },
		Spec:         rayClusterSpec,
		Complete:     completeRayCluster,
		Distribution: DistributionRay,
		// KubeRay appends `ray start` to every command that does not contain it.
		ScriptRemark: "Kubetorch's server runs ray start itself.",
		Groups:       rayGroups,
		Scales:       true,
		PodLabel:     "ray.io/cluster", // RayClusterLabelKey in controllers/ray/utils/constant.go of KubeRay
		Unscaled:     true,
		Suspension:   suspendField("spec", "suspend"),
		Admitted:     true,
		Unserved:     [][]string{{"spec", "headServicePorts"}},
		KeepsPods:    rayKeepsPods,
		Restart:      restartBy(ByDeletion),
		FixedCount: func(workload map[string]any) *Refusal {
			if on, _ := Find(workload, []string{"spec", "enableInTreeAutoscaling"}); on != true {
				return nil
			}
			return &Refusal{
				Why:     "An autoscaler sets the number of its pods (`spec.enableInTreeAutoscaling`).",
				Instead: "Change its limits, or set this field of the object to false.",
			}
		},
		Route:       func(map[string]any) map[string]string { return map[string]string{rayNodeLabel: "head"} },
		RouteLabels: []string{rayNodeLabel},
		Readiness:   OfRayCluster,
	})
}

// rayKeepsPods reports whether KubeRay keeps running pods. It does unless the
// upgrade strategy recreates all of them
// (ray-operator/apis/ray/v1/raycluster_types.go, RayClusterUpgradeType).
func rayKeepsPods(workload map[string]any) bool {
	return TextAt(workload, "spec", "upgradeStrategy", "type") != "Recreate"
}

func rayGroups(workload map[string]any) []Group {
	groups := []Group{{Template: []string{"spec", "headGroupSpec", "template"}}}
	for i, spec := range ListAt(workload, "spec", "workerGroupSpecs") {
		at := []string{"spec", "workerGroupSpecs", strconv.Itoa(i)}
		groups = append(groups, Group{
			Name: TextAt(spec, "groupName"), Template: Under(at, "template"), Number: Under(at, "replicas"),
			Most: Under(at, "maxReplicas"), Sets: Under(at, "numOfHosts"), Worker: true, Scaled: i == 0,
		})
	}
	return groups
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
				"dashboard-port":      "8265",
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

// completeRayCluster adds the requested workers to a manifest. Workers
// without a template use the template of the head.
func completeRayCluster(c Compute, workload map[string]any) {
	head, _ := Find(workload, []string{"spec", "headGroupSpec", "template"})
	if c.ReplicasGiven && c.Replicas > 1 && len(rayGroups(workload)) == 1 {
		SetAt(workload, []string{"spec", "workerGroupSpecs"}, []any{workerGroup(c.Replicas - 1)})
	}
	for _, spec := range ListAt(workload, "spec", "workerGroupSpecs") {
		if template, _ := spec["template"].(map[string]any); spec != nil && len(template) == 0 && head != nil {
			spec["template"] = Copy(head)
		}
	}
}
