package compute

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// appliedAttributes are the attributes of the last apply as MessagePack, by name. They are stored while state contains
// changes of others: an attribute whose value returns gets its notation back, such as null instead of the default.
type appliedAttributes map[string][]byte

// storedRows are the rows with manifests beside the attributes that it contains.
func storedRows() []row { return append(slices.Clone(rows), complete([]row{{name: "manifests"}})...) }

func (m *model) appliedAttributes(ctx context.Context) (appliedAttributes, error) {
	out := appliedAttributes{}
	for _, r := range storedRows() {
		value := r.value(m)
		raw, err := value.ToTerraformValue(ctx)
		if err != nil {
			return nil, err
		}
		encoded, err := tfprotov6.NewDynamicValue(value.Type(ctx).TerraformType(ctx), raw)
		if err != nil {
			return nil, err
		}
		out[r.name] = encoded.MsgPack
	}
	return out, nil
}

// restore sets the attributes of a model.
func (a appliedAttributes) restore(ctx context.Context, m *model) error {
	for _, r := range storedRows() {
		typ := r.value(m).Type(ctx)
		raw, err := (&tfprotov6.DynamicValue{MsgPack: a[r.name]}).Unmarshal(typ.TerraformType(ctx))
		if err != nil {
			return err
		}
		value, err := typ.ValueFromTerraform(ctx, raw)
		if err != nil {
			return err
		}
		r.set(m, value)
	}
	return nil
}

// followObjects updates the attributes that the objects contain. applied are the objects in state, and current their
// refreshed versions.
func (r *reader) followObjects(ctx context.Context, applied, current owned.Objects) {
	remembered := r.PrivateState.Applied
	if remembered != nil && !r.released {
		before := *r.State
		err := remembered.restore(ctx, r.State)
		if err == nil {
			applied, err = r.State.objects()
		}
		if err != nil { // stored by another release
			*r.State, remembered = before, nil
		}
	}
	r.PrivateState.Applied = nil
	for _, obj := range sorted(applied) {
		key := manifest.Key(obj)
		now := current[key]
		if now == nil || now.Equal(applied[key]) {
			continue
		}
		if remembered == nil {
			var err error
			if remembered, err = r.State.appliedAttributes(ctx); err != nil {
				r.Diags.Append(tf.Failure(err))
			}
		}
		if !r.released { // otherwise the applied objects differ by the released fields
			r.PrivateState.Applied = remembered
		}
		r.Diags.Append(r.State.follow(ctx, r.State.observe(obj), r.State.observe(now.Content))...)
	}
}
