package compute

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// converter converts values between Terraform and the renderer, and collects the diagnostics. Functions named decode…
// return values for the renderer, encode… for Terraform.
type converter struct {
	ctx   context.Context //nolint:containedctx // lives as long as one operation
	diags diag.Diagnostics

	manifest     map[string]any // the last result of decodeManifest
	manifestText tf.Document
}

// invalid reports an attribute that cannot be converted, unless err is nil.
func (c *converter) invalid(attribute string, err error) {
	if err != nil {
		c.diags.AddAttributeError(path.Root(attribute), "Invalid "+attribute, err.Error())
	}
}

func (c *converter) decodeQuantity(attribute string, text tf.Quantity) *resource.Quantity {
	if text.IsNull() {
		return nil
	}
	q, err := manifest.ParseQuantity(text.ValueString())
	c.invalid(attribute, err)
	return &q
}

func encodeQuantity(q *resource.Quantity) tf.Quantity {
	if q == nil {
		return tf.QuantityOf("")
	}
	return tf.QuantityOf(q.String())
}

func (c *converter) decodeQuantities(attribute string, texts types.Map) map[string]resource.Quantity {
	var out map[string]resource.Quantity
	for name, text := range c.decodeMap(texts) {
		q, err := manifest.ParseQuantity(text)
		c.invalid(attribute, err)
		if out == nil {
			out = map[string]resource.Quantity{}
		}
		out[name] = q
	}
	return out
}

func (c *converter) encodeQuantities(quantities map[string]resource.Quantity) types.Map {
	if len(quantities) == 0 {
		return types.MapNull(tf.QuantityType{})
	}
	elements := map[string]attr.Value{}
	for name, q := range quantities {
		elements[name] = encodeQuantity(&q)
	}
	out, diags := types.MapValue(tf.QuantityType{}, elements)
	c.diags.Append(diags...)
	return out
}

func (c *converter) decodeDuration(attribute string, text tf.Duration) *time.Duration {
	if text.IsNull() {
		return nil
	}
	d, err := manifest.ParseDuration(text.ValueString())
	c.invalid(attribute, err)
	return &d
}

func optionalDuration(d *time.Duration) tf.Duration {
	if d == nil {
		return tf.DurationOf("")
	}
	return encodeDuration(*d)
}

func encodeDuration(d time.Duration) tf.Duration { return tf.DurationOf(manifest.FormatDuration(d)) }

// decodeFileMode returns permission bits in the notation that the schema has validated; nil if not set.
func decodeFileMode(text types.String) *int32 {
	mode, err := manifest.ParseFileMode(text.ValueString())
	if err != nil {
		return nil
	}
	return &mode
}

// decodeManifest parses a manifest once, since the mode and the rendering of a plan use the same one.
func (c *converter) decodeManifest(text tf.Document) map[string]any {
	if text.IsNull() {
		return nil
	}
	if c.manifest == nil || !text.Equal(c.manifestText) {
		var err error
		if c.manifest, err = manifest.ParseDocument(text.ValueString()); err != nil {
			c.invalid("manifest", fmt.Errorf("manifest %w", err))
		}
		c.manifestText = text
	}
	return c.manifest
}

func decodeFieldPath(text types.String) []string {
	if text.IsNull() {
		return nil
	}
	return strings.Split(text.ValueString(), ".")
}

func (c *converter) decodeTemplate(text types.String) map[string]any {
	if text.IsNull() {
		return nil
	}
	var template map[string]any
	if err := json.Unmarshal([]byte(text.ValueString()), &template); err != nil {
		c.invalid("service_template", fmt.Errorf("it must be a JSON object: %w", err))
	}
	return template
}

func (c *converter) decodeMap(m types.Map) map[string]string {
	if m.IsNull() {
		return nil
	}
	out := map[string]string{}
	c.diags.Append(m.ElementsAs(c.ctx, &out, false)...)
	return out
}

// encodeMap returns null for an empty map.
func (c *converter) encodeMap(m map[string]string) types.Map {
	if len(m) == 0 {
		return types.MapNull(types.StringType)
	}
	out, diags := types.MapValueFrom(c.ctx, types.StringType, m)
	c.diags.Append(diags...)
	return out
}

// decodeTexts distinguishes an empty list, which the schema rejects, from null.
func (c *converter) decodeTexts(list types.List) []string {
	if list.IsNull() {
		return nil
	}
	var out []string
	c.diags.Append(list.ElementsAs(c.ctx, &out, false)...)
	return out
}

// decodeList returns nil for an empty list.
func decodeList[T, V any](c *converter, list types.List, decode func(*converter, T) V) []V {
	if list.IsNull() {
		return nil
	}
	var items []T
	c.diags.Append(list.ElementsAs(c.ctx, &items, false)...)
	var out []V
	for _, item := range items {
		out = append(out, decode(c, item))
	}
	return out
}

// encodeList returns null for an empty list.
func encodeList[T, V any](c *converter, element attr.Type, items []V, encode func(*converter, V) T) types.List {
	if len(items) == 0 {
		return types.ListNull(element)
	}
	out := make([]T, 0, len(items))
	for _, item := range items {
		out = append(out, encode(c, item))
	}
	list, diags := types.ListValueFrom(c.ctx, element, out)
	c.diags.Append(diags...)
	return list
}

// unconverted is the conversion of list items that are texts.
func unconverted(_ *converter, text string) string { return text }

// decodeObject returns the zero model for null.
func decodeObject[M any](c *converter, object types.Object) M {
	var m M
	if !object.IsNull() {
		c.diags.Append(tf.Object(c.ctx, object, &m)...)
	}
	return m
}

// setObject sets an attribute to the values of a model.
func (c *converter) setObject(attribute *types.Object, m any) {
	object, diags := types.ObjectValueFrom(c.ctx, attribute.AttributeTypes(c.ctx), m)
	c.diags.Append(diags...)
	*attribute = object
}

func textOrNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

func (c *converter) followMap(attribute *types.Map, before, after map[string]string) {
	tf.SetChangedEntries(attribute, before, after)
}
