// Package protocol_test tests the provider behind its protocol without a cluster, mostly what it validates.
package protocol_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
	"github.com/ktdev/terraform-provider-kt/test/providertest"
)

// offline is the provider behind its protocol, without a cluster or a configuration.
type offline struct {
	server   tfprotov6.ProviderServer
	provider tftypes.Type              // of the provider block
	types    map[string]tftypes.Object // of the resources
}

// serveOffline returns a provider that compares its short path with the framework.
func serveOffline(tb testing.TB) offline {
	tb.Helper()
	return served(tb, providertest.NewServer(provider.New(tb.Context(), "test", config.Env{}, nil)()))
}

// serveInMode returns a provider with a value of KT_SHORT_PATH.
func serveInMode(tb testing.TB, mode string) offline {
	tb.Helper()
	env := config.Env{Getenv: func(name string) string { return map[string]string{"KT_SHORT_PATH": mode}[name] }}
	return served(tb, provider.NewServer(provider.New(tb.Context(), "test", env, nil)()))
}

func served(tb testing.TB, server tfprotov6.ProviderServer) offline {
	tb.Helper()
	schemas, err := server.GetProviderSchema(tb.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(schemas.Diagnostics) > 0 {
		tb.Fatal(err, schemas.Diagnostics)
	}
	types := map[string]tftypes.Object{}
	for name, schema := range schemas.ResourceSchemas {
		object, ok := schema.ValueType().(tftypes.Object)
		if !ok {
			tb.Fatalf("%s is not an object", name)
		}
		types[name] = object
	}
	return offline{server: server, types: types, provider: schemas.Provider.ValueType()}
}

// validate sends the request of `terraform validate` for one resource.
func (o offline) validate(tb testing.TB, resource string, config tftypes.Value) []finding {
	tb.Helper()
	encoded, err := tfprotov6.NewDynamicValue(o.types[resource], config)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := o.server.ValidateResourceConfig(tb.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: resource, Config: &encoded,
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	if err != nil {
		tb.Fatal(err)
	}
	var findings []finding
	for _, d := range resp.Diagnostics {
		if d.Summary == "The short path gives another response" {
			tb.Error(d.Detail)
			continue
		}
		findings = append(findings, finding{d.Severity, pathText(d.Attribute), d.Summary, d.Detail})
	}
	return findings
}

// finding is a diagnostic with its path in the notation of configurations.
type finding struct {
	severity              tfprotov6.DiagnosticSeverity
	path, summary, detail string
}

func (f finding) String() string {
	return fmt.Sprintf("%s at %s: %s\n\t%s", f.severity, f.path, f.summary, f.detail)
}

func pathText(path *tftypes.AttributePath) string {
	var text strings.Builder
	for _, step := range path.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			text.WriteString("." + string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&text, "[%q]", string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&text, "[%d]", int64(step))
		default:
			fmt.Fprintf(&text, "[%v]", step)
		}
	}
	return strings.TrimPrefix(text.String(), ".")
}

// unknown represents a value that is known only after apply.
const unknown = "(known after apply)"

// jsonConfig parses a configuration in JSON to the type of the schema. Missing
// attributes are null, and the text unknown is an unknown value.
func jsonConfig(tb testing.TB, typ tftypes.Type, text string) tftypes.Value {
	tb.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var in any
	if err := decoder.Decode(&in); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	value, err := configValue(typ, in)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return value
}

func configValue(typ tftypes.Type, in any) (tftypes.Value, error) {
	switch {
	case in == nil:
		return tftypes.NewValue(typ, nil), nil
	case in == any(unknown):
		return tftypes.NewValue(typ, tftypes.UnknownValue), nil
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		return objectValue(typ, in)
	case tftypes.Map:
		return mapValue(typ, in)
	case tftypes.List:
		return listValue(typ, in)
	}
	switch in := in.(type) {
	case json.Number:
		number, _, err := big.ParseFloat(in.String(), 10, 512, big.ToNearestEven)
		return checkedValue(typ, number, err)
	default:
		return checkedValue(typ, in, nil)
	}
}

func objectValue(typ tftypes.Object, in any) (tftypes.Value, error) {
	given, ok := in.(map[string]any)
	if !ok {
		return tftypes.Value{}, fmt.Errorf("%v is not an object", in)
	}
	values := map[string]tftypes.Value{}
	for name, attribute := range typ.AttributeTypes {
		value, err := configValue(attribute, given[name])
		if err != nil {
			return tftypes.Value{}, fmt.Errorf("%s: %w", name, err)
		}
		values[name] = value
	}
	for name := range given {
		if _, ok := typ.AttributeTypes[name]; !ok {
			return tftypes.Value{}, fmt.Errorf("attribute %s is not among %v", name,
				slices.Sorted(maps.Keys(typ.AttributeTypes)))
		}
	}
	return checkedValue(typ, values, nil)
}

func mapValue(typ tftypes.Map, in any) (tftypes.Value, error) {
	given, ok := in.(map[string]any)
	if !ok {
		return tftypes.Value{}, fmt.Errorf("%v is not a map", in)
	}
	values := map[string]tftypes.Value{}
	for key, item := range given {
		value, err := configValue(typ.ElementType, item)
		if err != nil {
			return tftypes.Value{}, fmt.Errorf("%s: %w", key, err)
		}
		values[key] = value
	}
	return checkedValue(typ, values, nil)
}

func listValue(typ tftypes.List, in any) (tftypes.Value, error) {
	given, ok := in.([]any)
	if !ok {
		return tftypes.Value{}, fmt.Errorf("%v is not a list", in)
	}
	values := make([]tftypes.Value, len(given))
	for i, item := range given {
		value, err := configValue(typ.ElementType, item)
		if err != nil {
			return tftypes.Value{}, fmt.Errorf("item %d: %w", i, err)
		}
		values[i] = value
	}
	return checkedValue(typ, values, nil)
}

// checkedValue returns an error for a value of another type, for which tftypes would panic.
func checkedValue(typ tftypes.Type, value any, err error) (tftypes.Value, error) {
	if err == nil {
		err = tftypes.ValidateValue(typ, value)
	}
	if err != nil {
		return tftypes.Value{}, err
	}
	return tftypes.NewValue(typ, value), nil
}
