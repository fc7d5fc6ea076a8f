package lifecycle

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// ShortPath answers the requests of a plan without the framework, if the answer is that nothing is wrong and nothing
// changes. It runs the same hooks as the framework's path. It gives no other answer: where a method returns false, the
// framework has to handle the request. The values are in MessagePack.
type ShortPath interface {
	// Valid reports whether a configuration is fully known and valid, without a warning. The client supports write-only
	// attributes.
	Valid(ctx context.Context, config []byte) bool
	// Read reports whether a refresh changes neither the state nor the private state, without a diagnostic. It
	// returns the identity of the resource.
	Read(ctx context.Context, state []byte, private map[string][]byte) (owned.Identity, bool)
	// Plan reports whether a plan changes nothing, without a diagnostic. keep then records that the run keeps the
	// resource, and reports whether there is no conflict with another resource of the run. A conflict is not recorded,
	// so the framework finds it again.
	Plan(
		ctx context.Context, config, state, proposed []byte, private map[string][]byte,
	) (keep func() bool, unchanged bool)
}

type shortPath[M, N any] struct {
	resource *Resource[M, N]
	schema   schema.Schema
	wire     tftypes.Type
	decoder  *decode.Decoder[M]
}

// NewShortPath returns the short path of the resource. data is nil before the provider is configured.
func (r *Resource[M, N]) NewShortPath(ctx context.Context, data *tf.ProviderData) (ShortPath, error) {
	described := schema.Schema{Attributes: r.Kind.Attributes()}
	decoder, err := decode.New[M](ctx, described.Attributes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Kind.Type, err)
	}
	configured := &Resource[M, N]{Kind: r.Kind, Hooks: r.Hooks, data: data}
	return &shortPath[M, N]{resource: configured, schema: described, wire: described.Type().TerraformType(ctx),
		decoder: decoder}, nil
}

func (s *shortPath[M, N]) Valid(ctx context.Context, config []byte) bool {
	raw, err := (&tfprotov6.DynamicValue{MsgPack: config}).Unmarshal(s.wire)
	if err != nil {
		return false
	}
	model, err := s.decoder.Convert(ctx, raw)
	if err != nil {
		return false
	}
	return decode.Valid(ctx, tfsdk.Config{Raw: raw, Schema: s.schema}, s.schema.Attributes,
		func(name string) attr.Value { return s.decoder.Value(model, name) }) &&
		len(s.resource.Hooks.Validate(ctx, model, Validation{Hidden: tf.PathSet{}, WriteOnly: true})) == 0
}

func (s *shortPath[M, N]) Read(
	ctx context.Context, state []byte, private map[string][]byte,
) (owned.Identity, bool) {
	model, err := s.decoder.Decode(ctx, state)
	if err != nil {
		return owned.Identity{}, false
	}
	saved := &recorder{saved: private}
	result, diags := s.resource.read(ctx, model, privateData{saved, saved}, true)
	return commonOf(model).Identity(), result == stateKept && len(diags) == 0 && !saved.changed
}

func (s *shortPath[M, N]) Plan(
	ctx context.Context, config, state, proposed []byte, private map[string][]byte,
) (keep func() bool, unchanged bool) {
	if !decode.EqualExcept(state, proposed, s.resource.Kind.FromConfig...) {
		return nil, false
	}
	prior, err := s.decoder.Decode(ctx, state)
	if err != nil {
		return nil, false
	}
	configured, err := s.decoder.Decode(ctx, config)
	if err != nil {
		return nil, false
	}
	if !decode.HasDefaults(ctx, s.schema.Attributes,
		func(name string) attr.Value { return s.decoder.Value(configured, name) },
		func(name string) attr.Value { return s.decoder.Value(prior, name) }) {
		return nil, false
	}
	if commonOf(prior).Reveal().HasError() {
		return nil, false
	}
	planned := *prior
	saved := &recorder{saved: private}
	p := s.resource.planning(ctx, &planned, configured, prior, false, privateData{saved, saved})
	s.resource.plan(ctx, p)
	if len(p.Diags) > 0 || len(p.Replace) > 0 || saved.changed || !owned.Unchanged(&planned, prior) {
		return nil, false
	}
	return func() bool {
		return len(s.resource.planInState(ctx, saved, commonOf(prior), (*run.Planned).Keep)) == 0
	}, true
}

// recorder is private state that reports whether it changes, but does not change it.
type recorder struct {
	saved   map[string][]byte
	changed bool
}

func (r *recorder) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return r.saved[key], nil
}

func (r *recorder) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	r.changed = r.changed || !slices.Equal(r.saved[key], value)
	return nil
}
