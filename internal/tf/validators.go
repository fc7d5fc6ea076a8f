package tf

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// ServiceName requires an RFC 1035 label of at most 63 characters: what a
// Kubernetes Service may be called.
func ServiceName() validator.String {
	return check("a lower-case RFC 1035 label, at most 63 characters, such as llm-train", "Invalid name", func(s string) error {
		return rules(s, validation.IsDNS1035Label(s))
	})
}

// NamespaceName requires the name of a namespace, an RFC 1123 label.
func NamespaceName() validator.String {
	return check("a lower-case RFC 1123 label, such as ml-team", "Invalid namespace", func(s string) error {
		return rules(s, validation.IsDNS1123Label(s))
	})
}

// ObjectName requires an RFC 1123 subdomain: what most Kubernetes objects may be called.
func ObjectName() validator.String {
	return check("the name of a Kubernetes object", "Invalid name", func(s string) error {
		return rules(s, validation.IsDNS1123Subdomain(s))
	})
}

// LabelKey requires a label or annotation key: an optional prefix and a name.
func LabelKey() validator.String {
	return check("a label key, such as team or example.com/team", "Invalid key", func(s string) error {
		return rules(s, validation.IsQualifiedName(s))
	})
}

// LabelValue requires a label value.
func LabelValue() validator.String {
	return check("a label value, at most 63 characters", "Invalid label value", func(s string) error {
		return rules(s, validation.IsValidLabelValue(s))
	})
}

// EnvVarName requires the name of an environment variable as Kubernetes takes it.
func EnvVarName() validator.String {
	return check("the name of an environment variable", "Invalid environment variable name", func(s string) error {
		return rules(s, validation.IsEnvVarName(s))
	})
}

// AbsolutePath requires a clean absolute path inside of the container.
func AbsolutePath() validator.String {
	return check("an absolute path, such as /data", "Invalid path", func(s string) error {
		switch {
		case !path.IsAbs(s):
			return fmt.Errorf("%q is a relative path; it must start with /", s)
		case strings.Contains(s, ":"):
			return fmt.Errorf("%q has a colon, which Kubernetes does not take in a mount path", s)
		case path.Clean(s) != s && path.Clean(s)+"/" != s:
			return fmt.Errorf("%q is not a clean path; write %q", s, path.Clean(s))
		}
		return nil
	})
}

// GPUType requires a GPU product, or a node label as "key: value".
func GPUType() validator.String {
	return check("a GPU product such as L4, or any node label as \"key: value\"", "Invalid GPU type", func(s string) error {
		_, _, err := manifest.ParseGPUType(s)
		return err
	})
}

// ImageReference requires a container image reference without blanks. What else
// is wrong with a reference is the registry's to say.
func ImageReference() validator.String {
	return check("a container image, such as nvcr.io/nvidia/pytorch:23.12-py3", "Invalid image", func(s string) error {
		if s == "" || strings.ContainsAny(s, " \t\r\n") {
			return fmt.Errorf("%q is not an image reference; it may not be empty or have blanks", s)
		}
		return nil
	})
}

func rules(s string, broken []string) error {
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%q: %s", s, strings.Join(broken, "; "))
}

func check(description, summary string, f func(string) error) validator.String {
	return stringCheck{description: description, summary: summary, check: f}
}

type stringCheck struct {
	description, summary string
	check                func(string) error
}

func (c stringCheck) Description(context.Context) string         { return c.description }
func (c stringCheck) MarkdownDescription(context.Context) string { return c.description }

func (c stringCheck) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := c.check(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, c.summary, err.Error()+". It must be "+c.description+".")
	}
}
