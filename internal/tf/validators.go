package tf

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	tfpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/sensitive"
)

// ServiceName requires a valid name of a Kubernetes Service: an RFC 1035 label of at most 63 characters.
func ServiceName() validator.String {
	return name(manifest.ServiceNameRule, validation.IsDNS1035Label)
}

// ComputeName requires the name of a compute. Only with manifest_only, it may be that of any object.
func ComputeName() validator.String {
	return name(manifest.ServiceNameRule+", or the name of any object with manifest_only",
		validation.IsDNS1123Subdomain)
}

// NamespaceName requires the name of a namespace, an RFC 1123 label.
func NamespaceName() validator.String {
	return name("the name of a namespace: at most 63 lowercase letters, digits and dashes, without a dash at the "+
		"start or end, such as ml-team", validation.IsDNS1123Label)
}

// ObjectName requires an RFC 1123 subdomain, which is a valid name of most Kubernetes objects.
func ObjectName() validator.String {
	return name("the name of a Kubernetes object: at most 253 lowercase letters, digits, dashes and dots that "+
		"start and end with a letter or digit", validation.IsDNS1123Subdomain)
}

// LabelKey requires a label or annotation key: an optional prefix and a name.
func LabelKey() validator.String {
	return textRule("Invalid key", "the key of a label or annotation, optionally after a domain and a slash, such as "+
		"example.com/team or team. A key has at most 63 letters, digits, dashes, underscores and dots, and starts "+
		"and ends with a letter or digit", validation.IsQualifiedName)
}

// LabelValue requires a label value.
func LabelValue() validator.String {
	return textRule("Invalid label value", "the value of a label: at most 63 letters, digits, dashes, underscores and "+
		"dots that start and end with a letter or digit", validation.IsValidLabelValue)
}

// Labels requires a map of labels.
func Labels() []validator.Map {
	return []validator.Map{NoNulls(), mapvalidator.KeysAre(LabelKey()), mapvalidator.ValueStringsAre(LabelValue())}
}

// LabelSelector requires a label selector in the notation of kubectl.
func LabelSelector() validator.String {
	const example = "a label selector, such as team=ml,tier in (dev, test)"
	return check(example, "Invalid label selector", func(s string) error {
		if strings.TrimSpace(s) == "" {
			return errors.New("is empty: set a selector such as team=ml, or remove it")
		}
		if _, err := labels.Parse(s); err != nil {
			return fmt.Errorf("is %s, which is not a label selector: %w", quoted(s), err)
		}
		return nil
	})
}

// SensitivePath requires the path of a field, as in sensitive_fields.
func SensitivePath() validator.String {
	return check(`the path of a field, such as spec.template.spec.containers["main"].args[0]`, "Invalid path",
		func(s string) error {
			if _, err := sensitive.ParsePath(s); err != nil {
				return fmt.Errorf("is %w", err)
			}
			return nil
		})
}

// EnvVarName requires the name of an environment variable that Kubernetes accepts.
func EnvVarName() validator.String {
	return textRule("Invalid environment variable name", "the name of an environment variable: letters, digits, "+
		"underscores, dashes and dots that do not start with a digit, such as HF_TOKEN", validation.IsEnvVarName)
}

// SecretKey requires a key of a Secret.
func SecretKey() validator.String {
	return textRule("Invalid key of a Secret", "a key of a Secret: at most 253 letters, digits, dashes, underscores "+
		"and dots, such as token", validation.IsConfigMapKey)
}

// AbsolutePath requires a normalized absolute path in the container.
func AbsolutePath() validator.String {
	return check("an absolute path, such as /data", "Invalid path", absolutePath)
}

// MountPath requires an absolute path in the container at which a volume can be mounted.
func MountPath() validator.String {
	return check("an absolute path other than /, such as /data", "Invalid path", func(s string) error {
		switch err := absolutePath(s); {
		case err != nil:
			return err
		case s == "/":
			return errors.New("is /, where a mount would hide the image: use a directory, such as /data")
		case strings.Contains(s, ":"):
			return fmt.Errorf("is %s, but Kubernetes does not allow colons in mount paths: use another path", quoted(s))
		}
		return nil
	})
}

