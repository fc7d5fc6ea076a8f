package protocol_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// validateSecret sends the request of `terraform validate`, for a CLI with or
// without support for write-only attributes.
func (o offline) validateSecret(t *testing.T, config string, writeOnly bool) []finding {
	t.Helper()
	encoded, err := tfprotov6.NewDynamicValue(o.types["kt_secret"], jsonConfig(t, o.types["kt_secret"], config))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := o.server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: "kt_secret", Config: &encoded,
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: writeOnly},
	})
	if err != nil {
		t.Fatal(err)
	}
	var findings []finding
	for _, d := range resp.Diagnostics {
		findings = append(findings, finding{d.Severity, pathText(d.Attribute), d.Summary, d.Detail})
	}
	return findings
}

func TestSecretReportsInvalidInput(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for name, c := range map[string]struct {
		config string // JSON, without the name and its brace
		at     string // "" for the resource: another path would make Terraform print the line of a value
		text   string
	}{
		"no source": {``, "",
			"Set one of values_wo, provider_name, path, from_env and values."},
		"two sources": {`"path": "~/a", "from_env": {"A": "canary"}`, "",
			"Only one of path and from_env can be set."},
		"values with a provider": {`"values": {"A": "canary"}, "provider_name": "aws"`, "provider_name",
			"Only one of values and provider_name can be set"},
		"both kinds of values": {`"values": {"A": "canary"}, "values_wo": {"A": "canary"}`, "",
			"Only one of values_wo and values can be set"},
		"a version of nothing": {`"path": "~/a", "values_wo_version": 1`, "values_wo_version",
			"set both, or neither"},
		"filenames of nothing": {`"from_env": {"A": "A"}, "filenames": ["a"]`, "filenames",
			"set path or provider_name"},
		"filenames of variables": {`"provider_name": "openai", "filenames": ["a"]`, "filenames",
			"openai has no usual files"},
		"a filename with a directory": {`"path": "~/a", "filenames": ["a", "b/c"]`, "filenames[1]",
			`is "b/c", but must be the name of a file`},
		"a file twice": {`"path": "~/a", "filenames": ["a", "a"]`, "filenames",
			`the file "a" is listed twice`},
		"files of one key": {`"path": "~/a", "filenames": ["a b", "a-b"]`, "filenames",
			`would both become the key "a-b"`},
		"a relative path":     {`"path": "creds"`, "path", "set mount_path"},
		"an unknown provider": {`"provider_name": "acme"`, "provider_name", `"anthropic"`},
		"an empty map":        {`"values_wo": {}`, "", "values_wo is empty: set at least one key."},
		"a null value":        {`"values_wo": {"A": null}`, "", `values_wo["A"] is null`},
		"a key with a blank": {`"values_wo": {"a b": "canary"}`, "",
			`the key "a b" must have at most 253 letters`},
		"a key that is no variable": {`"values_wo": {"1a": "canary"}`, "",
			"or set mount_path to mount the keys as files"},
		"a key with a slash": {`"from_env": {"a/b": "canary"}`, "", `from_env: the key "a/b" must have`},
		"a variable with a blank": {`"from_env": {"A": "my canary"}`, "",
			`from_env["A"] is not the name of an environment variable`},
		"a value in place of a variable": {`"from_env": {"A": "canary-1"}`, "", "use values_wo"},
		"a null in place of a variable":  {`"from_env": {"A": null, "B": "canary"}`, "", `from_env["A"] is null`},
		"a relative mount path":          {`"path": "~/a", "mount_path": "a"`, "mount_path", "a relative path"},
		"a label of the provider's": {`"path": "~/a", "labels": {"kubetorch.com/provider": "x"}`,
			`labels["kubetorch.com/provider"]`, "is set by the provider"},
		"an annotation of the provider's": {`"path": "~/a", "annotations": {"kubetorch.com/override": "x"}`,
			`annotations["kubetorch.com/override"]`, "is set by the provider"},
		"too much": {fmt.Sprintf(`"values_wo": {"A": "%s"}`, strings.Repeat("canary", 1<<18)),
			"", "a Secret can contain at most 1048576 (1 MiB)"},
		"a mode of variables": {`"from_env": {"A": "A"}, "default_mode": "0400"`, "default_mode",
			"set mount_path, or remove default_mode"},
		"a mode of values": {`"values_wo": {"A": "canary"}, "default_mode": "0400"`, "default_mode",
			"become environment variables"},
		"a mode of a provider's variable": {`"provider_name": "openai", "default_mode": "0400"`, "default_mode",
			"become environment variables"},
		"a decimal mode": {`"path": "~/a", "default_mode": "256"`, "default_mode",
			`is "256", but must be four octal digits from 0000 to 0777`},
		"a mode that is too large": {`"path": "~/a", "default_mode": "1777"`, "default_mode",
			"four octal digits"},
		"the annotation of the mode": {`"path": "~/a", "annotations": {"kubetorch.com/secret-default-mode": "0400"}`,
			`annotations["kubetorch.com/secret-default-mode"]`, "is set by the provider"},
		"a zero timeout": {`"path": "~/a", "timeouts": {"create": "0s"}`, "timeouts.create",
			"must be more than zero"},
		"a timeout without a unit": {`"path": "~/a", "timeouts": {"delete": "5"}`, "timeouts.delete",
			"is not a duration"},
		"a bad namespace": {`"path": "~/a", "namespace": "Bad"`, "namespace", "Did you mean"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := errorsOnly(o.validateSecret(t, secretJSON(c.config), true))
			if len(found) != 1 || found[0].path != c.at || !strings.Contains(strings.ToLower(found[0].detail),
				strings.ToLower(c.text)) {
				t.Errorf("gives %v\nwant one error at %q that contains: %s", found, c.at, c.text)
			}
			for _, f := range found {
				if strings.Contains(f.summary+f.detail, "canary") {
					t.Error("the error quotes a value")
				}
			}
		})
	}
}

