package lifecycle

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// Filter is the configuration of every list resource. A list resource may embed it, and add other filters.
type Filter struct {
	Namespace     types.String `tfsdk:"namespace"`
	AllNamespaces types.Bool   `tfsdk:"all_namespaces"`
	LabelSelector types.String `tfsdk:"label_selector"`
	Username      types.String `tfsdk:"username"`
	Managed       types.Bool   `tfsdk:"managed"`
}

// FilterSchema returns the schema of [Filter] with further attributes. noun is the plural of the listed resources.
func FilterSchema(noun string, others map[string]schema.Attribute) schema.Schema {
	all := map[string]schema.Attribute{
		"namespace": tf.OptionalText("Namespace of the "+noun+". Defaults to the namespace of the provider. Conflicts "+
			"with `all_namespaces`.", tf.NamespaceName()),
		"all_namespaces": tf.OptionalBool("Whether to list the " + noun + " of all namespaces. Defaults to `false`."),
		"label_selector": tf.OptionalText("Label selector, as of `kubectl get -l`, such as `team=ml,tier in (dev, "+
			"test)`. The API server evaluates it.", tf.LabelSelector()),
		"username": tf.OptionalText("User that created the object, as `username` of the provider: the value of the "+
			"label `kubetorch.com/username`.", tf.LabelValue()),
		"managed": tf.OptionalBool("`true` for objects that this provider manages, in any state; `false` for all " +
			"others. Defaults to both."),
	}
	maps.Copy(all, others)
	return schema.Schema{MarkdownDescription: "Lists " + noun + " for `terraform query`.", Attributes: all}
}

// validate reports filters that cannot be combined.
func (f Filter) validate() diag.Diagnostics {
	if f.AllNamespaces.ValueBool() && !f.Namespace.IsNull() {
		return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("namespace"),
			"`namespace` and `all_namespaces` cannot both be set", "With all_namespaces = true, every namespace is "+
				"listed, and the namespace would have no effect.\n\nNext step: Remove one of the two.")}
	}
	return nil
}

// selector returns the label selector of the filter together with a further one.
func (f Filter) selector(further string) string {
	all := []string{f.LabelSelector.ValueString(), further}
	if !f.Username.IsNull() {
		all = append(all, kind.UsernameLabel+"="+f.Username.ValueString())
	}
	return strings.Join(slices.DeleteFunc(all, func(selector string) bool { return selector == "" }), ",")
}