// URLPath requires the path of a URL, with an optional query.
func URLPath() validator.String {
	return check("the path of a URL, such as /health", "Invalid path", func(s string) error {
		u, err := url.ParseRequestURI(s)
		switch {
		case err != nil || u.Host != "" || !strings.HasPrefix(s, "/"):
			return fmt.Errorf("is %s: use the path of a URL that starts with a slash, such as /health", quoted(s))
		case strings.Contains(s, "#"):
			return fmt.Errorf("is %s: remove the fragment after #, which is never sent to a server", quoted(s))
		}
		return nil
	})
}

// FileMode requires permission bits as four octal digits.
func FileMode() validator.String {
	return check("four octal digits from 0000 to 0777, such as 0400", "Invalid file mode",
		parses(manifest.ParseFileMode))
}

func absolutePath(s string) error {
	clean := path.Clean(s)
	switch {
	case s == "":
		return errors.New("is empty: set an absolute path, such as /data, or remove the attribute")
	case strings.TrimSpace(s) != s:
		return fmt.Errorf("is %s: remove the spaces around the path", quoted(s))
	case !path.IsAbs(s):
		return fmt.Errorf("is %s, a relative path: use an absolute path, such as %s", quoted(s),
			quoted(path.Clean("/"+s)))
	case clean != s && (clean == "/" || clean+"/" != s):
		return fmt.Errorf("is %s, which is not a normalized path: use %s", quoted(s), quoted(clean))
	}
	return nil
}

// Timeout requires a duration above zero, in the notation of terraform-plugin-framework-timeouts.
func Timeout() validator.String {
	return check("a duration such as 20m or 1h30m", "Invalid timeout", func(s string) error {
		switch timeout, err := time.ParseDuration(s); {
		case err != nil:
			return fmt.Errorf(`is %s, which is not a duration: use numbers with units (h, m, s), as in "20m" or `+
				`"1h30m"`, quoted(s))
		case timeout <= 0:
			return fmt.Errorf(`is %s, but must be more than zero: use a duration such as "20m", or remove it`,
				quoted(s))
		}
		return nil
	})
}

// Bytes requires a quantity that is a whole number of bytes.
func Bytes() validator.String {
	return check("a number of bytes, such as 10Gi", "Invalid size", func(s string) error {
		if q, err := manifest.ParseQuantity(s); err == nil { // the type reports an error
			return manifest.CheckBytes(q)
		}
		return nil
	})
}

// ClaimSize requires the size of a claim, which is more than zero.
func ClaimSize() validator.String {
	return check("a size, such as 100Gi", "Invalid size", func(s string) error {
		if q, err := manifest.ParseQuantity(s); err == nil && q.IsZero() {
			return fmt.Errorf("is %s, but must be more than zero: set a size such as \"100Gi\"", quoted(s))
		}
		return nil
	})
}

// GPUType requires a GPU product, or a node label as "key: value".
func GPUType() validator.String {
	return check("a GPU product such as L4, or any node label as \"key: value\"", "Invalid GPU type",
		func(s string) error {
			_, err := manifest.ParseGPUType(s, "")
			return err
		})
}

// HostName requires a DNS name, whose first label may be a wildcard.
func HostName() validator.String {
	return textRule("Invalid host name", "a host name in lowercase, such as llm.example.com or *.example.com",
		func(s string) []string {
			if strings.HasPrefix(s, "*.") {
				return validation.IsWildcardDNS1123Subdomain(s)
			}
			return validation.IsDNS1123Subdomain(s)
		})
}

// PodCount requires a number of pods or a percentage, as in a PodDisruptionBudget.
func PodCount() validator.String {
	return check("a number of pods or a percentage, such as 1 or 50%", "Invalid number of pods", func(s string) error {
		digits, isPercentage := strings.CutSuffix(s, "%")
		number, err := strconv.ParseInt(digits, 10, 32)
		switch {
		case err != nil || number < 0 || digits != strconv.FormatInt(number, 10):
			return fmt.Errorf("is %s: use a number of pods or a percentage, such as 1 or 50%%", quoted(s))
		case isPercentage && number > 100:
			return fmt.Errorf("is %s: use at most 100%%", quoted(s))
		}
		return nil
	})
}

// Affinity requires the affinity of a pod as JSON.
func Affinity() validator.String {
	return check("an Affinity of Kubernetes as JSON", "Invalid affinity", func(s string) error {
		if !json.Valid([]byte(s)) {
			return nil // the type reports it
		}
		return parses(manifest.ParseAffinity)(s)
	})
}

