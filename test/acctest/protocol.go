package acctest

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// ConfiguredProvider returns a provider that is configured with these attributes.
func ConfiguredProvider(t *testing.T, attributes map[string]string) tfprotov6.ProviderServer {
	t.Helper()
	server, err := Factories(t)["kt"]()
	if err != nil {
		t.Fatal(err)
	}
	described, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	object, _ := described.Provider.ValueType().(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, kind := range object.AttributeTypes {
		values[name] = tftypes.NewValue(kind, nil)
	}
	for name, text := range attributes {
		values[name] = tftypes.NewValue(tftypes.String, text)
	}
	resp, err := server.ConfigureProvider(t.Context(),
		&tfprotov6.ConfigureProviderRequest{Config: DynamicValue(t, object, values)})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %v", err, resp)
	}
	return server
}

// DynamicValue encodes the values of an object for a request.
func DynamicValue(
	t *testing.T, object tftypes.Object, values map[string]tftypes.Value,
) *tfprotov6.DynamicValue {
	t.Helper()
	value, err := tfprotov6.NewDynamicValue(object, tftypes.NewValue(object, values))
	if err != nil {
		t.Fatal(err)
	}
	return &value
}
