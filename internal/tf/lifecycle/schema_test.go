package lifecycle_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// defaultedAttributes returns the schema of kt_thing, where deletion_protection has the default false.
func defaultedAttributes() map[string]schema.Attribute {
	all := attributes()
	all["deletion_protection"] = schema.BoolAttribute{Optional: true, Computed: true,
		Default: booldefault.StaticBool(false)}
	return all
}

// defaulted returns the short path for defaultedAttributes.
func defaulted(t *testing.T, h *hooks) *short {
	t.Helper()
	h.configure = func(r *thingResource) { r.Kind.Attributes = defaultedAttributes }
	return newShort(t, h)
}

func TestGeneratedConfigurationOmitsDefaults(t *testing.T) {
	t.Parallel()
	described := schema.Schema{Attributes: map[string]schema.Attribute{
		"flag":   schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false)},
		"text":   schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("a")},
		"number": schema.Int64Attribute{Optional: true, Computed: true, Default: int64default.StaticInt64(3)},
		"plain":  schema.BoolAttribute{Optional: true}, "word": schema.StringAttribute{Optional: true},
		"count": schema.Int64Attribute{Optional: true},
		"items": schema.ListAttribute{Optional: true, ElementType: types.StringType},
	}}
	typ, _ := described.Type().TerraformType(t.Context()).(tftypes.Object)
	given := func(flag bool, text string, number int) tftypes.Value {
		return tftypes.NewValue(typ, map[string]tftypes.Value{
			"flag": tftypes.NewValue(tftypes.Bool, flag), "plain": tftypes.NewValue(tftypes.Bool, false),
			"text": tftypes.NewValue(tftypes.String, text), "word": tftypes.NewValue(tftypes.String, "a"),
			"number": tftypes.NewValue(tftypes.Number, number), "count": tftypes.NewValue(tftypes.Number, 3),
			"items": tftypes.NewValue(typ.AttributeTypes["items"],
				[]tftypes.Value{tftypes.NewValue(tftypes.String, "a")}),
		})
	}
	for name, c := range map[string]struct {
		state tftypes.Value
		null  map[string]bool
	}{
		"defaults":     {given(false, "a", 3), map[string]bool{"flag": true, "text": true, "number": true}},
		"other values": {given(true, "b", 4), map[string]bool{}},
	} {
		r := &thingResource{Kind: lifecycle.Kind{
			Attributes: func() map[string]schema.Attribute { return described.Attributes }}}
		out, diags := r.WithoutDefaults(t.Context(), c.state)
		var attributes map[string]tftypes.Value
		if err := out.As(&attributes); err != nil || len(diags) > 0 {
			t.Fatal(err, diags)
		}
		null := map[string]bool{}
		for attribute, value := range attributes {
			if value.IsNull() {
				null[attribute] = true
			}
		}
		if !maps.Equal(null, c.null) {
			t.Errorf("%s: omitted %v, want %v", name, null, c.null)
		}
	}
}

func TestGeneratedConfigurationIsThatOfTheHooks(t *testing.T) {
	t.Parallel()
	r := &thingResource{Kind: lifecycle.Kind{Attributes: defaultedAttributes}, Hooks: &hooks{generate: func(m *model) {
		lifecycle.Omit(&m.Size, "1")
		lifecycle.Omit(&m.Name, "1")
	}}}
	described := schema.Schema{Attributes: defaultedAttributes()}
	typ, _ := described.Type().TerraformType(t.Context()).(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, of := range typ.AttributeTypes {
		values[name] = tftypes.NewValue(of, nil)
	}
	values["name"], values["size"] = tftypes.NewValue(tftypes.String, "x"), tftypes.NewValue(tftypes.String, "1")
	out, diags := r.WithoutDefaults(t.Context(), tftypes.NewValue(typ, values))
	var attributes map[string]tftypes.Value
	if err := out.As(&attributes); err != nil || len(diags) > 0 || !attributes["size"].IsNull() ||
		attributes["name"].IsNull() {
		t.Errorf("%v, %v, %v", attributes, err, diags)
	}
	r.Hooks = &hooks{generate: func(m *model) {
		m.Manifests = types.MapNull(types.BoolType)
	}}
	before := tftypes.NewValue(typ, values)
	if out, diags := r.WithoutDefaults(t.Context(), before); !diags.HasError() || !out.Equal(before) {
		t.Errorf("a value of another type: %v, %v", out, diags)
	}
	other := schema.Schema{Attributes: map[string]schema.Attribute{"other": schema.BoolAttribute{Optional: true}}}
	r.Kind.Attributes = func() map[string]schema.Attribute { return other.Attributes }
	object := tftypes.NewValue(other.Type().TerraformType(t.Context()), map[string]tftypes.Value{
		"other": tftypes.NewValue(tftypes.Bool, true)})
	if out, diags := r.WithoutDefaults(t.Context(), object); !diags.HasError() || !out.Equal(object) {
		t.Errorf("a state of another schema: %v, %v", out, diags)
	}
}

func TestTimeoutsHaveDescriptionsAndValidators(t *testing.T) {
	t.Parallel()
	described := lifecycle.TimeoutsAttribute("for create", "for update", "for delete")
	attribute, ok := described.(schema.SingleNestedAttribute)
	if !ok || len(attribute.Attributes) != 3 || !attribute.Optional {
		t.Fatalf("%v", attribute)
	}
	for name, one := range attribute.Attributes {
		text, _ := one.(schema.StringAttribute)
		if text.MarkdownDescription != "for "+name || len(text.Validators) != 1 || !text.Optional {
			t.Errorf("%s: %+v", name, text)
		}
	}
	if !strings.Contains(attribute.MarkdownDescription, "Timeouts") {
		t.Errorf("%s", attribute.MarkdownDescription)
	}
}
