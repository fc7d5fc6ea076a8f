package manifest

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	distributeRay     = "ray"
	defaultRayVersion = "2.8.0" // Kubetorch's
	rayWorkerGroup    = "worker-group"
	rayVersionArg     = "rayVersion" // of Distribute.Args: it is no setting of Kubetorch's own
	rayNodeLabel      = "ray.io/node-type"
)

// rayClusterKind is a RayCluster of KubeRay: a head, which takes the calls, and
// one group of workers. KubeRay itself gives each pod the label for its part.
func rayClusterKind() kind {
	return kind{
		mode:       "raycluster",
		template:   "raycluster",
		gvk:        schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"},
		container:  ContainerName,
		picks:      func(c Compute) bool { return c.Distribute != nil && c.Distribute.Type == distributeRay },
		spec:       rayClusterSpec,
		complete:   completeRayCluster,
		groups:     rayGroups,
		scales:     true,
		suspension: suspendField("spec", "suspend"),
		admitted:   true,
		keepsPods:  rayKeepsPods,
		route:      func(map[string]any) map[string]string { return map[string]string{rayNodeLabel: "head"} },
	}
}

// rayKeepsPods: KubeRay leaves pods as they are unless it is told to make all of
// them anew (ray-operator/apis/ray/v1/raycluster_types.go, RayClusterUpgradeType).
func rayKeepsPods(workload map[string]any) bool {
	return textAt(workload, "spec", "upgradeStrategy", "type") != "Recreate"
}

func suspendField(path ...string) []setting { return []setting{{path: path, value: true}} }

func rayGroups(workload map[string]any) []group {
	groups := []group{{template: []string{"spec", "headGroupSpec", "template"}}}
	for i, spec := range listAt(workload, "spec", "workerGroupSpecs") {
		at := []string{"spec", "workerGroupSpecs", strconv.Itoa(i)}
		hosts, _ := numberAt(spec, []string{"numOfHosts"})
		groups = append(groups, group{
			template: under(at, "template"), number: under(at, "replicas"), each: hosts, worker: true, scaled: i == 0,
		})
	}
	return groups
}

func rayClusterSpec(c Compute, k kind) (map[string]any, error) {
	head, err := toMap(podTemplate(c, k, false))
	if err != nil {
		return nil, err
	}
	worker, err := toMap(podTemplate(c, k, true))
	if err != nil {
		return nil, err
	}
	all, _ := askedReplicas(c)
	workers := max(all-1, 0)
	return map[string]any{
		"rayVersion":              cmp.Or(rayVersion(c), defaultRayVersion),
		"enableInTreeAutoscaling": false,
		"headServicePorts": []any{
			map[string]any{"name": "gcs", "port": int64(6379), "targetPort": int64(6379)},
		},
		"headGroupSpec": map[string]any{
			"rayStartParams": map[string]any{
				"dashboard-host":      "0.0.0.0",
				"dashboard-port":      "8265",
				"metrics-export-port": "8080",
				"node-manager-port":   "8077",
				"object-manager-port": "8076",
				"port":                "6379",
			},
			"template": head,
		},
		"workerGroupSpecs": []any{
			workerGroup(workers, worker),
		},
	}, nil
}

func workerGroup(workers int64, template map[string]any) map[string]any {
	return map[string]any{
		"groupName": rayWorkerGroup, "rayStartParams": map[string]any{}, "template": template,
		"replicas": workers, "minReplicas": int64(0), "maxReplicas": workers,
	}
}

func rayVersion(c Compute) string {
	if c.Distribute == nil {
		return ""
	}
	version, _ := c.Distribute.Args[rayVersionArg].(string)
	return version
}

// completeRayCluster gives a manifest of the user's the workers that were asked
// for, which are like the head where they have no template of their own.
func completeRayCluster(c Compute, workload map[string]any) {
	head, _ := find(workload, []string{"spec", "headGroupSpec", "template"})
	if all, attribute := askedReplicas(c); attribute != "" && all > 1 && len(rayGroups(workload)) == 1 {
		setAt(workload, []string{"spec", "workerGroupSpecs"}, []any{workerGroup(all-1, map[string]any{})})
	}
	for _, spec := range listAt(workload, "spec", "workerGroupSpecs") {
		if template, _ := spec["template"].(map[string]any); spec != nil && len(template) == 0 && head != nil {
			spec["template"] = copyJSON(head)
		}
	}
}

// under is a path below another.
func under(path []string, steps ...string) []string {
	return append(slices.Clip(path), steps...)
}
