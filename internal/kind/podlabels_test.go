package kind

import (
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestPodLabelsSelectAllPodsOfTheWorkload(t *testing.T) {
	t.Parallel()
	template := []string{"spec", "template", "metadata", "labels"}
	for name, test := range map[string]struct {
		mode   string
		path   []string
		labels map[string]any
		want   map[string]string
	}{
		"of a Kubetorch service": {"deployment", template, map[string]any{ServiceLabel: "s", "x": "y"},
			map[string]string{ServiceLabel: "s"}},
		"by the selector": {"deployment", []string{"spec", "selector", "matchLabels"}, map[string]any{"app": "b"},
			map[string]string{"app": "b"}},
		"by the controller of a Job": {"job", nil, nil, map[string]string{"batch.kubernetes.io/job-name": "a"}},
		"by JobSet": {"jobset", template, map[string]any{"x": "y"},
			map[string]string{"jobset.sigs.k8s.io/jobset-name": "a"}},
		"by KubeRay": {"raycluster", nil, nil, map[string]string{"ray.io/cluster": "a"}},
		"of the cluster of a RayJob": {"rayjob", []string{"status"}, map[string]any{"rayClusterName": "a-x"},
			map[string]string{"ray.io/cluster": "a-x"}},
		"of a RayJob without cluster": {"rayjob", nil, nil, nil},
		"by the training operator": {"pytorchjob", nil, nil,
			map[string]string{"training.kubeflow.org/job-name": "a"}},
		"of the template of a CronJob": {"cronjob", []string{"spec", "jobTemplate", "spec", "template", "metadata",
			"labels"}, map[string]any{"x": "y"}, map[string]string{"x": "y"}},
		"of a CronJob without labels": {"cronjob", nil, nil, nil},
		"of a Pod": {"pod", []string{"metadata", "labels"}, map[string]any{"x": "y"},
			map[string]string{"x": "y"}},
		"of an operator": {ModeCompute, nil, nil, nil},
	} {
		workload := &unstructured.Unstructured{Object: map[string]any{}}
		for _, k := range Workloads() {
			if k.Workload.Mode == test.mode {
				workload.SetGroupVersionKind(k.GroupVersionKind)
			}
		}
		if test.labels != nil {
			SetAt(workload.Object, test.path, test.labels)
		}
		workload.SetName("a")
		got := PodLabels(workload)
		if !maps.Equal(got, test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Controllers go by the owner, so pods of others may have the same labels.
func TestPodsOfOtherControllersAreNotThoseOfTheWorkload(t *testing.T) {
	t.Parallel()
	pod := func(name, kind, owner string, uid types.UID) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
			{Kind: kind, Name: owner, UID: uid, Controller: new(true)}}}
	}
	alone := &metav1.ObjectMeta{Name: "x"}
	for name, test := range map[string]struct {
		mode string
		pod  *metav1.ObjectMeta
		want bool
	}{
		"of its ReplicaSet":        {"deployment", pod("x", "ReplicaSet", "a-5d9f", "r"), true},
		"of another ReplicaSet":    {"deployment", pod("x", "ReplicaSet", "a-b-5d9f", "r"), false},
		"of a Job with its labels": {"deployment", pod("x", "Job", "a-5d9f", "j"), false},
		"without a controller":     {"deployment", alone, false},
		"of a StatefulSet":         {"statefulset", pod("a-0", "StatefulSet", "a", "u"), true},
		"of a former StatefulSet":  {"statefulset", pod("a-0", "StatefulSet", "a", "before"), false},
		"of a ReplicaSet":          {"replicaset", pod("x", "ReplicaSet", "a", "u"), true},
		"of a DaemonSet":           {"daemonset", pod("x", "Job", "a", "j"), false},
		"a Pod":                    {"pod", &metav1.ObjectMeta{Name: "a"}, true},
		"another Pod":              {"pod", alone, false},
		"of a kind between them":   {"jobset", pod("x", "Job", "a-workers-0", "j"), true},
	} {
		workload := &unstructured.Unstructured{Object: map[string]any{}}
		for _, k := range Workloads() {
			if k.Mode == test.mode {
				workload.SetGroupVersionKind(k.GroupVersionKind)
			}
		}
		workload.SetName("a")
		workload.SetUID("u")
		if got := Controls(workload, test.pod); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
