package tf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	tfpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// ServiceName requires an RFC 1035 label of at most 63 characters: what a
// Kubernetes Service may be called.
func ServiceName() validator.String {
	return name("an RFC 1035 label: at most 63 lower-case letters, digits and dashes, a letter first and no dash last, such as llm-train", validation.IsDNS1035Label)
}

// NamespaceName requires the name of a namespace, an RFC 1123 label.
func NamespaceName() validator.String {
	return name("the name of a namespace: at most 63 lower-case letters, digits and dashes, no dash first or last, such as ml-team", validation.IsDNS1123Label)
}

// ObjectName requires an RFC 1123 subdomain: what most Kubernetes objects may be called.
func ObjectName() validator.String {
	return name("the name of a Kubernetes object: at most 253 lower-case letters, digits, dashes and dots, a letter or digit first and last", validation.IsDNS1123Subdomain)
}

// LabelKey requires a label or annotation key: an optional prefix and a name.
func LabelKey() validator.String {
	return form("Invalid key", "the key of a label or annotation: at most 63 letters, digits, dashes, underscores and dots, a letter or digit first and last, "+
		"after a domain and a slash or alone, such as example.com/team or team", validation.IsQualifiedName)
}

// LabelValue requires a label value.
func LabelValue() validator.String {
	return form("Invalid label value", "the value of a label: at most 63 letters, digits, dashes, underscores and dots, a letter or digit first and last", validation.IsValidLabelValue)
}

// Labels requires a map of labels.
func Labels() []validator.Map {
	return []validator.Map{NoNulls(), mapvalidator.KeysAre(LabelKey()), mapvalidator.ValueStringsAre(LabelValue())}
}

// EnvVarName requires the name of an environment variable as Kubernetes takes it.
func EnvVarName() validator.String {
	return form("Invalid environment variable name", "the name of an environment variable: letters, digits, underscores, dashes and dots, no digit first, such as HF_TOKEN", validation.IsEnvVarName)
}

// AbsolutePath requires a clean absolute path inside of the container.
func AbsolutePath() validator.String {
	return check("an absolute path, such as /data", "Invalid path", absolutePath)
}

// MountPath requires an absolute path in the container that something can be
// mounted at.
func MountPath() validator.String {
	return check("an absolute path below /, such as /data", "Invalid path", func(s string) error {
		switch err := absolutePath(s); {
		case err != nil:
			return err
		case s == "/":
			return errors.New("is /, where a mount would hide the whole image: give a folder below it, such as /data")
		case strings.Contains(s, ":"):
			return fmt.Errorf("is %s, but Kubernetes takes no colon in a mount path: give another path", quoted(s))
		}
		return nil
	})
}

// FileMode requires permission bits as four octal digits.
func FileMode() validator.String {
	return check("four octal digits from 0000 to 0777, such as 0400", "Invalid file mode", func(s string) error {
		_, err := manifest.ParseFileMode(s)
		return err
	})
}

func absolutePath(s string) error {
	clean := path.Clean(s)
	switch {
	case s == "":
		return errors.New("is empty: give an absolute path, such as /data, or leave the attribute out")
	case strings.TrimSpace(s) != s:
		return fmt.Errorf("is %s: remove the blanks around the path", quoted(s))
	case !path.IsAbs(s):
		return fmt.Errorf("is %s, a relative path: give an absolute one, such as %s", quoted(s), quoted(path.Clean("/"+s)))
	case clean != s && (clean == "/" || clean+"/" != s):
		return fmt.Errorf("is %s, which is not a clean path: write %s", quoted(s), quoted(clean))
	}
	return nil
}