func secretJSON(rest string) string {
	if rest == "" {
		return `{"name": "x"}`
	}
	return `{"name": "x", ` + rest + `}`
}

func errorsOnly(found []finding) []finding {
	var out []finding
	for _, f := range found {
		if f.severity == tfprotov6.DiagnosticSeverityError {
			out = append(out, f)
		}
	}
	return out
}

func TestSecretAcceptsEachSourceWithEveryCLIThatSupportsIt(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for _, config := range []string{
		`"values": {"A": "x", "b.c": "", "_": "y"}`, `"path": "~/a"`, `"path": "/etc/a", "filenames": ["a", "b c"]`,
		`"path": "~/a", "timeouts": {"create": "1m", "update": "90s", "delete": "1h30m"}`,
		`"path": "creds", "mount_path": "/creds"`, `"from_env": {"A": "B"}`, `"provider_name": "aws"`,
		`"provider_name": "aws", "path": "~/a"`, `"provider_name": "aws", "from_env": {"A": "B"}`,
		`"provider_name": "aws", "filenames": ["config"]`,
		`"values": {"1a": "x"}, "mount_path": "/a"`, `"values": {"a": "x"}, "mount_path": "/a", "default_mode": "0000"`,
		`"path": "~/a", "default_mode": "0777"`, `"provider_name": "ssh", "default_mode": "0444"`,
		`"provider_name": "huggingface", "default_mode": "0400"`,
		`"values": {"a": "x"}, "mount_path": "(known after apply)", "default_mode": "0400"`,
		`"path": "~/a", "default_mode": "(known after apply)"`,
		`"values": "(known after apply)"`, `"values": {"A": "(known after apply)"}`, `"path": "(known after apply)"`,
		`"path": "(known after apply)", "from_env": {"A": "B"}`,
		`"provider_name": "(known after apply)", "filenames": ["a"]`,
	} {
		for _, writeOnly := range []bool{true, false} {
			if found := errorsOnly(o.validateSecret(t, secretJSON(config), writeOnly)); len(found) > 0 {
				t.Errorf("%s (write-only supported: %t) gives %v", config, writeOnly, found)
			}
		}
	}
}

func TestSecretExplainsWriteOnlyValuesToOldCLIs(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	const config = `"values_wo": {"A": "canary"}, "values_wo_version": 1`
	if found := o.validateSecret(t, secretJSON(config), true); len(found) > 0 {
		t.Errorf("a CLI with write-only attributes: %v", found)
	}
	said := fmt.Sprint(o.validateSecret(t, secretJSON(config), false))
	for _, text := range []string{"Terraform 1.11 or OpenTofu 1.11", "provider_name, path or from_env"} {
		if !strings.Contains(said, text) {
			t.Errorf("%s does not contain %q", said, text)
		}
	}
	if strings.Contains(said, "canary") {
		t.Errorf("%s quotes a value", said)
	}
	if found := o.validateSecret(t, secretJSON(`"values": {"A": "canary"}`), true); len(found) != 1 ||
		found[0].severity != tfprotov6.DiagnosticSeverityWarning || found[0].path != "" ||
		!strings.Contains(found[0].detail, "values_wo") {
		t.Errorf("values give %v, want one warning that names values_wo", found)
	}
}
