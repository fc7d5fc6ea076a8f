package functions_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/functions"
)

// call runs a function like the framework. The arguments are those of its definition.
func call(tb testing.TB, name string, arguments ...attr.Value) (attr.Value, *function.FuncError) {
	tb.Helper()
	for _, constructor := range functions.All() {
		f := constructor()
		var metadata function.MetadataResponse
		f.Metadata(tb.Context(), function.MetadataRequest{}, &metadata)
		if metadata.Name != name {
			continue
		}
		var definition function.DefinitionResponse
		f.Definition(tb.Context(), function.DefinitionRequest{}, &definition)
		result, err := definition.Definition.Return.NewResultData(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		resp := function.RunResponse{Result: result}
		f.Run(tb.Context(), function.RunRequest{Arguments: function.NewArgumentsData(arguments)}, &resp)
		return resp.Result.Value(), resp.Error
	}
	tb.Fatalf("no function %s", name)
	return nil, nil
}

// object returns the value of an object in HCL: a map is an object, a slice a tuple, and unknown an unknown string.
func object(attributes map[string]any) types.Dynamic { return types.DynamicValue(value(attributes)) }

const unknown = "(known after apply)"

func value(of any) attr.Value {
	switch of := of.(type) {
	case map[string]any:
		typs, values := map[string]attr.Type{}, map[string]attr.Value{}
		for name, attribute := range of {
			values[name] = value(attribute)
			typs[name] = values[name].Type(nil) //nolint:staticcheck // these types ignore the context
		}
		return types.ObjectValueMust(typs, values)
	case []any:
		typs, values := []attr.Type{}, []attr.Value{}
		for _, item := range of {
			values = append(values, value(item))
			typs = append(typs, values[len(values)-1].Type(nil)) //nolint:staticcheck // these types ignore the context
		}
		return types.TupleValueMust(typs, values)
	case string:
		if of == unknown {
			return types.StringUnknown()
		}
		return types.StringValue(of)
	case int:
		return types.NumberValue(big.NewFloat(float64(of)))
	case bool:
		return types.BoolValue(of)
	default:
		return types.DynamicNull()
	}
}

func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ function, text, want string }{
		{"quantity", "4Gi", "4294967296"},
		{"quantity", "500m", "0.5"},
		{"quantity", "100m", "0.1"},
		{"quantity", "2", "2"},
		{"quantity", "1.5", "1.5"},
		{"quantity", "1e3", "1000"},
		{"quantity", "0", "0"},
		{"quantity", "1n", "0.000000001"},
		{"quantity", "7Ei", "8070450532247928832"},
		{"duration", "90s", "90"},
		{"duration", "1m30s", "90"},
		{"duration", "2d", "172800"},
		{"duration", "90", "90"},
		{"duration", "0", "0"},
		{"duration", "1500ms", "1.5"},
		{"duration", "100ms", "0.1"},
		{"duration", "1d12h", "129600"},
	} {
		want, _, err := big.ParseFloat(c.want, 10, 512, big.ToNearestEven) // as Terraform parses a literal
		if err != nil {
			t.Fatal(err)
		}
		got, failure := call(t, c.function, types.StringValue(c.text))
		if failure != nil || !got.Equal(types.NumberValue(want)) {
			t.Errorf("%s(%q) is %s (%v), want %s", c.function, c.text, got, failure, c.want)
		}
	}
}

func TestInvalidNumbersAreErrorsOfTheArgument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ function, text, want string }{
		{"quantity", "", `The quantity is empty: set a quantity such as "500m", "2" or "4Gi".`},
		{"quantity", "4gi", `did you mean "4Gi"?`},
		{"quantity", "4 Gi", `use "4Gi"`},
		{"quantity", "-1", "must not be negative"},
		{"quantity", "9223372036854775807", "must be less than 2^63-1"},
		{"duration", "", `The duration is empty: set a duration such as`},
		{"duration", "-1s", "must not be negative"},
		{"duration", "soon", "is not a duration"},
		{"duration", "300y", "is not a duration"},
		{"duration", "200000d", "must be less than 292 years"},
	} {
		_, failure := call(t, c.function, types.StringValue(c.text))
		if failure == nil || failure.FunctionArgument == nil || *failure.FunctionArgument != 0 ||
			!strings.Contains(failure.Text, c.want) {
			t.Errorf("%s(%q): %v, want an error of argument 0 with %q", c.function, c.text, failure, c.want)
		}
	}
}

