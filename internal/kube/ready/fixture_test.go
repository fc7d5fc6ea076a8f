package ready

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// fixture is a file of testdata: what a cluster showed at one moment. A list
// that is absent is unknown, as in a Snapshot.
type fixture struct {
	About       string                                   `json:"about"`
	Autoscaler  bool                                     `json:"autoscaler,omitempty"`
	Workload    json.RawMessage                          `json:"workload,omitempty"`
	ReplicaSets []*appsv1.ReplicaSet                     `json:"replicaSets,omitempty"`
	Pods        []*corev1.Pod                            `json:"pods,omitempty"`
	Events      []*corev1.Event                          `json:"events,omitempty"`
	Nodes       []*corev1.Node                           `json:"nodes,omitempty"`
	Claims      map[string]*corev1.PersistentVolumeClaim `json:"claims,omitempty"`
	Logs        []string                                 `json:"logs,omitempty"`
}

func (f fixture) snapshot(t testing.TB) Snapshot {
	t.Helper()
	s := Snapshot{
		ReplicaSets: f.ReplicaSets, Pods: f.Pods, Events: f.Events,
		Nodes: f.Nodes, Claims: f.Claims, Autoscaler: f.Autoscaler,
	}
	if f.Workload != nil {
		s.Workload = &unstructured.Unstructured{}
		if err := s.Workload.UnmarshalJSON(f.Workload); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// fixtureFiles are the paths of all fixtures.
func fixtureFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	return files
}

func readFixture(t testing.TB, file string) fixture {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	if err := yaml.UnmarshalStrict(data, &f); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return f
}

// load is the snapshot of a fixture by name.
func load(t testing.TB, name string) Snapshot {
	t.Helper()
	return readFixture(t, filepath.Join("testdata", name+".yaml")).snapshot(t)
}

func fixtureName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), ".yaml")
}
