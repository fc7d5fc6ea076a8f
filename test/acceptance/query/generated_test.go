package query_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forget removes all resources from the state, and keeps their objects.
func (q queries) forget(t *testing.T, provider string) {
	t.Helper()
	q.Write(t, provider)
	if err := os.Remove(filepath.Join(q.Dir, "terraform.tfstate")); err != nil {
		t.Fatal(err)
	}
}

// expectImported generates the configuration of all resources of a type, and checks that it plans to import this
// number of resources, and nothing else.
func (q queries) expectImported(t *testing.T, resourceType, arguments string, resources int) {
	t.Helper()
	q.list(t, resourceType, "include_resource = true\n"+arguments)
	q.MustRun(t, "query", "-generate-config-out=generated.tf")
	want := fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", resources)
	if out, err := q.Run(t, "plan"); err != nil || !strings.Contains(out, want) {
		text, _ := os.ReadFile(filepath.Join(q.Dir, "generated.tf"))
		t.Errorf("no %q: %v\n%s\nwith the configuration\n%s", want, err, out, text)
	}
}

// image_id and dockerfile have values in every state, but exclude each other in most configurations.
func TestAccGeneratedImagesAreThoseOfTheirConfiguration(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	q := newQueries(t, "")
	const steps = "\nsteps = [{ pip_install = [\"torch\"] }, { set_env_vars = { A = \"1\" } }]"
	forms := []string{
		`image_id = "debian:12"`,
		`image_id = "debian:12"` + steps,
		`base = "pytorch"`,
		`base = "pytorch"` + steps,
		`dockerfile = "FROM debian:12\nRUN echo one\n"`,
		`dockerfile = "FROM debian:12"` + steps,
		`dockerfile = "# syntax\nFROM debian:12\nENV A=1"` + steps,
		"image_id = \"debian:12\"\n dockerfile = \"RUN echo one\\n\"" + steps,
		"base = \"debian\"\n dockerfile = \"RUN echo one\\n\"",
		`image_id = "127.0.0.1:1/a@sha256:` + strings.Repeat("a", 64) + "\"\n pin_digest = true",
	}
	var config strings.Builder
	for i, form := range forms {
		fmt.Fprintf(&config, "resource \"kt_image\" \"i%d\" {\n name = \"i%[1]d\"\n %s\n}\n", i, form)
	}
	q.Write(t, cluster.Config(ns, config.String()))
	q.MustRun(t, "apply", "-auto-approve")
	q.forget(t, cluster.Config(ns, ""))
	q.expectImported(t, "kt_image", "", len(forms))
}