func TestManifestsNamesTheInvalidArgument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config map[string]any
		want   string
	}{
		"unknown attribute": {map[string]any{"name": "web", "gpu": 1}, `has no attribute "gpu": did you mean "gpus"?`},
		"unknown nested attribute": {map[string]any{"name": "web", "volumes": []any{map[string]any{
			"claim": "a", "mount_path": "/a"}}}, `volumes[0] has no attribute "claim"`},
		"another name altogether": {map[string]any{"name": "web", "zzzzzz": 1}, `has no attribute "zzzzzz".`},
		"wrong type": {map[string]any{"name": "web", "replicas": []any{}},
			"The value of replicas must be a number, but is a list"},
		"text for a number": {map[string]any{"name": "web", "replicas": "two"},
			"The value of replicas must be a number, but is a string"},
		"wrong nested type": {map[string]any{"name": "web", "env_vars": map[string]any{"A": []any{}}},
			`env_vars["A"] must be a string, but is a list`},
		"no name": {map[string]any{"gpus": 1}, "name: Missing Configuration for Required Attribute"},
		"rule of the schema": {map[string]any{"name": "web", "replicas": -1},
			"replicas: Invalid Attribute Value: Attribute replicas value must be between"},
		"rule for combinations": {map[string]any{"name": "web", "replicas": 2, "autoscale": map[string]any{}},
			"replicas and autoscale cannot both be set"},
		"computed attribute": {map[string]any{"name": "web", "uid": "a"},
			"uid: Invalid Configuration for Read-Only Attribute"},
		"quantity": {map[string]any{"name": "web", "memory": "4gi"}, `did you mean "4Gi"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, failure := call(t, "manifests", object(c.config))
			if failure == nil || failure.FunctionArgument == nil || !strings.Contains(failure.Text, c.want) {
				t.Errorf("got %v, want an error of the argument with %q", failure, c.want)
			}
		})
	}
	if _, failure := call(t, "manifests", types.DynamicValue(types.StringValue("web"))); failure == nil ||
		!strings.Contains(failure.Text, "The argument must be an object, but is a string") {
		t.Errorf("a string as the argument: %v", failure)
	}
}

func TestManifestsOfUnknownArgumentsAreUnknown(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{
		"attribute": {"name": "web", "image": unknown},
		"nested":    {"name": "web", "env_vars": map[string]any{"A": unknown}},
	} {
		got, failure := call(t, "manifests", object(config))
		if failure != nil || !got.IsUnknown() {
			t.Errorf("%s: got %v %v, want an unknown map", name, got, failure)
		}
	}
}

func FuzzQuantity(f *testing.F) {
	fuzzNumber(f, "quantity", "4Gi", "500m", "1e3", "-1", ".5", "1.", "+01", "9E")
}

func FuzzDuration(f *testing.F) {
	fuzzNumber(f, "duration", "90s", "1m30s", "2d", "90", ".5h", "1d1d", "1µs")
}

// fuzzNumber checks that a function returns a number that is not negative, or an error.
func fuzzNumber(f *testing.F, name string, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, failure := call(t, name, types.StringValue(text))
		if failure != nil {
			if failure.FunctionArgument == nil || failure.Text == "" {
				t.Errorf("%q: %+v", text, failure)
			}
			return
		}
		number, ok := got.(types.Number)
		if !ok || number.IsNull() || number.ValueBigFloat().Sign() < 0 || number.ValueBigFloat().IsInf() {
			t.Errorf("%q: %v", text, got)
		}
	})
}

func FuzzManifests(f *testing.F) {
	f.Add("web", "4Gi", "registry.example.com/web:1", "kind: Deployment\napiVersion: apps/v1\nspec: {}", int64(2))
	f.Add("a", "", "", "", int64(0))
	f.Add("web", "1", "x", "kind: Job\napiVersion: batch/v1\nspec: {template: {spec: {containers: [{}]}}}", int64(-1))
	f.Fuzz(func(t *testing.T, name, memory, image, manifest string, number int64) {
		config := map[string]any{"name": name, "gpus": int(number)}
		for attribute, text := range map[string]string{"memory": memory, "image": image, "manifest": manifest} {
			if text != "" && text != unknown {
				config[attribute] = text
			}
		}
		got, failure := call(t, "manifests", object(config))
		switch {
		case failure != nil && (failure.FunctionArgument == nil || failure.Text == ""):
			t.Errorf("%v: %+v", config, failure)
		case failure == nil && (got.IsUnknown() || got.IsNull()):
			t.Errorf("%v: %v", config, got)
		}
	})
}
