package owned

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// planner plans resources of one run, all with the ID ml/x.
type planner struct {
	t    *testing.T
	data *tf.ProviderData
}

func (p planner) create(of string, replacement, adopt bool) diag.Diagnostics {
	return PlanCreate(context.Background(), p.data, &Creation{Type: of, ID: "ml/x", Adopt: adopt}, replacement)
}

func (p planner) keep(of string) diag.Diagnostics {
	return PlanInState(p.t.Context(), p.data, private{}, of, types.StringValue("ml/x"), (*run.Planned).Keep)
}

func (p planner) destroy(of string) diag.Diagnostics {
	return PlanInState(p.t.Context(), p.data, private{}, of, types.StringValue("ml/x"), (*run.Planned).Destroy)
}

func TestTwoResourcesOfOneRunCannotHaveTheSameObject(t *testing.T) {
	t.Parallel()
	const compute, volume = "kt_compute", tf.VolumeType
	for name, c := range map[string]struct {
		first, second func(planner) diag.Diagnostics
		summary       string // of the error; "" for none
		detail        string
	}{
		"created twice": {
			func(p planner) diag.Diagnostics { return p.create(compute, false, false) },
			func(p planner) diag.Diagnostics { return p.create(compute, false, false) },
			"Two kt_compute resources are named ml/x", "also creates ml/x"},
		"of different types": {
			func(p planner) diag.Diagnostics { return p.create(compute, false, false) },
			func(p planner) diag.Diagnostics { return p.create(volume, false, false) }, "", ""},
		"created and kept": {
			func(p planner) diag.Diagnostics { return p.keep(compute) },
			func(p planner) diag.Diagnostics { return p.create(compute, false, false) },
			"Two kt_compute resources are named ml/x", "another one would be created"},
		"replaced": {
			func(p planner) diag.Diagnostics { return p.keep(compute) },
			func(p planner) diag.Diagnostics { return p.create(compute, true, false) }, "", ""},
		"kept twice": {
			func(p planner) diag.Diagnostics { return p.keep(compute) },
			func(p planner) diag.Diagnostics { return p.keep(compute) },
			"Two kt_compute resources are named ml/x", "Both are in state and manage the same object. Destroying one"},
		"kept and destroyed": {
			func(p planner) diag.Diagnostics { return p.keep(compute) },
			func(p planner) diag.Diagnostics { return p.destroy(compute) },
			"Two kt_compute resources are named ml/x", "to = kt_compute.NAME\n        id = \"ml/x\""},
		"destroyed and created": {
			func(p planner) diag.Diagnostics { return p.destroy(compute) },
			func(p planner) diag.Diagnostics { return p.create(compute, false, false) },
			"kt_compute ml/x would be destroyed and created", "from = kt_compute.OLD\n    to   = kt_compute.NEW"},
		"destroyed and adopted": {
			func(p planner) diag.Diagnostics { return p.destroy(compute) },
			func(p planner) diag.Diagnostics { return p.create(compute, false, true) }, "", ""},
		"a volume destroyed and adopted": {
			func(p planner) diag.Diagnostics { return p.destroy(volume) },
			func(p planner) diag.Diagnostics { return p.create(volume, false, true) },
			"kt_volume ml/x would be destroyed and created", "the data of the object may be lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planner{t, newRun(t).data()}
			if diags := c.first(p); len(diags) > 0 {
				t.Fatal(diags)
			}
			diags := c.second(p)
			if diags.HasError() != (c.summary != "") || len(diags) > 1 {
				t.Fatalf("%v, want %q", diags, c.summary)
			}
			for _, d := range diags {
				at, _ := d.(diag.DiagnosticWithPath)
				if d.Summary() != c.summary || !strings.Contains(d.Detail(), c.detail) || at.Path().String() != "name" {
					t.Errorf("%v, want %q: %q", d, c.summary, c.detail)
				}
			}
		})
	}
}

// A creation that has ended is the replaced one, with create_before_destroy.
func TestDestructionAfterACompletedCreationIsNoConflict(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	p, one := planner{t, r.data()}, &Creation{Type: "kt_compute", ID: "ml/x"}
	if diags := p.create("kt_compute", false, false); len(diags) > 0 {
		t.Fatal(diags)
	}
	one.Complete(r.Run)
	if diags := p.destroy("kt_compute"); len(diags) > 0 {
		t.Error(diags)
	}
}

func TestNothingIsRecordedWithoutAClusterOrAnID(t *testing.T) {
	t.Parallel()
	unconfigured := planner{t, &tf.ProviderData{Unknown: true}}
	configured := newRun(t).data()
	for range 2 {
		diags := slices.Concat(unconfigured.create("kt_compute", false, false), unconfigured.keep("kt_compute"),
			unconfigured.destroy("kt_compute"),
			PlanObjects(unconfigured.data, &Creation{ID: "ml/x"}, slices.Values([]string{mapKey})),
			PlanCreate(t.Context(), configured, &Creation{Type: "kt_compute"}, false),
			PlanInState(t.Context(), configured, private{}, "kt_compute", types.StringUnknown(), (*run.Planned).Keep),
			PlanInState(t.Context(), configured, private{}, "kt_compute", types.StringNull(), (*run.Planned).Destroy),
			PlanObjects(configured, &Creation{Type: "kt_a"}, slices.Values([]string{mapKey})),
			PlanObjects(configured, &Creation{Type: "kt_b"}, slices.Values([]string{mapKey})))
		if len(diags) > 0 {
			t.Error(diags)
		}
	}
}

func TestResourceOfAnotherClusterIsNotRecorded(t *testing.T) {
	t.Parallel()
	data := newRun(t).data()
	elsewhere := private{clusterKey: []byte(`{"uid":"other"}`)}
	for range 2 {
		diags := PlanInState(t.Context(), data, elsewhere, "kt_compute", types.StringValue("ml/x"), (*run.Planned).Keep)
		if len(diags) != 1 || diags[0].Summary() != "The provider is configured for another cluster" {
			t.Errorf("%v", diags)
		}
	}
}

func TestObjectOfTwoResourcesOfOneRunIsAnError(t *testing.T) {
	t.Parallel()
	data := newRun(t).data()
	first, second := &Creation{Type: "kt_a", ID: "ml/x"}, &Creation{Type: "kt_b", ID: "ml/x"}
	for range 2 { // Terraform plans a replacement twice
		if diags := PlanObjects(data, first, slices.Values([]string{"Service/ml/x", mapKey})); len(diags) > 0 {
			t.Fatal(diags)
		}
	}
	if diags := PlanObjects(data, second, slices.Values([]string{"Service/ml/y"})); len(diags) > 0 {
		t.Fatal(diags)
	}
	diags := PlanObjects(data, second, slices.Values([]string{"Service/ml/z", mapKey}))
	if len(diags) != 1 || diags[0].Summary() != mapKey+" belongs to another resource" ||
		!strings.Contains(diags[0].Detail(), "is an object of kt_a ml/x, and kt_b ml/x needs") {
		t.Errorf("%v", diags)
	}
}