// ImageReference requires an image reference that the kubelet can parse, with the
// same parser. It does not check that the image exists.
func ImageReference() validator.String {
	return check("a container image, such as nvcr.io/nvidia/pytorch:23.12-py3", "Invalid image", func(s string) error {
		if strings.TrimSpace(s) == "" {
			return errors.New("is empty: set an image, such as nvcr.io/nvidia/pytorch:23.12-py3, or remove the " +
				"attribute")
		}
		if _, err := reference.ParseNormalizedNamed(s); err != nil {
			return fmt.Errorf("is %s, which is not a valid image reference (%w): use registry/repository:tag or "+
				"…@sha256:digest, with a lowercase repository without spaces", quoted(s), err)
		}
		return nil
	})
}

// EndpointURL requires the address of an HTTP server. As in Kubetorch, the scheme is optional.
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
			return fmt.Errorf("is empty: set an address, such as %s", example)
		case err != nil || u.Hostname() == "" || strings.ContainsAny(s, " \t\r\n"):
			return fmt.Errorf("is %s, which is not a URL with a host: use an address such as %s", quoted(s), example)
		case u.Scheme != "http" && u.Scheme != "https":
			return fmt.Errorf("is %s, but only HTTP is supported: start it with http:// or https://", quoted(s))
		}
		return nil
	})
}

// FieldPath requires the dot-separated path of a field, such as spec.template.
func FieldPath() validator.String {
	return check("the path of a field, such as spec.template", "Invalid field path", func(s string) error {
		if s == "" || slices.Contains(strings.Split(s, "."), "") {
			return fmt.Errorf("is %s, which is not a valid field path: separate the field names with dots, as in "+
				"spec.jobTemplate.spec.template", quoted(s))
		}
		return nil
	})
}

// JSONObject requires that valid JSON is an object. The type of the attribute reports invalid JSON.
func JSONObject() validator.String {
	return check("a JSON object", "Invalid JSON", func(s string) error {
		if !json.Valid([]byte(s)) {
			return nil
		}
		var content any
		if err := json.Unmarshal([]byte(s), &content); err != nil {
			return fmt.Errorf("contains JSON that cannot be decoded: %w", err) // a number out of range
		}
		switch content.(type) {
		case nil, map[string]any: // null merges nothing
			return nil
		}
		return fmt.Errorf("is a JSON value of the type %s, but must be an object: set it as in jsonencode({ spec = "+
			"{ … } })", jsonType(content))
	})
}

func jsonType(content any) string {
	switch content.(type) {
	case []any:
		return "list"
	case string:
		return "string"
	case bool:
		return "boolean"
	default:
		return "number"
	}
}

// name requires a lowercase name that follows a rule of Kubernetes. Its errors suggest a valid name, if there is one.
func name(what string, validate func(string) []string) validator.String {
	return check(what, "Invalid name", func(s string) error {
		err := requireValid(s, what, validate)
		if other := similarName(s); err != nil && len(validate(other)) == 0 {
			return fmt.Errorf("%w. Did you mean %q?", err, other)
		}
		return err
	})
}

// similarName suggests a valid name: lowercase, and without characters that are never valid in names.
func similarName(s string) string {
	dashes := strings.NewReplacer("_", "-", " ", "-", ".", "-", "/", "-")
	return strings.Trim(dashes.Replace(strings.ToLower(s)), "-")
}

// textRule requires a text that follows a rule of Kubernetes.
func textRule(summary, what string, validate func(string) []string) validator.String {
	return check(what, summary, func(s string) error { return requireValid(s, what, validate) })
}

func requireValid(s, what string, validate func(string) []string) error {
	switch {
	case len(validate(s)) == 0:
		return nil
	case s == "":
		return fmt.Errorf("is empty, but must be %s", what)
	default:
		return fmt.Errorf("is %s, but must be %s", quoted(s), what)
	}
}

// quoted quotes a configured text, and truncates a long one to fit into a message.
func quoted(s string) string {
	const maxLength = 100
	if len(s) <= maxLength {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%.*q… (%d bytes)", maxLength, s, len(s))
}

// sentence formats the problem of a value as a sentence with the attribute as its
// subject. A validator of map keys gets each key with the path of its value.
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

// check returns a validator that calls a function. The errors of the function are
// sentences without their subject ("is empty: …"), which is the attribute.
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
