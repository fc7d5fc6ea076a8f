package protocol_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// withImage adds a name to the configuration of a kt_image, and an image unless
// the configuration sets one.
func withImage(config string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(config, "{"), "}")
	for _, source := range []string{`"image_id"`, `"base"`, `"dockerfile"`} {
		if strings.Contains(inner, source) {
			return `{"name": "torch", ` + inner + "}"
		}
	}
	return `{"name": "torch", "image_id": "debian:12", ` + inner + "}"
}

func TestImageReportsInvalidInputAtItsAttribute(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for _, c := range []badInput{
		{name: "image", config: `{"image_id": "a b"}`, at: "image_id", text: `image_id is "a b"`},
		{name: "base", config: `{"base": "alpine"}`, at: "base", text: `base is "alpine", but must be debian`},
		{name: "base of no version", config: `{"base": "python"}`, at: "base",
			text: "is not a Python version: use a version such as python3.12"},
		{name: "base of two versions", config: `{"base": "python3.12:3.12"}`, at: "base",
			text: "is not a Python version"},
		{name: "base with a bad tag", config: `{"base": "ray:a b"}`, at: "base", text: `has "a b" after the colon`},
		{name: "base with an empty tag", config: `{"base": "debian:"}`, at: "base", text: `has "" after the colon`},
		{name: "python_path", config: `{"python_path": "bin/python"}`, at: "python_path", text: "a relative path"},
		{name: "install_cmd of two lines", config: `{"install_cmd": "pip\ninstall"}`, at: "install_cmd",
			text: "must be a single line"},
		{name: "empty install_cmd", config: `{"install_cmd": " "}`, at: "install_cmd", text: "must be a single line"},
		{name: "image and base", config: `{"image_id": "debian:12", "base": "debian"}`, at: "base",
			text: "image_id and base each specify the image to run"},
		{name: "image and FROM", config: `{"image_id": "debian:12", "dockerfile": "FROM debian:12"}`, at: "dockerfile",
			text: "image_id and the FROM of dockerfile each specify"},
		{name: "no FROM", config: `{"dockerfile": "RUN echo"}`, at: "dockerfile", text: "The Dockerfile has no FROM"},
		{name: "empty dockerfile", config: `{"image_id": "a", "dockerfile": ""}`, at: "dockerfile", text: "at least 1"},
		{name: "line of the dockerfile", config: `{"dockerfile": "FROM debian:12\n\nWORKDIR /app"}`, at: "dockerfile",
			text: "Line 3 of the Dockerfile: WORKDIR is not supported, because no image is built: use working_dir of " +
				"kt_compute"},
		{name: "heredoc", config: `{"dockerfile": "FROM debian:12\nRUN <<E\nWORKDIR\nE"}`, at: "dockerfile",
			text: "Line 2 of the Dockerfile: here-documents are not supported"},
		{name: "CMD", config: `{"dockerfile": "FROM debian:12\nCMD python"}`, at: "dockerfile",
			text: "Line 2 of the Dockerfile sets the command of the container, but a compute always runs Kubetorch's " +
				"server", warns: true},
		{name: "no steps", config: `{"steps": []}`, at: "steps", text: "at least 1"},
		{name: "null step", config: `{"steps": [null]}`, at: "steps[0]", text: "steps[0] is null"},
		{name: "empty step", config: `{"steps": [{"run_bash": "a"}, {}]}`, at: "steps[1]",
			text: "steps[1] sets no attribute"},
		{name: "two attributes in a step", config: `{"steps": [{"run_bash": "a", "set_env_vars": {"A": "b"}}]}`,
			at: "steps[0].set_env_vars", text: "steps[0] sets run_bash and set_env_vars, whose order is undefined"},
		{name: "empty command", config: `{"steps": [{"run_bash": ""}]}`, at: "steps[0].run_bash", text: "at least 1"},
		{name: "long command", config: `{"steps": [{"run_bash": "` + strings.Repeat("a", 128<<10) + `"}]}`,
			at: "steps[0].run_bash", text: "the command is 131072 bytes long, but Linux accepts at most"},
		{name: "no packages", config: `{"steps": [{"pip_install": []}]}`, at: "steps[0].pip_install",
			text: "at least 1"},
		{name: "blank package", config: `{"steps": [{"pip_install": ["torch", " "]}]}`, at: "steps[0].pip_install",
			text: `" " is not a package`},
		{name: "null package", config: `{"steps": [{"pip_install": [null]}]}`, at: "steps[0].pip_install[0]",
			text: "is null"},
		{name: "name of a variable", config: `{"steps": [{"set_env_vars": {"A-B": "x"}}]}`, at: "steps[0].set_env_vars",
			text: `"A-B" is not a valid name of an environment variable`},
		{name: "value of two lines", config: `{"steps": [{"set_env_vars": {"A": "x\ny"}}]}`,
			at: "steps[0].set_env_vars", text: "has a line break"},
		{name: "copy without source", config: `{"steps": [{"copy": {"dest": "/a"}}]}`, at: "steps[0].copy.source",
			text: "Must set a configuration value"},
		{name: "copy without dest", config: `{"steps": [{"copy": {"source": "a"}}]}`, at: "steps[0].copy.dest",
			text: "Must set a configuration value"},
		{name: "copy to a home", config: `{"steps": [{"copy": {"source": "a", "dest": "~/a"}}]}`, at: "steps[0].copy",
			text: "~ is not expanded"},
		{name: "own label", config: `{"labels": {"kubetorch.com/image": "x"}}`, at: `labels["kubetorch.com/image"]`,
			text: "is set by the provider."},
		{name: "own annotation", config: `{"annotations": {"kubetorch.com/image-spec": "x"}}`,
			at: `annotations["kubetorch.com/image-spec"]`, text: "is set by the provider."},
		{name: "label", config: `{"labels": {"team": "a b"}}`, at: `labels["team"]`, text: "the value of a label"},
		{
			name: "zero timeout", config: `{"timeouts": {"create": "0s"}}`,
			at: "timeouts.create", text: "must be more than zero",
		},
		{
			name: "timeout without a unit", config: `{"timeouts": {"delete": "5"}}`,
			at: "timeouts.delete", text: "is not a duration",
		},
		{name: "namespace", config: `{"namespace": "ML"}`, at: "namespace", text: `Did you mean "ml"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := o.validate(t, "kt_image", jsonConfig(t, o.types["kt_image"], withImage(c.config)))
			severity := tfprotov6.DiagnosticSeverityError
			if c.warns {
				severity = tfprotov6.DiagnosticSeverityWarning
			}
			if len(found) != 1 || found[0].severity != severity || found[0].path != c.at ||
				!strings.Contains(found[0].detail, c.text) {
				t.Errorf("%s gives %v\nwant one %s at %s that contains: %s", c.config, found, severity, c.at, c.text)
			}
		})
	}
}

func TestImageWithoutAnImageIsRejected(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	found := o.validate(t, "kt_image", jsonConfig(t, o.types["kt_image"],
		`{"name": "torch", "steps": [{"run_bash": "a"}]}`))
	if len(found) != 1 || !strings.Contains(found[0].detail, "Set `image_id`, `base`, or a `dockerfile` with a FROM") {
		t.Errorf("got %v", found)
	}
}

func TestImageAcceptsValidInput(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for _, config := range []string{
		`{"image_id": "localhost:5000/a@sha256:` + strings.Repeat("a", 64) + `", "pin_digest": true}`,
		`{"base": "debian"}`, `{"base": "ubuntu:v2"}`, `{"base": "python3.10"}`, `{"base": "python3.12.4"}`,
		`{"base": "python:3.11"}`, `{"base": "ray:2.40.0-gpu"}`, `{"base": "pytorch:24.08-py3"}`,
		`{"dockerfile": "FROM debian:12\nENV A=1\n"}`, `{"base": "ray", "dockerfile": "RUN echo\n"}`,
		`{"steps": [{"pip_install": ["torch"]}, {"run_bash": "a\nb"}, {"set_env_vars": {"A": ""}},
			{"copy": {"source": "a", "dest": "/b"}}, {"sync_package": "."}]}`,
		`{"labels": {"team": ""}, "annotations": {"a": "b"}, "python_path": "/usr/bin/python3",
			"install_cmd": "uv pip install --system"}`,
		`{"timeouts": {"create": "1m", "update": "90s", "delete": "1h30m"}}`,
	} {
		if found := o.validate(t, "kt_image", jsonConfig(t, o.types["kt_image"], withImage(config))); len(found) > 0 {
			t.Errorf("%s gives %v", config, found)
		}
	}
}
