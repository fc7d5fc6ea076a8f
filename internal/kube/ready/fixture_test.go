package ready

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// fixture is a file of testdata: the state of a cluster at one moment. An absent
// list is unknown, as in a Snapshot. A file with the key like is the fixture of
// that name, with another description and the JSON patch in the key change.
type fixture struct {
	About       string                                   `json:"about"`
	Autoscaler  bool                                     `json:"autoscaler,omitempty"`
	FixedNodes  bool                                     `json:"fixedNodes,omitempty"`
	Workload    json.RawMessage                          `json:"workload,omitempty"`
	ReplicaSets []*appsv1.ReplicaSet                     `json:"replicaSets,omitempty"`
	Pods        []*corev1.Pod                            `json:"pods,omitempty"`
	Events      []*corev1.Event                          `json:"events,omitempty"`
	Nodes       []*corev1.Node                           `json:"nodes,omitempty"`
	NodePools   []json.RawMessage                        `json:"nodePools,omitempty"`
	Claims      map[string]*corev1.PersistentVolumeClaim `json:"claims,omitempty"`
	Parts       []json.RawMessage                        `json:"parts,omitempty"`
	Queue       *queueFixture                            `json:"queue,omitempty"`
	Logs        []string                                 `json:"logs,omitempty"`
}

// queueFixture is a Queue. Absent lists are unknown.
type queueFixture struct {
	Scheduler    string            `json:"scheduler"`
	Namespace    string            `json:"namespace"`
	Name         string            `json:"name"`
	NotInstalled bool              `json:"notInstalled,omitempty"`
	Queues       []json.RawMessage `json:"queues,omitempty"`
	ClusterQueue json.RawMessage   `json:"clusterQueue,omitempty"`
	Holds        []json.RawMessage `json:"holds,omitempty"`
	Excluded     string            `json:"excluded,omitempty"`
}

func (f *queueFixture) queue(t testing.TB) *Queue {
	t.Helper()
	if f == nil {
		return nil
	}
	q := &Queue{
		Scheduler: f.Scheduler, Namespace: f.Namespace, Name: f.Name, NotInstalled: f.NotInstalled,
		Queues: objects(t, f.Queues), Holds: objects(t, f.Holds), Excluded: f.Excluded,
	}
	if f.ClusterQueue != nil {
		for _, found := range objects(t, []json.RawMessage{f.ClusterQueue}) {
			q.ClusterQueue = found
		}
	}
	return q
}

// objects decodes a list. The result is nil if the list is nil. Items that have
// lost their kind by mutation are skipped.
func objects(t testing.TB, list []json.RawMessage) []*unstructured.Unstructured {
	t.Helper()
	if list == nil {
		return nil
	}
	out := []*unstructured.Unstructured{}
	for _, data := range list {
		if u := (&unstructured.Unstructured{}); u.UnmarshalJSON(data) == nil {
			out = append(out, u)
		}
	}
	return out
}

func (f fixture) snapshot(t testing.TB) Snapshot {
	t.Helper()
	s := Snapshot{
		ReplicaSets: f.ReplicaSets, Pods: f.Pods, Events: f.Events,
		Nodes: f.Nodes, Claims: f.Claims, Autoscaler: f.Autoscaler, FixedNodes: f.FixedNodes,
		Parts: objects(t, f.Parts), Queue: f.Queue.queue(t), NodePools: objects(t, f.NodePools),
	}
	if f.Workload != nil {
		s.Workload = &unstructured.Unstructured{}
		if err := s.Workload.UnmarshalJSON(f.Workload); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// library is the fixtures as JSON, by name. A fixture is parsed once.
type library map[string][]byte

// readFixtures returns all fixtures, and their names.
func readFixtures(t testing.TB) (all library, names []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	all = library{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		all.read(t, name)
		names = append(names, name)
	}
	return all, names
}

// fixture returns a new copy of a fixture.
func (l library) fixture(t testing.TB, name string) fixture {
	t.Helper()
	var f fixture
	if err := json.Unmarshal(l.read(t, name), &f); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

func (l library) snapshot(t testing.TB, name string) Snapshot {
	t.Helper()
	return l.fixture(t, name).snapshot(t)
}

func (l library) read(t testing.TB, name string) []byte {
	t.Helper()
	if l[name] != nil {
		return l[name]
	}
	data, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		fixture
		Like   string          `json:"like"`
		Change json.RawMessage `json:"change"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if file.Like == "" {
		l[name], err = yaml.YAMLToJSON(data)
	} else {
		l[name], err = patched(l.read(t, file.Like), file.Change, file.About)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return l[name]
}

// patched applies a JSON patch to a fixture, and describes the result.
func patched(tree, change []byte, about string) ([]byte, error) {
	patch, err := jsonpatch.DecodePatch(change)
	if err != nil {
		return nil, err
	}
	if tree, err = patch.Apply(tree); err != nil {
		return nil, err
	}
	description, err := json.Marshal(fixture{About: about})
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(tree, description)
}

// load returns the snapshot of a fixture by name.
func load(t testing.TB, name string) Snapshot {
	t.Helper()
	return library{}.snapshot(t, name)
}
