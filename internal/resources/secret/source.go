package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
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
func gather(ctx context.Context, config *model, local *localSource) (content, diag.Diagnostics) {
	var names []string
	tf.NewConverter(ctx).Decode(path.Root("filenames"), config.Filenames, &names)
	var out content
	var err error
	switch {
	case !config.ValuesWO.IsNull():
		out = configuredValues("values_wo", config.ValuesWO)
	case !config.Values.IsNull():
		out = configuredValues("values", config.Values)
	case config.ProviderName.IsNull() && config.Path.IsNull() && config.FromEnv.IsNull():
		out = content{unknown: true, kept: true}
	case local == nil, !tf.FullyKnown(ctx, config.ProviderName, config.Path, config.Filenames, config.FromEnv,
		config.MountPath):
		out = content{unknown: true}
	case !config.ProviderName.IsNull():
		out, err = local.provider(config, names)
		out.attribute = "provider_name"
	case !config.Path.IsNull():
		var dir directory
		if dir, err = local.read(config.Path.ValueString(), names, nil); err == nil {
			out, err = local.mountedFiles(dir, config)
		}
		out.attribute = "path"
	default:
		out.data, err = local.variables(tf.Texts(config.FromEnv))
		out.attribute, out.external = "from_env", true
	}
	sizes := kind.EachValue(out.data, func(value []byte) int { return len(value) })
	var diags diag.Diagnostics
	const unreadable = "Cannot read the source of the secret"
	switch tooLarge := spec.CheckSize(sizes); {
	case err != nil && out.attribute == "from_env":
		// With a path, Terraform would print the line, which may contain a value by mistake.
		diags.AddError(unreadable, "from_env: "+err.Error()+".")
	case err != nil:
		diags.AddAttributeError(path.Root(out.attribute), unreadable, out.attribute+": "+err.Error()+".")
	case tooLarge != nil:
		diags.AddError("The secret is too large", out.attribute+": "+tooLarge.Error()+".")
	}
	return out, diags
}

// provider reads the credentials of a provider from its files, or otherwise from its environment variables.
func (s *localSource) provider(config *model, names []string) (content, error) {
	p, _ := spec.ProviderNamed(config.ProviderName.ValueString())
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
	for _, file := range dir.files {
		if p.FileKey != "" && len(dir.files) == 1 && config.MountPath.IsNull() {
			return content{data: map[string][]byte{p.FileKey: bytes.TrimSpace(file)}, external: true}, nil
		}
	}
	return s.mountedFiles(dir, config)
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

// configuredValues returns the values of an attribute of the configuration.
func configuredValues(attribute string, values types.Map) content {
	out := content{data: map[string][]byte{}, unknown: values.IsUnknown(), attribute: attribute}
	for key, element := range values.Elements() {
		if value, ok := element.(types.String); ok && !value.IsUnknown() {
			out.data[key] = []byte(value.ValueString())
		} else {
			out.unknownKeys = append(out.unknownKeys, key)
		}
	}
	return out
}
