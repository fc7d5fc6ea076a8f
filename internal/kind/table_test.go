package kind_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func TestRowsAreComplete(t *testing.T) {
	t.Parallel()
	modes, templates := map[string]string{}, map[string]string{}
	for _, k := range kind.Workloads() {
		required := []string{k.Resource, k.Version, k.Mode, k.Template, k.Container, k.LabelSelector}
		if slices.Contains(required, "") || k.Groups == nil {
			t.Errorf("%s lacks a field that every row has: %+v", k.Word(), k)
		}
		if (k.Picks != nil) != (k.Spec != nil || k.Server != nil) {
			t.Errorf("%s must have both Picks and Spec, or neither", k.Word())
		}
		if k.Custom() && kind.Operator(k.Group) == "" {
			t.Errorf("%s has no operator to install", k.Word())
		}
		if (k.Route != nil) != (len(k.RouteLabels) > 0) {
			t.Errorf("%s must have both Route and RouteLabels, or neither", k.Word())
		}
		if other := modes[k.Mode]; other != "" && k.Server == nil {
			t.Errorf("%s and %s have the same mode", other, k.Word())
		}
		if other := templates[k.Template]; other != "" && k.Server == nil {
			t.Errorf("%s and %s have the same template", other, k.Word())
		}
		modes[k.Mode], templates[k.Template] = k.Word(), k.Word()
		if found, ok := kind.Of(k.GroupKind()); !ok || found.Workload != k.Workload {
			t.Errorf("%s is not found by its group and kind", k.Word())
		}
	}
}

func TestComputeRunsAsTheFirstMatchingKind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		compute kind.Compute
		mode    string
	}{
		"no attributes":          {kind.Compute{}, "deployment"},
		"autoscaled":             {kind.Compute{Autoscale: true}, "knative"},
		"distributed":            {kind.Compute{Distribution: "spmd"}, "deployment"},
		"distributed by Ray":     {kind.Compute{Distribution: "ray"}, "raycluster"},
		"existing pods":          {kind.Compute{Selector: true}, "selector"},
		"a tensor server":        {kind.Compute{Runtime: "skytorch"}, "compute"},
		"an older tensor server": {kind.Compute{Runtime: "kpu"}, "compute"},
		"Kubetorch by name":      {kind.Compute{Runtime: "kubetorch"}, "deployment"},
	} {
		if mode := kind.Picked(test.compute).Mode; mode != test.mode {
			t.Errorf("%s: mode %q, want %q", name, mode, test.mode)
		}
	}
}

func TestKindsAreFoundInAnyVersion(t *testing.T) {
	t.Parallel()
	version1 := func(group, name string) kind.Kind {
		return kind.Kind{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}}
	}
	old := version1(kind.SkyTorchGroup, "Compute")
	if !old.RunsTensorServer() || !old.RunsPods() || old.StatusSuffices() {
		t.Errorf("a Compute of another version runs no tensor server: %+v", old)
	}
	unknown := version1("example.com", "Run")
	if unknown.RunsTensorServer() || !unknown.RunsPods() || !unknown.StatusSuffices() || !unknown.Custom() {
		t.Errorf("a kind that is not in the table: %+v", unknown)
	}
	for _, k := range []kind.Kind{
		kind.Service(), kind.Secret(), kind.ConfigMap(), kind.PersistentVolumeClaim(), kind.KubetorchWorkload(),
	} {
		if k.RunsPods() {
			t.Errorf("%s runs pods", k.Word())
		}
	}
}

