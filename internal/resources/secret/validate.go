package secret

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	k8s "k8s.io/apimachinery/pkg/util/validation"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// Validate checks attributes that depend on each other, and those that contain values: values, values_wo, and by
// mistake from_env. It reports errors in them without a path, because with a path Terraform would print the line.
func (hooks) Validate(_ context.Context, m *model, rules lifecycle.Validation) diag.Diagnostics {
	v := validation{config: m}
	v.sources()
	v.dependencies()
	v.values("values", m.Values)
	v.values("values_wo", m.ValuesWO)
	v.variables()
	v.files()
	v.diags.Append(tf.RejectReserved("labels", m.Labels, spec.IsReservedLabel)...)
	v.diags.Append(tf.RejectReserved("annotations", m.Annotations, spec.IsReservedAnnotation)...)
	if !rules.WriteOnly && !m.ValuesWO.IsNull() {
		v.diags.AddError("values_wo requires a newer Terraform",
			"values_wo is a write-only attribute, which requires Terraform 1.11 or OpenTofu 1.11.\n\n"+
				"Next step: Upgrade, or use another source: provider_name, path or from_env, whose values are not in "+
				"state either; or values, which are.")
	} else if rules.WriteOnly && !m.Values.IsNull() {
		v.diags.AddWarning("The values of this secret are in state",
			"Anyone who can read the state or a saved plan can read values. values_wo accepts the same map, and "+
				"Terraform does not store it.")
	}
	return v.diags
}

type validation struct {
	config *model
	diags  diag.Diagnostics
}

// sources requires exactly one source. provider_name accepts path and from_env as other locations of the provider's
// credentials.
func (v *validation) sources() {
	m := v.config
	sources := map[string]attr.Value{"values_wo": m.ValuesWO, "values": m.Values, "provider_name": m.ProviderName,
		"path": m.Path, "from_env": m.FromEnv}
	set, unknown := tf.Given([]string{"values_wo", "values", "provider_name", "path", "from_env"},
		func(name string) attr.Value { return sources[name] })
	if len(set) == 0 && !unknown {
		v.diags.AddError("The secret has no source",
			"Next step: Set one of values_wo, provider_name, path, from_env and values.")
	}
	if len(set) < 2 || slices.Contains(set, "provider_name") && !slices.Contains(set, "values_wo") &&
		!slices.Contains(set, "values") {
		return
	}
	summary := "The secret has more than one source"
	detail := fmt.Sprintf("Only one of %s can be set. path and from_env can be set together with provider_name.",
		strings.Join(set, " and "))
	if last := set[len(set)-1]; last == "values" || last == "from_env" {
		v.diags.AddError(summary, detail)
	} else {
		v.diags.AddAttributeError(path.Root(last), summary, detail)
	}
}

// dependencies checks attributes that require another attribute.
func (v *validation) dependencies() {
	m := v.config
	if !m.ValuesWOVersion.IsNull() && m.ValuesWO.IsNull() {
		v.diags.AddAttributeError(path.Root("values_wo_version"), "values_wo is missing",
			"values_wo_version determines when values_wo is written again: set both, or neither.")
	}
	provider, known := spec.ProviderNamed(m.ProviderName.ValueString())
	if m.MountPath.IsNull() && m.Path.IsNull() && (m.ProviderName.IsNull() || known && provider.Dir == "") {
		v.diags.Append(refuseUnusedMode(m, "")...)
	}
	if m.Filenames.IsNull() || !m.Path.IsNull() {
		return
	}
	switch {
	case m.ProviderName.IsNull():
		v.diags.AddAttributeError(path.Root("filenames"), "path is missing",
			"filenames selects files in the directory path, or of a provider: set path or provider_name.")
	case known && provider.Dir == "":
		v.diags.AddAttributeError(path.Root("filenames"), "path is missing",
			fmt.Sprintf("%s has no usual files: set path to a directory.", m.ProviderName.ValueString()))
	}
}

// values checks a map of values, without quoting a value.
func (v *validation) values(name string, values types.Map) {
	if values.IsNull() || values.IsUnknown() {
		return
	}
	keys := slices.Sorted(maps.Keys(values.Elements()))
	if len(keys) == 0 {
		v.diags.AddError("The secret has no values", name+" is empty: set at least one key.")
	}
	sizes, valid := map[string]int{}, true
	for _, key := range keys {
		value, _ := values.Elements()[key].(types.String)
		if value.IsNull() {
			v.diags.AddError("Null value", fmt.Sprintf("%s[%q] is null: set a value, or remove the key.", name, key))
		}
		if err := spec.CheckKey(key); err != nil {
			v.diags.AddError("Invalid key", fmt.Sprintf("%s: %v.", name, err))
			valid = false
		}
		sizes[key] = len(value.ValueString())
	}
	if valid && v.config.MountPath.IsNull() {
		if err := spec.CheckEnvVars(keys); err != nil {
			v.diags.AddError("Invalid environment variable name", fmt.Sprintf("%s: %v.", name, err))
		}
	}
	if err := spec.CheckSize(sizes); err != nil {
		v.diags.AddError("The secret is too large", fmt.Sprintf("%s: %v.", name, err))
	}
}

// variables checks from_env. It never quotes a text, which may be a value by mistake. A name is as POSIX defines it:
// Kubernetes also allows dashes and dots, which many tokens contain.
func (v *validation) variables() {
	variables := v.config.FromEnv.Elements()
	for _, key := range slices.Sorted(maps.Keys(variables)) {
		err := spec.CheckKey(key)
		if err == nil && v.config.MountPath.IsNull() {
			err = spec.CheckEnvVars([]string{key})
		}
		if err != nil {
			v.diags.AddError("Invalid key", fmt.Sprintf("from_env: %v.", err))
		}
		switch name, _ := variables[key].(types.String); {
		case name.IsNull():
			v.diags.AddError("Null value", fmt.Sprintf("from_env[%q] is null: set a name, or remove the key.", key))
		case !name.IsUnknown() && len(k8s.IsCIdentifier(name.ValueString())) > 0:
			v.diags.AddError("Invalid environment variable name",
				fmt.Sprintf("from_env[%q] is not the name of an environment variable: letters, digits and "+
					"underscores that do not start with a digit, such as HF_TOKEN. For a value, use values_wo.", key))
		}
	}
}

// files checks filenames, and whether the path in the container can be determined.
func (v *validation) files() {
	var names []string
	for i, element := range v.config.Filenames.Elements() {
		at := path.Root("filenames").AtListIndex(i)
		name, _ := element.(types.String)
		switch text := name.ValueString(); {
		case name.IsNull(), name.IsUnknown():
		case text == "", strings.ContainsAny(text, `/\`):
			v.diags.AddAttributeError(at, "Invalid file name",
				fmt.Sprintf("%s is %q, but must be the name of a file in the directory, without slashes.", at, text))
		default:
			names = append(names, text)
		}
	}
	if _, err := spec.Keys(names); err != nil {
		v.diags.AddAttributeError(path.Root("filenames"), "Invalid file name", err.Error()+".")
	}
	if file := v.config.Path; !file.IsNull() && !file.IsUnknown() && v.config.MountPath.IsNull() &&
		v.config.ProviderName.IsNull() {
		if _, err := spec.SourceDir(file.ValueString(), ""); err != nil && !strings.HasPrefix(file.ValueString(), "/") {
			v.diags.AddAttributeError(path.Root("path"), "Unknown path in the container", "path: "+err.Error()+".")
		}
	}
}
