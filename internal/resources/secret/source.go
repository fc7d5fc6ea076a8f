package secret

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
)

// content is what a source gives: the values, as far as they are known.
type content struct {
	data map[string][]byte
	// later are keys whose values are not known yet.
	later []string
	// open says that not even the keys are known yet.
	open bool
	// folder is where a file source is mounted, in the form of spec.Folder.
	folder string
	// outside says that the values come from files or variables, which Terraform
	// does not see: they may change between a plan and its apply.
	outside bool
	// at is the attribute to blame.
	at string
}

// keys are all keys, in order.
func (c content) keys() []string {
	return slices.Sorted(slices.Values(slices.Concat(c.later, slices.Collect(maps.Keys(c.data)))))
}

func (c content) known() bool { return !c.open && len(c.later) == 0 }

// gather reads the source that a configuration names. It asks nothing of
// Terraform that Terraform has in a plan as well, but for values_wo.
func gather(config *model, m *machine) (content, diag.Diagnostics) {
	var diags diag.Diagnostics
	var out content
	fail := func(attribute string, err error) {
		diags.AddAttributeError(path.Root(attribute), "The source of the secret cannot be read", attribute+": "+err.Error()+".")
	}
	names, namesKnown := fileNames(config.Filenames)
	switch {
	case !config.ValuesWO.IsNull():
		out = given(config.ValuesWO)
		out.at = "values_wo"
	case !config.Values.IsNull():
		out = given(config.Values)
		out.at = "values"
	case m == nil, !namesKnown, anyUnknown(config.ProviderName, config.Path, config.EnvVars, config.MountPath):
		out = content{open: true}
	case !config.ProviderName.IsNull():
		p, _ := spec.ProviderNamed(config.ProviderName.ValueString())
		var err error
		if out, err = m.provider(p, config, names); err != nil {
			fail("provider_name", err)
		}
		out.at = "provider_name"
	case !config.Path.IsNull():
		read, err := m.read(config.Path.ValueString(), names, nil)
		if err == nil {
			out, err = m.mounted(read, config)
		}
		if err != nil {
			fail("path", err)
		}
		out.at = "path"
	default:
		var err error
		if out.data, err = m.variables(texts(config.EnvVars)); err != nil {
			fail("env_vars", err)
		}
		out.at, out.outside = "env_vars", true
	}
	if err := spec.CheckSize(out.data); err != nil && !diags.HasError() {
		diags.AddError("The secret is too large", out.at+": "+err.Error()+".")
	}
	return out, diags
}

// provider finds the credentials of a provider: its files, else its variables.
func (m *machine) provider(p spec.Provider, config *model, names []string) (content, error) {
	place := p.Dir
	if !config.Path.IsNull() || !config.EnvVars.IsNull() {
		place = config.Path.ValueString() // these replace the usual places
	}
	variables := texts(config.EnvVars)
	if place == p.Dir && config.EnvVars.IsNull() {
		for _, name := range p.EnvVars {
			variables[name] = name
		}
	}
	var lookedFor []string
	if place != "" {
		read, err := m.read(place, names, p.Files)
		if err == nil {
			return m.exposed(read, p, config)
		}
		if !errors.Is(err, errNothingThere) {
			return content{}, err
		}
		lookedFor = append(lookedFor, fmt.Sprintf("in %s the files %s", place, strings.Join(p.Files, " and ")))
	}
	if len(variables) > 0 {
		data, err := m.variables(variables)
		if err == nil {
			return content{data: data, outside: true}, nil
		}
		lookedFor = append(lookedFor, "the environment variables "+strings.Join(slices.Sorted(maps.Values(variables)), " and "))
	}
	return content{}, fmt.Errorf("no credentials of %s are on the machine that runs Terraform. This was looked for: %s", config.ProviderName.ValueString(), strings.Join(lookedFor, "; "))
}

// exposed makes an environment variable of the one file that a provider's tools
// take as such, unless it is to be mounted; all others are mounted.
func (m *machine) exposed(read folder, p spec.Provider, config *model) (content, error) {
	if p.FileKey == "" || len(read.files) != 1 || !config.MountPath.IsNull() {
		return m.mounted(read, config)
	}
	for _, file := range read.files {
		return content{data: map[string][]byte{p.FileKey: bytes.TrimSpace(file)}, outside: true}, nil
	}
	return content{}, errNothingThere
}

// mounted makes keys of files.
func (m *machine) mounted(read folder, config *model) (content, error) {
	keys, err := spec.Keys(slices.Sorted(maps.Keys(read.files)))
	if err != nil {
		return content{}, err
	}
	out := content{data: map[string][]byte{}, outside: true}
	for key, file := range keys {
		out.data[key] = read.files[file]
	}
	if config.MountPath.IsNull() {
		out.folder, err = spec.Folder(read.dir, m.home)
	}
	return out, err
}

// given are values that stand in the configuration.
func given(values types.Map) content {
	out := content{data: map[string][]byte{}, open: values.IsUnknown()}
	for key, element := range values.Elements() {
		if value, ok := element.(types.String); ok && !value.IsUnknown() {
			out.data[key] = []byte(value.ValueString())
		} else {
			out.later = append(out.later, key)
		}
	}
	return out
}

func fileNames(list types.List) (names []string, known bool) {
	for _, element := range list.Elements() {
		name, _ := element.(types.String)
		if name.IsUnknown() {
			return nil, false
		}
		names = append(names, name.ValueString())
	}
	return names, !list.IsUnknown()
}

func anyUnknown(values ...attr.Value) bool {
	return slices.ContainsFunc(values, func(v attr.Value) bool {
		if m, ok := v.(types.Map); ok {
			for _, element := range m.Elements() {
				if element.IsUnknown() {
					return true
				}
			}
		}
		return v.IsUnknown()
	})
}