func TestGroupsCountPods(t *testing.T) {
	t.Parallel()
	workload := map[string]any{"spec": map[string]any{"replicas": int64(3), "size": int64(4), "zero": int64(0)}}
	for name, test := range map[string]struct {
		group kind.Group
		want  int64
	}{
		"set by a controller": {kind.Group{}, 1},
		"a number":            {kind.Group{Number: []string{"spec", "replicas"}}, 3},
		"an absent number":    {kind.Group{Number: []string{"spec", "none"}, Absent: 1}, 1},
		"several pods for each": {
			kind.Group{Number: []string{"spec", "replicas"}, Sets: []string{"spec", "size"}}, 12},
		"no sets": {kind.Group{Number: []string{"spec", "size"}, Sets: []string{"spec", "zero"}}, 0},
		"including other groups": {
			kind.Group{Number: []string{"spec", "size"}, Others: 1, Sets: []string{"spec", "replicas"}}, 9},
		"only other groups": {kind.Group{Number: []string{"spec", "none"}, Others: 1}, 0},
	} {
		if n := test.group.Count(workload); n != test.want {
			t.Errorf("%s: %d pods, want %d", name, n, test.want)
		}
	}
}

func TestFieldsAndLabelsOfAllKindsAreListedOnce(t *testing.T) {
	t.Parallel()
	want := [][]string{{"spec", "suspend"}, {"spec", "runPolicy", "suspend"}}
	if fields := kind.SuspendFields(); !reflect.DeepEqual(fields, want) {
		t.Errorf("fields to suspend by are %v, want %v", fields, want)
	}
	routes := []string{
		"leaderworkerset.sigs.k8s.io/worker-index", "ray.io/node-type",
		"training.kubeflow.org/replica-index", "training.kubeflow.org/replica-type",
	}
	if labels := kind.RouteLabels(); !slices.Equal(labels, routes) {
		t.Errorf("labels of routes are %v", labels)
	}
}

// TestKindsAreNamedOnlyInTheTable reads the source code: a kind or group of
// another project, and a label, must not be spelled out elsewhere, because a
// change of its row or constant would not change it.
func TestKindsAreNamedOnlyInTheTable(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, name := range []string{
		kind.ManagedByLabel, kind.ManagedByValue, kind.OperatorNameLabel, kind.OperatorInstanceLabel,
		kind.KAIQueueLabel,
		kind.KAIScheduler, kind.GPUResource, kind.GPUProductLabel, kind.GPUPresentLabel, kind.GKEAcceleratorLabel,
		kind.EKSGPUCountLabel, kind.NVIDIADomain, kind.DedicatedTaint, kind.BindCompletedAnnotation,
	} {
		names[name] = true
	}
	var groups []string
	for _, k := range append(kind.Workloads(), kind.KubetorchWorkload()) {
		if !k.Custom() {
			continue
		}
		groups = append(groups, k.Group)
		if k.Kind != "Service" && k.Kind != "Compute" { // also words with another meaning
			names[k.Kind] = true
		}
	}
	groups = append(groups, kind.KueueGroup, kind.KAIGroup)
	for _, directory := range []string{
		"manifest", "kube", "endpoint", "tf", "resources", "datasources", "ephemeral", "provider",
	} {
		err := filepath.WalkDir(filepath.Join("..", directory), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				literal, ok := node.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(literal.Value)
				spelled := slices.ContainsFunc(groups, func(group string) bool {
					return text == group || strings.HasPrefix(text, group+"/") || strings.Contains(text, "."+group)
				})
				if names[text] || spelled {
					t.Errorf("%s spells %q: use the row of the kind", path, text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOperationsAreSupportedOrRefusedWithAReason(t *testing.T) {
	t.Parallel()
	for _, k := range kind.Workloads() {
		_, refusesToScale := k.Refuses[kind.Scaling]
		_, refusesToEvacuate := k.Refuses[kind.Evacuating]
		can := map[kind.Operation]bool{
			kind.Restarting: k.Restart != nil, kind.Suspending: len(k.Suspension) > 0,
			kind.Scaling: k.Scales && !refusesToScale, kind.Evacuating: !refusesToEvacuate,
		}
		for o, supported := range can {
			if refusal := k.Refuses[o]; supported != (refusal.Why == "") || supported != (refusal.Instead.In() == "") {
				t.Errorf("%s: operation %s is supported: %t, and refused with %+v", k.Word(), o, supported, refusal)
			}
		}
	}
}
