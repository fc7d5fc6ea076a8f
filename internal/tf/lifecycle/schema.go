package lifecycle

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// WithCommon adds the attributes that resources describe in the same words to those of a resource, including those of
// [WithSensitiveFields]. noun names the resource, objects what manifests contains, and example is a path of a field.
func WithCommon(resource map[string]schema.Attribute, noun, objects, example string) map[string]schema.Attribute {
	all := map[string]schema.Attribute{
		"labels":      tf.LabelsAttribute(objects),
		"annotations": tf.AnnotationsAttribute(objects),
		"deletion_protection": tf.Toggle("Whether to prevent the deletion and replacement of the " + noun +
			", until this is set to `false` and applied. Defaults to `false`."),
		"id":  tf.ComputedString("ID of the " + noun + ", as `namespace/name`."),
		"uid": tf.ComputedString("UID of " + objects + "."),
	}
	maps.Copy(all, resource)
	return WithSensitiveFields(all, objects, example)
}
