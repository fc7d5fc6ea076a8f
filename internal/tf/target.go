package tf

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// Target identifies a compute. A model embeds it.
type Target struct {
	ID        types.String `tfsdk:"id"`
	Name      types.String `tfsdk:"name"`
	Namespace types.String `tfsdk:"namespace"`
}

// TargetAttributes returns the attributes of [Target]. text is [OptionalText], or [OptionalComputedText] if the
// provider sets those that are not configured. others are the names of attributes that can be set instead of the ID or
// the name.
func TargetAttributes(
	text func(description string, validators ...validator.String) schema.StringAttribute, others ...string,
) Attributes {
	names := append([]string{"id", "name"}, others...)
	exactlyOne := "Exactly one of `" + strings.Join(names[:len(names)-1], "`, `") + "` and `" + names[len(names)-1] +
		"` must be set."
	expressions := kind.Each(names, path.MatchRoot)
	return Attributes{
		"id": text("Compute as `namespace/name`, which is the `id` of a `kt_compute`. "+exactlyOne+
			" Conflicts with `namespace`.",
			stringvalidator.RegexMatches(
				regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`),
				"must be namespace/name, such as ml/trainer"),
			stringvalidator.ConflictsWith(path.MatchRoot("namespace"))),
		"name": text("Name of the compute. "+exactlyOne, ObjectName(), stringvalidator.ExactlyOneOf(expressions...)),
		"namespace": text("Namespace of the object. Defaults to the namespace of the provider. Conflicts with `id`.",
			NamespaceName()),
	}
}

// At returns the path of the attribute that identifies the compute, before Resolve.
func (t *Target) At() path.Path {
	if t.ID.IsNull() {
		return path.Root("name")
	}
	return path.Root("id")
}

// Resolve sets the attributes that are not configured, and returns the path of the attribute that identifies the
// compute. Without an ID and a name, it sets only the namespace.
func (t *Target) Resolve(cluster *kube.Cluster) (path.Path, diag.Diagnostics) {
	at := t.At()
	if !t.ID.IsNull() {
		namespace, name, _ := strings.Cut(t.ID.ValueString(), "/") // validated
		t.Namespace, t.Name = types.StringValue(namespace), types.StringValue(name)
		return at, nil
	}
	if t.Namespace.IsNull() {
		namespace, err := cluster.Namespace()
		if err != nil {
			return at, diag.Diagnostics{diag.WithPath(path.Root("namespace"), Failure(err))}
		}
		t.Namespace = types.StringValue(namespace)
	}
	if !t.Name.IsNull() {
		t.ID = types.StringValue(t.Namespace.ValueString() + "/" + t.Name.ValueString())
	}
	return at, nil
}
