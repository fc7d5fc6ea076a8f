package core

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
)

// proposed returns the value that Terraform proposes: the configuration, with the prior values of computed attributes
// that it does not set. See "Planned state" in Terraform's docs/resource-instance-change-lifecycle.md.
func proposed(attributes []*tfprotov6.SchemaAttribute, prior, config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	values := map[string]cty.Value{}
	for _, a := range attributes {
		now := config.GetAttr(a.Name)
		before := cty.NullVal(now.Type())
		if !prior.IsNull() {
			before = prior.GetAttr(a.Name)
		}
		switch {
		case a.Computed && now.IsNull():
			values[a.Name] = before
		case a.NestedType != nil:
			values[a.Name] = proposedNested(a.NestedType, before, now)
		default:
			values[a.Name] = now
		}
	}
	return cty.ObjectVal(values)
}

// proposedNested pairs the objects of a nested attribute by index or key.
func proposedNested(object *tfprotov6.SchemaObject, prior, config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	if object.Nesting == tfprotov6.SchemaObjectNestingModeSingle {
		return proposed(object.Attributes, prior, config)
	}
	if config.LengthInt() == 0 {
		return config
	}
	element := func(key, v cty.Value) cty.Value {
		before := cty.NullVal(v.Type())
		if !prior.IsNull() && prior.IsKnown() && prior.HasIndex(key).True() {
			before = prior.Index(key)
		}
		return proposed(object.Attributes, before, v)
	}
	if config.Type().IsMapType() {
		values := map[string]cty.Value{}
		for key, v := range config.AsValueMap() {
			values[key] = element(cty.StringVal(key), v)
		}
		return cty.MapVal(values)
	}
	var values []cty.Value
	for i, v := range config.AsValueSlice() {
		values = append(values, element(cty.NumberIntVal(int64(i)), v))
	}
	return cty.ListVal(values)
}

// checkPlanned returns an error if Terraform would reject the plan: an attribute of the configuration must have its
// configured or its prior value, and what the configuration does not set must be null or computed. An unknown value
// must stay unknown. See AssertPlanValid in internal/plans/objchange/plan_valid.go of Terraform.
func checkPlanned(attributes []*tfprotov6.SchemaAttribute, prior, config, planned cty.Value) error {
	if planned.IsNull() {
		return fmt.Errorf("the planned value is null")
	}
	for _, a := range attributes {
		now, then := config.GetAttr(a.Name), planned.GetAttr(a.Name)
		before := cty.NullVal(now.Type())
		if !prior.IsNull() {
			before = prior.GetAttr(a.Name)
		}
		if err := checkAttribute(a, before, now, then); err != nil {
			return err
		}
	}
	return nil
}

func checkAttribute(a *tfprotov6.SchemaAttribute, before, now, then cty.Value) error {
	switch {
	case a.WriteOnly:
		if !then.IsNull() {
			return fmt.Errorf("the write-only attribute %s is planned", a.Name)
		}
		return nil
	case now.RawEquals(then), !now.IsNull() && !before.IsNull() && then.RawEquals(before), a.Computed && now.IsNull():
		return nil
	case a.NestedType != nil && now.IsKnown() && !now.IsNull() && then.IsKnown() && !then.IsNull():
		return checkNested(a, before, now, then)
	}
	return fmt.Errorf("%s: planned %#v, configured %#v, prior %#v", a.Name, then, now, before)
}

func checkNested(a *tfprotov6.SchemaAttribute, before, now, then cty.Value) error {
	if a.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeSingle {
		return checkPlanned(a.NestedType.Attributes, before, now, then)
	}
	if now.LengthInt() != then.LengthInt() {
		return fmt.Errorf("%s: planned %d elements, configured %d", a.Name, then.LengthInt(), now.LengthInt())
	}
	for it := now.ElementIterator(); it.Next(); {
		key, v := it.Element()
		if then.HasIndex(key).False() {
			return fmt.Errorf("%s: element %#v is not planned", a.Name, key)
		}
		prior := cty.NullVal(v.Type())
		if !before.IsNull() && before.IsKnown() && before.HasIndex(key).True() {
			prior = before.Index(key)
		}
		if err := checkPlanned(a.NestedType.Attributes, prior, v, then.Index(key)); err != nil {
			return err
		}
	}
	return nil
}

// unrefined returns a value without what is known about its unknown parts, such as the first character of JSON.
// Providers need not preserve that.
func unrefined(v cty.Value) cty.Value {
	out, _ := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) { // the function returns no error
		if !v.IsKnown() {
			return cty.UnknownVal(v.Type()), nil
		}
		return v, nil
	})
	return out
}

// compatible returns an error unless a value has every known part of a planned one. See AssertObjectCompatible in
// internal/plans/objchange/compatible.go of Terraform.
func compatible(planned, actual cty.Value) error {
	switch {
	case !planned.IsKnown():
		if fits := planned.Range().Includes(actual); fits.IsKnown() && fits.False() {
			return fmt.Errorf("planned %#v, but now %#v", planned, actual)
		}
		return nil
	case planned.IsNull() || actual.IsNull() || !actual.IsKnown() || !planned.CanIterateElements():
		if !planned.RawEquals(actual) {
			return fmt.Errorf("planned %#v, but now %#v", planned, actual)
		}
		return nil
	case !planned.Type().IsObjectType() && planned.LengthInt() != actual.LengthInt():
		return fmt.Errorf("planned %d elements, but now there are %d", planned.LengthInt(), actual.LengthInt())
	}
	for it := planned.ElementIterator(); it.Next(); {
		key, v := it.Element()
		var now cty.Value
		switch {
		case planned.Type().IsObjectType():
			now = actual.GetAttr(key.AsString())
		case actual.HasIndex(key).True():
			now = actual.Index(key)
		default:
			return fmt.Errorf("planned the element %#v, but it is gone", key)
		}
		if err := compatible(v, now); err != nil {
			return fmt.Errorf("%#v: %w", key, err)
		}
	}
	return nil
}

// changesAny reports whether values differ at one of the paths, as Terraform does for required replacements.
func changesAny(before, after cty.Value, paths []*tftypes.AttributePath) bool {
	for _, path := range paths {
		a, b := at(before, path), at(after, path)
		if !a.RawEquals(b) {
			return true
		}
	}
	return false
}

// at returns the value at a path, or the null value above it.
func at(v cty.Value, path *tftypes.AttributePath) cty.Value {
	for _, step := range path.Steps() {
		if v.IsNull() || !v.IsKnown() {
			return v
		}
		var key cty.Value
		switch step := step.(type) {
		case tftypes.AttributeName:
			v = v.GetAttr(string(step))
			continue
		case tftypes.ElementKeyString:
			key = cty.StringVal(string(step))
		case tftypes.ElementKeyInt:
			key = cty.NumberIntVal(int64(step))
		}
		if v.HasIndex(key).False() {
			return cty.NullVal(cty.DynamicPseudoType)
		}
		v = v.Index(key)
	}
	return v
}

// All is lifecycle.ignore_changes = all.
const All = "all"

// ignoring returns the configuration that Terraform plans: ignored attributes have their values in state.
func ignoring(before, config cty.Value, ignored []string) cty.Value {
	switch {
	case before.IsNull(), config.IsNull(), len(ignored) == 0:
		return config
	case slices.Contains(ignored, All):
		return before
	}
	values := config.AsValueMap()
	for _, name := range ignored {
		values[name] = before.GetAttr(name)
	}
	return cty.ObjectVal(values)
}
