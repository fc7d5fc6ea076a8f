package image

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
)

// messages returns the severity, the path, the summary and the detail of diagnostics.
func messages(diags diag.Diagnostics) string {
	var out []string
	for _, d := range diags {
		at := ""
		if located, ok := d.(diag.DiagnosticWithPath); ok {
			at = located.Path().String()
		}
		out = append(out, strings.Join([]string{d.Severity().String(), at, d.Summary(), d.Detail()}, "\n"))
	}
	return strings.Join(out, "\n")
}

// expect fails the test unless the diagnostics contain all texts, or are empty if there are none.
func expect(t *testing.T, diags diag.Diagnostics, want ...string) {
	t.Helper()
	got := messages(diags)
	if len(want) == 0 && got != "" {
		t.Errorf("unexpected diagnostics:\n%s", got)
	}
	for _, text := range want {
		if !strings.Contains(got, text) {
			t.Errorf("no %q in the diagnostics:\n%s", text, got)
		}
	}
}

func TestImageHasExactlyOneSource(t *testing.T) {
	t.Parallel()
	text, unknown := types.StringValue, types.StringUnknown()
	for name, c := range map[string]struct {
		config model
		want   []string
	}{
		"image_id":                {model{ImageID: text("a:1")}, nil},
		"base":                    {model{Base: text("pytorch")}, nil},
		"dockerfile":              {model{Dockerfile: text("FROM a:1")}, nil},
		"image_id and dockerfile": {model{ImageID: text("a:1"), Dockerfile: text("RUN x")}, nil},
		"unknown image_id":        {model{ImageID: unknown}, nil},
		"unknown dockerfile":      {model{Dockerfile: unknown}, nil},
		"no source":               {model{}, []string{"Missing image", "does not specify the image to run"}},
		"dockerfile without FROM": {model{Dockerfile: text("RUN x")},
			[]string{"dockerfile", "The Dockerfile has no FROM"}},
		"image_id and base": {model{ImageID: text("a:1"), Base: text("pytorch")},
			[]string{"Conflicting attributes", "image_id and base each specify the image"}},
		"base and FROM": {model{Base: text("pytorch"), Dockerfile: text("FROM a:1")},
			[]string{"dockerfile\nConflicting attributes", "base and the FROM of dockerfile"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, diags := checkDockerfile(c.config.Dockerfile)
			expect(t, append(diags, checkSource(&c.config, parsed)...), c.want...)
		})
	}
}

func TestUnsupportedInstructionsAreReported(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"FROM a:1\nRUN x":           nil,
		"FROM a:1\nCMD [\"x\"]":     {"Warning", "CMD has no effect", "Line 2 of the Dockerfile"},
		"FROM a:1\nONBUILD RUN x":   {"Error\ndockerfile\nInvalid Dockerfile", "Line 2 of the Dockerfile: "},
		"FROM a:1 AS b\nFROM c:1":   {"Error\ndockerfile\nInvalid Dockerfile"},
		"FROM a:1\nVOLUME [\"/x\"]": {"Error\ndockerfile\nInvalid Dockerfile"},
	} {
		_, diags := checkDockerfile(types.StringValue(text))
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			expect(t, diags, want...)
		})
	}
}

func TestBaseAndInstallCmdAreValidated(t *testing.T) {
	t.Parallel()
	text := types.StringValue
	for name, c := range map[string]struct {
		config model
		want   []string
	}{
		"not set":           {model{}, nil},
		"unknown":           {model{Base: types.StringUnknown(), InstallCmd: types.StringUnknown()}, nil},
		"valid install_cmd": {model{InstallCmd: text("uv pip install")}, nil},
		"blank install_cmd": {model{InstallCmd: text(" ")}, []string{"install_cmd", "must be a single line"}},
		"two lines":         {model{InstallCmd: text("a\nb")}, []string{"install_cmd", "must be a single line"}},
		"invalid base":      {model{Base: text("Torch!")}, []string{"base\nInvalid base"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, checkBaseAndInstallCmd(&c.config), c.want...)
		})
	}
}

func TestStepHasExactlyOneAttribute(t *testing.T) {
	t.Parallel()
	step := func(attributes map[string]attr.Value) map[string]attr.Value {
		all := map[string]attr.Value{"pip_install": types.ListNull(types.StringType), "run_bash": types.StringNull(),
			"set_env_vars": types.MapNull(types.StringType), "copy": types.ObjectNull(nil),
			"sync_package": types.StringNull()}
		maps.Copy(all, attributes)
		return all
	}
	at := path.Root("steps").AtListIndex(2)
	for name, c := range map[string]struct {
		step map[string]attr.Value
		want []string
	}{
		"run_bash": {step(map[string]attr.Value{"run_bash": types.StringValue("ls")}), nil},
		"unknown":  {step(map[string]attr.Value{"set_env_vars": types.MapUnknown(types.StringType)}), nil},
		"empty":    {step(nil), []string{"steps[2]\nEmpty step"}},
		"two attributes": {
			step(map[string]attr.Value{"run_bash": types.StringValue("ls"), "sync_package": types.StringValue("p")}),
			[]string{"steps[2].sync_package\nMultiple attributes in a step", "run_bash and sync_package"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, checkStep(at, c.step), c.want...)
		})
	}
}

func TestErrorsContainTheirStepOrLine(t *testing.T) {
	t.Parallel()
	_, err := load(image.Spec{Steps: []image.Step{{RunBash: "a"}, {Copy: &image.Copy{Source: "none", Dest: "/a"}}}},
		image.Dockerfile{})
	expect(t, specErrors(err), "steps[1].copy\nInvalid step\nsteps[1].copy: none does not exist.")
	_, err = image.Parse("FROM a:1\n\nWORKDIR /a")
	expect(t, specErrors(err),
		"dockerfile\nInvalid Dockerfile\nLine 3 of the Dockerfile: WORKDIR is not supported, because no image is built")
}
