package image

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares a text with a file, or updates the file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s\nwant\n%s", file, got, want)
	}
}

// pretend packs sources that do not exist: a name with a dot is a file, any
// other name is a directory.
func pretend(sources []Needed) map[Source][]Packed {
	packed := map[Source][]Packed{}
	for _, needed := range sources {
		name := filepath.Base(needed.Path)
		packed[needed.Source] = []Packed{{Name: name, Data: []byte(needed.Path),
			Directory: !strings.Contains(strings.Trim(name, "."), ".")}}
	}
	return packed
}

func TestDockerfilesAreRenderedAsSetupScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/dockerfiles/*.Dockerfile")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d Dockerfiles, want 25 or more (%v)", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".Dockerfile")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, "Dockerfile")+"golden", describe(string(text)))
		})
	}
}

// describe renders a Dockerfile, or lists its errors.
func describe(text string) string {
	d, err := Parse(text)
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "image: %s\n", d.From)
	for _, ignored := range d.Ignored {
		fmt.Fprintf(&b, "ignored: line %d, %s\n", ignored.Line, ignored.Instruction)
	}
	r, err := Render(Spec{}, d, "registry.example/pinned@sha256:0", pretend(Sources(Spec{}, d)))
	if err != nil {
		return err.Error() + "\n"
	}
	fmt.Fprintf(&b, "--- Dockerfile\n%s--- setup.sh\n", r.Dockerfile)
	_, steps, _ := strings.Cut(r.Script, "_kt_setup() {\n")
	steps, _, _ = strings.Cut(steps, "\n}\n")
	return b.String() + steps + "\n"
}

func TestErrorsNameTheLineAndTheNextStep(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/dockerfiles/3*.Dockerfile")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Parse(string(text))
		found, ok := errors.AsType[manifest.Errors](err)
		if !ok {
			t.Errorf("%s is not refused", file)
		}
		lines := strings.Split(string(text), "\n")
		for _, e := range found {
			var line int
			if n, err := fmt.Sscanf(e.Detail, "Line %d of the Dockerfile: ", &line); n != 1 {
				t.Errorf("%s: %+v, %v", file, e, err)
			}
			_, problem, _ := strings.Cut(e.Detail, ": ")
			if line < 1 || line > len(lines) || strings.TrimSpace(lines[line-1]) == "" || problem == "" {
				t.Errorf("%s: %+v", file, e)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/dockerfiles/*.Dockerfile")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			if found, ok := errors.AsType[manifest.Errors](err); !ok || len(found) == 0 {
				t.Fatalf("error of type %T", err)
			}
			return
		}
		r, err := Render(Spec{}, d, "debian:12", pretend(Sources(Spec{}, d)))
		if err != nil {
			return // several files for a destination that is not a directory
		}
		// The rendered Dockerfile is equivalent.
		again, err := Parse(r.Dockerfile)
		if err != nil {
			t.Fatalf("%q\nis rendered as\n%q\nwhich is refused: %v", text, r.Dockerfile, err)
		}
		if again.From != "debian:12" || len(again.steps) != len(d.steps) || len(again.Ignored) != len(d.Ignored) {
			t.Fatalf("%q\nis rendered as\n%q\n%+v\n%+v", text, r.Dockerfile, d, again)
		}
	})
}
