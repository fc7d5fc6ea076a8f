package images_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// imageCase is a kt_image that is created, changed, and then reduced to the attributes of plainImage.
type imageCase struct{ name, created, changed string }

// plainImage contains only the required attributes of an image.
const plainImage = `image_id = "debian:12"`

func imageCases(dir string) []imageCase {
	file := func(name string) string { return fmt.Sprintf("%q", filepath.Join(dir, name)) }
	return []imageCase{
		{"image-id", `image_id = "nvcr.io/nvidia/pytorch:24.08-py3"`, `image_id = "python:3.12"`},
		{"base", `base = "python3.12"`, `base = "ray:2.40.0"`},
		{"python",
			"image_id = \"debian:12\"\n python_path = \"/opt/py/bin/python\"\n install_cmd = \"uv pip install " +
				"--system\"",
			"image_id = \"debian:12\"\n python_path = \"/usr/bin/python3\"\n install_cmd = \"pip install\""},
		{"dockerfile",
			"dockerfile = <<-E\n FROM debian:12\n # a comment\n RUN apt-get update \\\n   && apt-get install -y " +
				"git\n ENV PATH=\"$PATH:/opt/bin\"\n COPY " + filepath.Join(dir, "a.txt") + " /app/\n E",
			"dockerfile = \"FROM python:3.12-slim\\nCMD [\\\"true\\\"]\\n\""},
		{"dockerfile-and-base", "base = \"debian\"\n dockerfile = \"RUN echo one\\n\"",
			"base = \"ubuntu\"\n dockerfile = \"RUN echo two\""},
		{"steps", `image_id = "debian:12"
		  steps = [
		    { pip_install = ["torch==2.5.1", "it's"] },
		    { set_env_vars = { A = "1", PATH = "$PATH:/x" } },
		    { run_bash = "set -x\necho \"$A\" | cat" },
		    { copy = { source = ` + file("a.txt") + `, dest = "/app/" } },
		    { copy = { source = ` + file("directory") + `, dest = "/app/directory" } },
		    { sync_package = ` + file("package") + ` },
		  ]`, `image_id = "debian:12"
		  steps = [{ run_bash = "echo changed" }]`},
		{"labels", plainImage + "\n labels = { team = \"ml\", tier = \"\" }\n annotations = { owner = \"alice\" }",
			plainImage +
				"\n labels = { team = \"web\" }\n annotations = { owner = \"bob\", \"example.com/cost\" = \"\" }"},
		{"hidden", plainImage + "\n sensitive_fields = [\"data\"]", plainImage + "\n sensitive_fields = [\"data\", " +
			"\"metadata.labels.app\"]"},
		{"life-cycle", plainImage + "\n adopt_existing = true\n deletion_protection = true\n" +
			"timeouts = { create = \"2m\", delete = \"3m\" }",
			plainImage + "\n adopt_existing = false\n deletion_protection = false\n timeouts = { update = \"2m\" }"},
		{"pinned", `image_id = "127.0.0.1:1/a@sha256:` + strings.Repeat("a", 64) + "\"\n pin_digest = true",
			`image_id = "127.0.0.1:1/a@sha256:` + strings.Repeat("b", 64) + "\"\n pin_digest = false"},
	}
}

// imageConfig returns a configuration with the images, whose attributes the function returns, and with a plain image.
func imageConfig(ns string, cases []imageCase, attributesOf func(imageCase) string) string {
	var out strings.Builder
	for _, c := range append(cases, imageCase{name: "plain"}) {
		attributes := plainImage
		if c.name != "plain" {
			attributes = attributesOf(c)
		}
		fmt.Fprintf(&out, "resource \"kt_image\" %[1]q {\n name = %[1]q\n %[2]s\n}\n", c.name, attributes)
	}
	return cluster.Config(ns, out.String())
}

// localFiles returns a directory with files that images copy.
func localFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.txt": "hello", "directory/run.sh": "#!/bin/sh\n", "directory/deep/bytes": "\xff\x00",
		"package/__init__.py": "x = 1", "package/.git/config": "excluded",
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// imageChanges checks the action and the changed attributes of a plan.
func imageChanges(action string, attributes ...string) acctest.PlanCheck {
	return func(p acctest.Plan) error {
		var changed []string
		for name := range p.After {
			if !reflect.DeepEqual(p.Before[name], p.After[name]) {
				changed = append(changed, name)
			}
		}
		if !slices.Equal(p.Actions, []string{action}) {
			return fmt.Errorf("the plan is to %v, want %s; it changes %q", p.Actions, action, changed)
		}
		return acctest.SameElements("attributes", changed, attributes)
	}
}
