// Package broken builds the provider with a fault on purpose. With it, the tests of a bench see that the bench notices
// such a fault. The provider itself needs no hook for tests.
package broken

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// Replacement is a fault: New instead of Old, a text that occurs exactly once in the file of that path below the root
// of the repository.
type Replacement struct{ File, Old, New string }

// Provider builds the provider with these faults, and returns the directory of the binary. The sources stay as they
// are. The test fails if a file no longer contains the text of a replacement.
func Provider(t *testing.T, faults ...Replacement) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bin")
	command := exec.CommandContext(t.Context(), "go", "build", "-overlay", Overlay(t, faults...),
		"-ldflags", "-s -w", "-o", filepath.Join(bin, "terraform-provider-kt"), ".")
	command.Dir = acctest.Root()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the provider with %v: %v\n%s", faults, err, out)
	}
	return bin
}

// Overlay returns a file for the flag -overlay of the go command, which then compiles the sources with these faults.
func Overlay(t *testing.T, faults ...Replacement) string {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{}
	for _, fault := range faults {
		path := filepath.Join(acctest.Root(), filepath.FromSlash(fault.File))
		if sources[path] == "" {
			sources[path] = read(t, path)
		}
		patched, err := fault.apply(sources[path])
		if err != nil {
			t.Fatal(err)
		}
		sources[path] = patched
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range sources {
		patched := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay.Replace)))
		write(t, patched, []byte(text))
		overlay.Replace[path] = patched
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	write(t, file, data)
	return file
}

// apply returns the source with the fault.
func (f Replacement) apply(source string) (string, error) {
	if n := strings.Count(source, f.Old); n != 1 || f.Old == "" {
		return "", fmt.Errorf("%s contains %q %d times instead of once: adapt the fault to the code", f.File, f.Old, n)
	}
	return strings.Replace(source, f.Old, f.New, 1), nil
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
