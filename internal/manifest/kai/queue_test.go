package kai_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func amount(text string) kai.Amount { return kai.Amount{Quantity: resource.MustParse(text)} }

func unlimited() kai.Amount { return kai.Amount{Unlimited: true} }

// minimal returns a queue with only the required attributes.
func minimal() kai.Queue {
	all := kai.Share{Quota: unlimited(), Limit: unlimited()}
	return kai.Queue{Name: "vision", GPU: kai.Share{Quota: amount("8"), Limit: amount("16")}, CPU: all, Memory: all}
}

// everything returns a queue with every attribute, some of them zero or fractional.
func everything() kai.Queue {
	priority, weight, half, none := int64(0), 2.0, 0.5, time.Duration(0)
	hour := time.Hour
	return kai.Queue{
		Name: "vision", ParentQueue: "ml", DisplayName: "Vision", Priority: &priority,
		PreemptMinRuntime: &none, ReclaimMinRuntime: &hour,
		GPU:    kai.Share{Quota: amount("500m"), Limit: amount("0"), OverQuotaWeight: &half},
		CPU:    kai.Share{Quota: amount("64"), Limit: amount("100500m"), OverQuotaWeight: &weight},
		Memory: kai.Share{Quota: amount("100Gi"), Limit: amount("1T")},
		Labels: map[string]string{"team": "vision"}, Annotations: map[string]string{"owner": "alice"},
	}
}

func render(t *testing.T, q kai.Queue) *unstructured.Unstructured {
	t.Helper()
	objects, err := kai.Render(q)
	if err != nil || len(objects) != 1 {
		t.Fatalf("got %v, %v", objects, err)
	}
	return objects[0]
}

func TestQuotasAboveThoseOfTheParentQueue(t *testing.T) {
	t.Parallel()
	of := func(gpu, cpu, memory kai.Amount) kai.Queue {
		return kai.Queue{GPU: kai.Share{Quota: gpu}, CPU: kai.Share{Quota: cpu}, Memory: kai.Share{Quota: memory}}
	}
	parent := of(amount("8"), unlimited(), amount("64Gi"))
	for name, test := range map[string]struct {
		child kai.Queue
		want  string
	}{
		"equal":             {parent, ""},
		"less":              {of(amount("500m"), amount("64"), amount("0")), ""},
		"more of one":       {of(amount("8500m"), amount("64"), amount("64Gi")), "gpu"},
		"more of several":   {of(amount("9"), unlimited(), amount("65Gi")), "gpu memory"},
		"without a limit":   {of(unlimited(), unlimited(), amount("0")), "gpu"},
		"in other notation": {of(amount("8000m"), unlimited(), amount("65536Mi")), ""},
	} {
		if got := strings.Join(kai.Exceeding(test.child, parent), " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	defaults := minimal()
	defaults.DefaultLabels, defaults.DefaultAnnotations = map[string]string{"org": "x"}, map[string]string{"cost": ""}
	for name, q := range map[string]kai.Queue{
		"minimal": minimal(), "everything": everything(), "defaults-of-provider": defaults,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := yaml.Marshal(render(t, q).Object)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s%v", got, want, err)
			}
		})
	}
}

// The server stores integers without a fraction, and other numbers as floats.
func TestObserveIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]kai.Queue{"minimal": minimal(), "everything": everything()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := render(t, want).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var stored unstructured.Unstructured
			if err := stored.UnmarshalJSON(text); err != nil {
				t.Fatal(err)
			}
			if got := kai.Observe(&stored); !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
		})
	}
}

func TestObservedQuantitiesHaveTheSuffixOfTheirAmount(t *testing.T) {
	t.Parallel()
	got := kai.Observe(render(t, everything()))
	for want, found := range map[string]kai.Amount{
		"500m": got.GPU.Quota, "100500m": got.CPU.Limit, "64": got.CPU.Quota, "100Gi": got.Memory.Quota,
		"1T": got.Memory.Limit,
	} {
		if text := found.Quantity.String(); text != want {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

// KAI treats an absent number as 0.
func TestObserveAcceptsAnyObject(t *testing.T) {
	t.Parallel()
	for _, spec := range []any{nil, "text", map[string]any{"resources": []any{}},
		map[string]any{"resources": map[string]any{"gpu": map[string]any{"quota": "many"}}},
		map[string]any{"preemptMinRuntime": int64(1)}, map[string]any{"resources": map[string]any{}}} {
		got := kai.Observe(&unstructured.Unstructured{Object: map[string]any{"spec": spec}})
		if got.GPU.Quota.Unlimited || !got.GPU.Quota.Quantity.IsZero() || got.PreemptMinRuntime != nil {
			t.Errorf("%v gives %+v", spec, got)
		}
	}
}

func TestQueueIsNotItsOwnParent(t *testing.T) {
	t.Parallel()
	q := minimal()
	q.ParentQueue = q.Name
	_, err := kai.Render(q)
	if err == nil || err.Error() != "kai.parent_queue is the queue itself. Remove it, or set another queue." {
		t.Errorf("got %v", err)
	}
}

func TestLabelsOfTheProviderAreReserved(t *testing.T) {
	t.Parallel()
	q := minimal()
	q.Labels = map[string]string{"app.kubernetes.io/managed-by": "somebody"}
	if errs := kai.Validate(q); len(errs) != 1 || errs[0].Path.String() != "labels" {
		t.Errorf("got %v", errs)
	}
}

func FuzzObserve(f *testing.F) {
	f.Add([]byte(`{"kind": "Queue", "spec": {"resources": {"gpu": {"quota": 1e300, "limit": -2}}, "priority": 1.5}}`))
	f.Add([]byte(`{"kind": "Queue", "metadata": {"name": "a", "labels": {"a": "b"}},
		"spec": {"resources": {"memory": {"quota": 0.1, "overQuotaWeight": 2}}, "reclaimMinRuntime": "1h"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		if obj.UnmarshalJSON(text) != nil {
			return
		}
		want := kai.Observe(obj)
		objects, err := kai.Render(want)
		if err != nil {
			return
		}
		if got := kai.Observe(objects[0]); !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
	})
}