// Timeout requires a length of time that is more than zero, as
// terraform-plugin-framework-timeouts reads it.
func Timeout() validator.String {
	return check("a duration such as 20m or 1h30m", "Invalid timeout", func(s string) error {
		switch timeout, err := time.ParseDuration(s); {
		case err != nil:
			return fmt.Errorf(`is %s, which is not a duration: give numbers with units (h, m, s), as in "20m" or "1h30m"`, quoted(s))
		case timeout <= 0:
			return fmt.Errorf(`is %s, but must be more than zero: give a duration such as "20m", or leave it out`, quoted(s))
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

// ImageReference requires what the kubelet can read as an image reference; it
// uses the same parser. Whether there is such an image is the registry's to say.
func ImageReference() validator.String {
	return check("a container image, such as nvcr.io/nvidia/pytorch:23.12-py3", "Invalid image", func(s string) error {
		if strings.TrimSpace(s) == "" {
			return errors.New("is empty: give an image, such as nvcr.io/nvidia/pytorch:23.12-py3, or leave the attribute out")
		}
		if _, err := reference.ParseNormalizedNamed(s); err != nil {
			return fmt.Errorf("is %s, which is no image reference (%w): give registry/repository:tag or …@sha256:digest, the repository in lower case and without blanks", quoted(s), err)
		}
		return nil
	})
}

// EndpointURL requires the address of an HTTP server, as Kubetorch takes it:
// with or without its scheme.
func EndpointURL() validator.String {
	const example = "http://my-service.my-namespace.svc.cluster.local:8080"
	return check("an address such as "+example, "Invalid URL", func(s string) error {
		address := s
		if !strings.Contains(s, "://") {
			address = "http://" + s
		}
		u, err := url.Parse(address)
		switch {
		case s == "":
			return fmt.Errorf("is empty: give an address, such as %s", example)
		case err != nil || u.Hostname() == "" || strings.ContainsAny(s, " \t\r\n"):
			return fmt.Errorf("is %s, which is not a URL with a host: give an address, such as %s", quoted(s), example)
		case u.Scheme != "http" && u.Scheme != "https":
			return fmt.Errorf("is %s, but calls are made by HTTP: begin it with http:// or https://", quoted(s))
		}
		return nil
	})
}

// FieldPath requires the path of a field, with dots: spec.template.
func FieldPath() validator.String {
	return check("the path of a field, such as spec.template", "Invalid field path", func(s string) error {
		if s == "" || slices.Contains(strings.Split(s, "."), "") {
			return fmt.Errorf("is %s, which is no path of a field: give its names with dots between, such as spec.jobTemplate.spec.template", quoted(s))
		}
		return nil
	})
}

// JSONObject requires a JSON object where there is JSON at all: what is none is
// for the type of the attribute to report.
func JSONObject() validator.String {
	return check("a JSON object", "Invalid JSON", func(s string) error {
		if !json.Valid([]byte(s)) {
			return nil
		}
		var content any
		if err := json.Unmarshal([]byte(s), &content); err != nil {
			return fmt.Errorf("holds JSON that cannot be read: %w", err) // a number out of range
		}
		switch content.(type) {
		case nil, map[string]any: // null merges nothing
			return nil
		}
		return fmt.Errorf("holds %s as JSON, but must hold an object: give it as jsonencode({ spec = { … } })", kindOf(content))
	})
}

func kindOf(content any) string {
	switch content.(type) {
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}

// name requires a lower-case name by one of Kubernetes' rules.
func name(what string, broken func(string) []string) validator.String {
	return check(what, "Invalid name", func(s string) error {
		switch other := similarName(s); {
		case len(broken(s)) == 0:
			return nil
		case s == "":
			return fmt.Errorf("is empty: give %s", what)
		case len(broken(other)) == 0:
			return fmt.Errorf("is %s, but must be %s. Did you mean %q?", quoted(s), what, other)
		default:
			return fmt.Errorf("is %s, but must be %s", quoted(s), what)
		}
	})
}

// similarName is a name with what names never have replaced.
func similarName(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '_' || r == ' ' || r == '.' || r == '/' {
			return '-'
		}
		return r
	}, strings.ToLower(s)), "-")
}

// form requires a text by one of Kubernetes' rules.
func form(summary, what string, broken func(string) []string) validator.String {
	return check(what, summary, func(s string) error {
		switch {
		case len(broken(s)) == 0:
			return nil
		case s == "":
			return fmt.Errorf("is empty: give %s", what)
		default:
			return fmt.Errorf("is %s, but must be %s", quoted(s), what)
		}
	})
}

// quoted is a text that somebody gave, no longer than fits into a message.
func quoted(s string) string {
	const longest = 100
	if len(s) <= longest {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%.*q… (%d bytes)", longest, s, len(s))
}

// sentence is what is wrong with a value, with the attribute as its subject. A
// validator of the keys of a map sees each at the path of its value.
func sentence(at tfpath.Path, value string, problem error) string {
	subject := at.String()
	if last, _ := at.Steps().LastStep(); last.Equal(tfpath.PathStepElementKeyString(value)) {
		subject = "a key of " + at.ParentPath().String()
	}
	text := subject + " " + problem.Error()
	if !strings.HasSuffix(text, "?") {
		text += "."
	}
	return text
}

// check makes a validator of a function whose errors are sentences without
// their subject ("is empty: …"); the attribute is that.
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
		resp.Diagnostics.AddAttributeError(req.Path, c.summary, sentence(req.Path, req.ConfigValue.ValueString(), err))
	}
}
