package kueue_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func quantity(text string) *resource.Quantity {
	q := resource.MustParse(text)
	return &q
}

func gpus(nominal string) map[string]kueue.Quota {
	return map[string]kueue.Quota{"nvidia.com/gpu": {Nominal: *quantity(nominal)}}
}

// team returns a queue with only the required attributes.
func team(change ...func(*kueue.Queue)) kueue.Queue {
	q := kueue.Queue{Name: "vision", Namespace: "ml", Flavors: []kueue.Flavor{{Name: "h100", Quotas: gpus("16")}}}
	for _, f := range change {
		f(&q)
	}
	return q
}

// everything returns a queue with every attribute.
func everything() kueue.Queue {
	seconds, threshold := int64(30), int32(100)
	limited := kueue.Quota{Nominal: *quantity("8"), BorrowingLimit: quantity("0"), LendingLimit: quantity("4")}
	return team(func(q *kueue.Queue) {
		q.Namespaces = []string{"ml-dev", "batch"}
		q.Cohort, q.FairShareWeight = "research", quantity("1500m")
		q.AdmissionChecks, q.QueueingStrategy, q.StopPolicy = []string{"budget", "capacity"}, "StrictFIFO", "Hold"
		q.Preemption = &kueue.Preemption{WithinClusterQueue: "LowerPriority", ReclaimWithinCohort: "Any",
			BorrowWithinCohort: "LowerPriority", MaxPriorityThreshold: &threshold}
		q.Flavors = []kueue.Flavor{
			{Name: "reserved",
				NodeLabels:   &map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
				TopologyName: "racks",
				Quotas:       map[string]kueue.Quota{"nvidia.com/gpu": limited, "cpu": {Nominal: *quantity("128")}}},
			{Name: "spot",
				NodeTaints: []corev1.Taint{{Key: "spot", Value: "true", Effect: "NoSchedule"}},
				Tolerations: []corev1.Toleration{
					{Key: "spot", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &seconds}},
				Quotas: map[string]kueue.Quota{"nvidia.com/gpu": limited, "cpu": {Nominal: *quantity("0")}}},
			{Name: "scratch", Quotas: map[string]kueue.Quota{"ephemeral-storage": {Nominal: *quantity("1Ti")}}},
		}
		q.Labels, q.Annotations = map[string]string{"team": "vision"}, map[string]string{"owner": "alice"}
	})
}

func render(t *testing.T, q kueue.Queue) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kueue.Render(q)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestRender(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]kueue.Queue{
		"minimal":    team(),
		"everything": everything(),
		"defaults-of-provider": team(func(q *kueue.Queue) {
			q.DefaultLabels, q.DefaultAnnotations = map[string]string{"org": "x"}, map[string]string{"cost": ""}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var documents []string
			for _, obj := range render(t, q) {
				text, err := yaml.Marshal(obj.Object)
				if err != nil {
					t.Fatal(err)
				}
				documents = append(documents, string(text))
			}
			got, file := strings.Join(documents, "---\n"), filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("got\n%s\nwant\n%s%v", got, want, err)
			}
		})
	}
}

func TestObserveIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]kueue.Queue{"minimal": team(), "everything": everything()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := kueue.Observe(render(t, q))
			want := q
			want.Namespace, want.Namespaces = "", slices.Sorted(slices.Values(append(q.Namespaces, q.Namespace)))
			if !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
		})
	}
}

func TestRenderSelectsTheNamespacesOfItsQueues(t *testing.T) {
	t.Parallel()
	q := team(func(q *kueue.Queue) { q.Namespaces = []string{"ml-dev", "batch", "ml"} })
	var local []string
	for _, obj := range render(t, q) {
		switch obj.GetKind() {
		case "ClusterQueue":
			if got := kueue.SelectedNamespaces(obj); !slices.Equal(got, []string{"batch", "ml", "ml-dev"}) {
				t.Errorf("the ClusterQueue selects %v", got)
			}
		case "LocalQueue":
			local = append(local, manifest.Key(obj))
		}
	}
	want := []string{"LocalQueue/batch/vision", "LocalQueue/ml-dev/vision", "LocalQueue/ml/vision"}
	if slices.Sort(local); !slices.Equal(local, want) {
		t.Errorf("the LocalQueues are %v, want %v", local, want)
	}
}

func TestSelectedNamespacesAreThoseSelectedByName(t *testing.T) {
	t.Parallel()
	for selector, want := range map[string][]string{
		`{}`:   nil,
		`null`: nil,
		`{matchLabels: {kubernetes.io/metadata.name: ml, team: vision}}`:                          {"ml"},
		`{matchLabels: {team: vision}}`:                                                           nil,
		`{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [ml]}]}`: nil,
	} {
		t.Run(selector, func(t *testing.T) {
			t.Parallel()
			obj := parse(t, "{kind: ClusterQueue, spec: {namespaceSelector: "+selector+"}}")
			if got := kueue.SelectedNamespaces(obj); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestQueuesAreDeletedBeforeWhatTheyUse(t *testing.T) {
	t.Parallel()
	ranks := map[string]int{}
	var kinds []string
	for _, obj := range render(t, everything()) {
		kinds = append(kinds, obj.GetKind())
		ranks[obj.GetKind()] = kueue.Rank(obj)
	}
	want := []string{"LocalQueue", "ResourceFlavor", "ClusterQueue"}
	if got := slices.Compact(kinds); !slices.Equal(got, want) {
		t.Errorf("Render returns %v, want %v", got, want)
	}
	for i, kind := range want[1:] {
		if before := want[i]; ranks[before] >= ranks[kind] {
			t.Errorf("%s has rank %d, and %s has rank %d", before, ranks[before], kind, ranks[kind])
		}
	}
}

func FuzzObserveNeverPanics(f *testing.F) {
	f.Add(`{"kind":"ClusterQueue","spec":{"resourceGroups":[{"flavors":[{"resources":[{"nominalQuota":null}]}]}]}}`)
	f.Add(`{"kind":"ResourceFlavor","spec":{"nodeTaints":[null],"tolerations":[{"tolerationSeconds":"x"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		obj := &unstructured.Unstructured{}
		if yaml.Unmarshal([]byte(text), &obj.Object) != nil {
			t.Skip()
		}
		want := kueue.Observe([]*unstructured.Unstructured{obj})
		if objects, err := kueue.Render(want); err == nil {
			want.Namespaces = slices.Compact(slices.Sorted(slices.Values(append(want.Namespaces, ""))))
			if got := kueue.Observe(objects); !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
		}
		kueue.SelectedNamespaces(obj)
		kueue.Rank(obj)
	})
}
