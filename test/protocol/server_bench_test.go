package protocol_test

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// benchmarkedCompute returns the attributes of a compute with a configuration of ordinary size.
func benchmarkedCompute() map[string]any {
	return map[string]any{
		"name": "trainer", "namespace": "ml", "cpus": "8", "memory": "64Gi", "gpus": 1, "replicas": 1,
		"image": "pytorch/pytorch:2.7.1", "service_account_name": "default",
		"labels": map[string]string{"team": "vision"}, "env_vars": map[string]string{"MODE": "fast"},
	}
}

// BenchmarkValidateResourceConfig is what the provider does twice for each resource of a plan: once in the process
// that validates the configuration, and once in the one that plans.
func BenchmarkValidateResourceConfig(b *testing.B) {
	data, err := json.Marshal(benchmarkedCompute())
	if err != nil {
		b.Fatal(err)
	}
	for name, mode := range map[string]string{"short path": "", "framework": "off"} {
		b.Run(name, func(b *testing.B) {
			o := serveInMode(b, mode)
			capabilities := &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true}
			req := &tfprotov6.ValidateResourceConfigRequest{TypeName: "kt_compute",
				Config: o.encoded(b, "kt_compute", data), ClientCapabilities: capabilities}
			b.ReportAllocs()
			for b.Loop() {
				resp, err := o.server.ValidateResourceConfig(b.Context(), req)
				if err != nil || len(resp.Diagnostics) > 0 {
					b.Fatal(err, resp)
				}
			}
		})
	}
}

// BenchmarkUpgradeResourceState is what the provider does before the plan for each resource whose state has an older
// version of the schema.
func BenchmarkUpgradeResourceState(b *testing.B) {
	o := serveOffline(b)
	data, err := json.Marshal(benchmarkedCompute())
	if err != nil {
		b.Fatal(err)
	}
	req := &tfprotov6.UpgradeResourceStateRequest{TypeName: "kt_compute", RawState: &tfprotov6.RawState{JSON: data}}
	b.ReportAllocs()
	for b.Loop() {
		resp, err := o.server.UpgradeResourceState(b.Context(), req)
		if err != nil || len(resp.Diagnostics) > 0 {
			b.Fatal(err, resp)
		}
	}
}

// encoded encodes attributes in JSON like Terraform. Other attributes are null.
func (o offline) encoded(tb testing.TB, resource string, attributes []byte) *tfprotov6.DynamicValue {
	tb.Helper()
	state := tfprotov6.RawState{JSON: attributes}
	value, err := state.UnmarshalWithOpts(o.types[resource], tfprotov6.UnmarshalOpts{})
	if err != nil {
		tb.Fatal(err)
	}
	set := map[string]tftypes.Value{}
	if err := value.As(&set); err != nil {
		tb.Fatal(err)
	}
	for name, of := range o.types[resource].AttributeTypes {
		if _, ok := set[name]; !ok {
			set[name] = tftypes.NewValue(of, nil)
		}
	}
	encoded, err := tfprotov6.NewDynamicValue(o.types[resource], tftypes.NewValue(o.types[resource], set))
	if err != nil {
		tb.Fatal(err)
	}
	return &encoded
}
