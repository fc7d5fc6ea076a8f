package compute

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// converter converts values between Terraform and the renderer, and collects the diagnostics.
type converter struct {
	tf.Converter

	manifest     map[string]any // the last result of decodeManifest
	manifestText tf.Document
}

func newConverter(ctx context.Context) *converter {
	return &converter{Converter: tf.Converter{Context: ctx, Invalid: invalidAttribute}}
}

// invalidAttribute reports a value in a collection at the attribute, because rules about items are rules about it.
func invalidAttribute(at path.Path, _ string, err error) diag.Diagnostic {
	attribute, name := path.Empty(), ""
	for _, step := range at.Steps() {
		named, ok := step.(path.PathStepAttributeName)
		if !ok {
			break
		}
		name = string(named)
		attribute = attribute.AtName(name)
	}
	return diag.NewAttributeErrorDiagnostic(attribute, "Invalid "+name, err.Error())
}

// invalid reports an attribute that cannot be converted, unless err is nil.
func (c *converter) invalid(attribute string, err error) {
	if err != nil {
		c.Diags.Append(invalidAttribute(path.Root(attribute), "", err))
	}
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

// memberOf returns an attribute of an object, or its zero value if the object is null.
func memberOf[A attr.Value](object types.Object, name string) A {
	value, _ := object.Attributes()[name].(A)
	return value
}
