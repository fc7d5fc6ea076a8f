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
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// content contains the values of a source, as far as they are known.
type content struct {
	data map[string][]byte
	// unknownKeys are keys whose values are unknown.
	unknownKeys []string
	// unknown is true if the keys are unknown, too.
	unknown bool
	// sourceDir is the directory where a file source is mounted, as returned by spec.SourceDir; otherwise "".
	sourceDir string
	// kept is true if no source is configured, since lifecycle.ignore_changes contains values_wo: the values stay.
	kept bool
	// external is true if the values are from files or environment variables. Terraform does not track these, and
	// they can change between a plan and its apply.
	external bool
	// attribute is the attribute of the source, for error messages.
	attribute string
}

// keys returns all keys, sorted.
func (c content) keys() []string {
	return slices.Sorted(slices.Values(slices.Concat(c.unknownKeys, slices.Collect(maps.Keys(c.data)))))
}

func (c content) known() bool { return !c.unknown && len(c.unknownKeys) == 0 }

// gather reads the source of a configuration. Except for values_wo, it uses only attributes that are also in a plan.
func gather(config *model, local *localSource) (content, diag.Diagnostics) {
	var diags diag.Diagnostics
	var out content
	const unreadable = "Cannot read the source of the secret"
	fail := func(attribute string, err error) {
		diags.AddAttributeError(path.Root(attribute), unreadable, attribute+": "+err.Error()+".")
	}
	names, namesKnown := fileNames(config.Filenames)
	switch {
	case !config.ValuesWO.IsNull():
		out = configuredValues(config.ValuesWO)
		out.attribute = "values_wo"
	case !config.Values.IsNull():
		out = configuredValues(config.Values)
		out.attribute = "values"
	case config.ProviderName.IsNull() && config.Path.IsNull() && config.FromEnv.IsNull():
		out = content{unknown: true, kept: true}
	case local == nil, !namesKnown, anyUnknown(config.ProviderName, config.Path, config.FromEnv, config.MountPath):
		out = content{unknown: true}
	case !config.ProviderName.IsNull():
		p, _ := spec.ProviderNamed(config.ProviderName.ValueString())
		var err error
		if out, err = local.provider(p, config, names); err != nil {
			fail("provider_name", err)
		}
		out.attribute = "provider_name"
	case !config.Path.IsNull():
		dir, err := local.read(config.Path.ValueString(), names, nil)
		if err == nil {
			out, err = local.mountedFiles(dir, config)
		}
		if err != nil {
			fail("path", err)
		}
		out.attribute = "path"
	default:
		var err error
		if out.data, err = local.variables(tf.Texts(config.FromEnv)); err != nil {
			// With a path, Terraform would print the line, which may contain a value by mistake.
			diags.AddError(unreadable, "from_env: "+err.Error()+".")
		}
		out.attribute, out.external = "from_env", true
	}
	if err := spec.CheckSize(out.data); err != nil && !diags.HasError() {
		diags.AddError("The secret is too large", out.attribute+": "+err.Error()+".")
	}
	return out, diags
}

// provider reads the credentials of a provider from its files, or otherwise from its environment variables.
func (s *localSource) provider(p spec.Provider, config *model, names []string) (content, error) {
	dir := p.Dir
	if !config.Path.IsNull() || !config.FromEnv.IsNull() {
		dir = config.Path.ValueString() // path and from_env replace the usual locations
	}
	variables := tf.Texts(config.FromEnv)
	if dir == p.Dir && config.FromEnv.IsNull() {
		for _, name := range p.EnvVars {
			variables[name] = name
		}
	}
	var searched []string
	if dir != "" {
		read, err := s.read(dir, names, p.Files)
		if err == nil {
			return s.variableOrFiles(read, p, config)
		}
		if !errors.Is(err, errNoFiles) {
			return content{}, err
		}
		searched = append(searched, fmt.Sprintf("the files %s in %s", strings.Join(p.Files, " and "), dir))
	}
	if len(variables) > 0 {
		data, err := s.variables(variables)
		if err == nil {
			return content{data: data, external: true}, nil
		}
		searched = append(searched, "the environment variables of the keys "+
			strings.Join(slices.Sorted(maps.Keys(variables)), " and "))
	}
	return content{}, fmt.Errorf("no credentials of %s exist on the machine that runs Terraform. Searched for: %s",
		config.ProviderName.ValueString(), strings.Join(searched, "; "))
}

// variableOrFiles returns an environment variable for a single file if the tools of the provider accept its content as
// a variable, and if mount_path is not set. Otherwise it returns the files.
func (s *localSource) variableOrFiles(dir directory, p spec.Provider, config *model) (content, error) {
	if p.FileKey == "" || len(dir.files) != 1 || !config.MountPath.IsNull() {
		return s.mountedFiles(dir, config)
	}
	for _, file := range dir.files {
		return content{data: map[string][]byte{p.FileKey: bytes.TrimSpace(file)}, external: true}, nil
	}
	return content{}, errNoFiles
}

// mountedFiles returns the files by key, and where they are mounted unless mount_path is set.
func (s *localSource) mountedFiles(dir directory, config *model) (content, error) {
	keys, err := spec.Keys(slices.Sorted(maps.Keys(dir.files)))
	if err != nil {
		return content{}, err
	}
	out := content{data: map[string][]byte{}, external: true}
	for key, file := range keys {
		out.data[key] = dir.files[file]
	}
	if config.MountPath.IsNull() {
		out.sourceDir, err = spec.SourceDir(dir.path, s.home)
	}
	return out, err
}

// configuredValues returns the values in the configuration.
func configuredValues(values types.Map) content {
	out := content{data: map[string][]byte{}, unknown: values.IsUnknown()}
	for key, element := range values.Elements() {
		if value, ok := element.(types.String); ok && !value.IsUnknown() {
			out.data[key] = []byte(value.ValueString())
		} else {
			out.unknownKeys = append(out.unknownKeys, key)
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
