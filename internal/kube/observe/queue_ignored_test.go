package observe

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// Without Kueue's integration for a kind, its pods start at once, and are ready although no queue admitted them.
func TestKueueIgnoresAWorkloadOfAKindThatItDoesNotManage(t *testing.T) {
	t.Parallel()
	const (
		podsPath      = "/api/v1/namespaces/ml/pods"
		workloadsPath = kueueV + "/namespaces/ml/workloads"
		running       = `{metadata: {name: trainer-0, namespace: ml, uid: p-1, resourceVersion: "1",
			labels: {a: b}}, spec: {nodeName: node, containers: []}, status: {phase: Running}}`
	)
	ref := kube.Ref{Kind: row("kubeflow.org", "PyTorchJob"), Namespace: "ml", Name: "trainer"}
	for name, test := range map[string]struct {
		change map[string]string
		want   bool
	}{
		"no Workload":  {map[string]string{workloadsPath: "items: []"}, true},
		"its Workload": {nil, false},
		"Workload of its pod": {map[string]string{
			workloadsPath: itemWith(heldWorkload, "uid: u-1", "uid: p-1")}, false},
		"Workload of another": {map[string]string{workloadsPath: itemWith(heldWorkload, "uid: u-1", "uid: u-2")}, true},
		"managed pods": {map[string]string{workloadsPath: "items: []",
			podsPath: itemWith(running, "a: b", `a: b, kueue.x-k8s.io/managed: "true"`)}, false},
		"no running pods": {map[string]string{workloadsPath: "items: []",
			podsPath: itemWith(running, "nodeName: node, ", "")}, false},
		"no permission to read Workloads": {map[string]string{workloadsPath: "forbidden"}, false},
		"no Kueue":                        {map[string]string{workloadsPath: "items: []", kueuePath: ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := []map[string]string{kueue(), {podsPath: "items: [" + running + "]"}, test.change}
			cluster, s := shelfOf(t, docs...)
			if name == "no Kueue" {
				delete(s.docs, kueuePath)
			}
			got, err := KueueIgnores(t.Context(), cluster, ref, map[string]string{"a": "b"})
			if err != nil || got != test.want {
				t.Errorf("%t, %v", got, err)
			}
		})
	}
}

// Only the pods of a workload with reserved quota run because of Kueue.
func TestKueueRunsAWorkloadThatItHasAdmitted(t *testing.T) {
	t.Parallel()
	const path, admission = kueueV + "/namespaces/ml/workloads", `status: {admission: {clusterQueue: cq,
		podSetAssignments: [{resourceUsage: {nvidia.com/gpu: "6"}}]}, `
	admitted := func(more string) string { return itemWith(heldWorkload, "status: {", admission+more) }
	for name, test := range map[string]struct {
		workloads string
		want      bool
	}{
		"admitted":             {admitted(""), true},
		"waiting":              {"items: [" + heldWorkload + "]", false},
		"of another":           {strings.Replace(admitted(""), "uid: u-1", "uid: u-2", 1), false},
		"of one of its pods":   {strings.Replace(admitted(""), "uid: u-1", "uid: p-1", 2), false},
		"none":                 {"items: []", false},
		"nobody may read them": {"forbidden", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, _ := shelfOf(t, kueue(), map[string]string{path: test.workloads})
			if got := KueueRuns(t.Context(), cluster, "ml", "u-1"); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

// itemWith returns a list of an object in which a text is replaced.
func itemWith(object, before, after string) string {
	return "items: [" + strings.Replace(object, before, after, 1) + "]"
}
