package protocol_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Whatever reads a compute takes an ID, or a name and optionally a namespace.
func TestComputeIsIdentifiedByIDOrName(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	schemas, err := o.server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	tunnel := schemas.EphemeralResourceSchemas["kt_port_forward"]
	sources := map[string]func(*tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error){
		"kt_port_forward": func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
			resp, err := o.server.ValidateEphemeralResourceConfig(t.Context(),
				&tfprotov6.ValidateEphemeralResourceConfigRequest{TypeName: "kt_port_forward", Config: config})
			return resp.Diagnostics, err
		},
	}
	types := map[string]tftypes.Type{"kt_port_forward": tunnel.ValueType()}
	for _, name := range []string{"kt_compute", "kt_endpoint", "kt_events", "kt_metrics"} {
		types[name] = schemas.DataSourceSchemas[name].ValueType()
		sources[name] = func(config *tfprotov6.DynamicValue) ([]*tfprotov6.Diagnostic, error) {
			resp, err := o.server.ValidateDataResourceConfig(t.Context(),
				&tfprotov6.ValidateDataResourceConfigRequest{TypeName: name, Config: config})
			return resp.Diagnostics, err
		}
	}
	for config, valid := range map[string]bool{
		`{"id": "ml/trainer"}`:                          true,
		`{"name": "trainer"}`:                           true,
		`{"name": "trainer", "namespace": "ml"}`:        true,
		`{"id": "` + unknown + `"}`:                     true,
		`{"name": "a", "namespace": "` + unknown + `"}`: true,
		`{}`:                        false,
		`{"namespace": "ml"}`:       false,
		`{"id": "trainer"}`:         false,
		`{"id": "ml/team/trainer"}`: false,
		`{"id": "ml/Trainer"}`:      false,
		`{"id": "ml/trainer", "name": "trainer"}`: false,
		`{"id": "ml/trainer", "namespace": "ml"}`: false,
	} {
		for name, validate := range sources {
			encoded, err := tfprotov6.NewDynamicValue(types[name], jsonConfig(t, types[name], config))
			if err != nil {
				t.Fatal(err)
			}
			found, err := validate(&encoded)
			if err != nil || (len(found) == 0) != valid {
				t.Errorf("%s of %s: valid is %t, want %t (%v): %v", config, name, len(found) == 0, valid, err, found)
			}
		}
	}
}
