package main

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// volumes returns an echo provider with an answer for volumes, every second of which drifts.
func volumes(t *testing.T) (tfprotov6.ProviderServer, tftypes.Object) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.json")
	err := answer.Write(path, map[string]answer.Answer{"volume": {
		Name: "prototype", Namespace: "elsewhere", Unknown: []string{"uid"}, Private: []byte(`{"a":""}`),
		Attributes: []byte(`{"name":"prototype","uid":"u","id":"elsewhere/prototype","phase":"Bound",
			"ref":{"claim_name":"prototype","mount_path":"/data","read_only":null}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(answer.File, path)
	t.Setenv(answer.DriftEvery, "2")
	server, err := newEcho(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	object, ok := schemas.ResourceSchemas["kt_volume"].ValueType().(tftypes.Object)
	if !ok {
		t.Fatal("a volume is not an object")
	}
	return server, object
}

func dynamic(t *testing.T, object tftypes.Object, set map[string]tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	values := map[string]tftypes.Value{}
	for name, of := range object.AttributeTypes {
		values[name] = tftypes.NewValue(of, nil)
	}
	maps.Copy(values, set)
	var value any = values
	if set == nil {
		value = nil
	}
	out, err := tfprotov6.NewDynamicValue(object, tftypes.NewValue(object, value))
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

func attributes(t *testing.T, object tftypes.Object, value *tfprotov6.DynamicValue) map[string]tftypes.Value {
	t.Helper()
	decoded, err := value.Unmarshal(object)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]tftypes.Value{}
	if err := decoded.As(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCreationReturnsTheValuesOfTheProvider(t *testing.T) {
	ctx := t.Context()
	server, object := volumes(t)
	config := dynamic(t, object, map[string]tftypes.Value{
		"name":      tftypes.NewValue(tftypes.String, "volume-7"),
		"namespace": tftypes.NewValue(tftypes.String, "ml"),
	})
	nothing := dynamic(t, object, nil)
	planned, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{TypeName: "kt_volume",
		PriorState: nothing, ProposedNewState: config, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	plan := attributes(t, object, planned.PlannedState)
	if plan["uid"].IsKnown() || !plan["ref"].IsFullyKnown() {
		t.Errorf("the plan is %v", plan)
	}
	applied, err := server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{TypeName: "kt_volume",
		PriorState: nothing, PlannedState: planned.PlannedState, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"uid": "u", "id": "ml/volume-7", "phase": "Bound", "name": "volume-7"} {
		if got := attributes(t, object, applied.NewState)[name]; !got.Equal(tftypes.NewValue(tftypes.String, want)) {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if string(applied.Private) != `{"a":""}` {
		t.Errorf("the private state is %s", applied.Private)
	}
}

func TestRefreshReturnsTheStateOrADriftedLabel(t *testing.T) {
	ctx := t.Context()
	server, object := volumes(t)
	labels := func(value string) tftypes.Value {
		return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String},
			map[string]tftypes.Value{answer.Generation: tftypes.NewValue(tftypes.String, value)})
	}
	for name, want := range map[string]string{"volume-7": answer.First, "volume-8": answer.Drifted} {
		state := dynamic(t, object, map[string]tftypes.Value{
			"name": tftypes.NewValue(tftypes.String, name), "labels": labels(answer.First),
		})
		read, err := server.ReadResource(ctx,
			&tfprotov6.ReadResourceRequest{TypeName: "kt_volume", CurrentState: state})
		if err != nil {
			t.Fatal(err)
		}
		if got := attributes(t, object, read.NewState)["labels"]; !got.Equal(labels(want)) {
			t.Errorf("the labels of %s are %s, want %s", name, got, want)
		}
	}
}
