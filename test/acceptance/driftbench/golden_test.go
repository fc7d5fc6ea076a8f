package driftbench_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/test/acctest/paths"
)

// With -update, the bench rewrites its golden files: the fields that the provider owns, by specimen, and after a
// complete run the number of changes, by class.
var update = flag.Bool("update", false, "rewrite the golden files")

const (
	ownedDir    = "testdata/owned"
	classesFile = "testdata/classes.txt"
	// manager is the provider's name in managedFields. Users see it, so the bench does not take it from the provider.
	manager = "terraform-provider-kt"
)

// fieldSet is what the provider owns of one object: by each owned field, the scalars inside of it that it has sent, if
// the field is a map or a list that can only be owned as a whole.
type fieldSet map[string][]string

// A golden lists what the provider owns of the objects of a specimen, by object. The expectations of the bench come
// from it: a field that the provider no longer owns does not reduce what the bench checks, but fails it.
type golden map[string]fieldSet

// pathText formats a path for a golden file: the names of the fields, and the keys of list items as in managedFields.
func pathText(path fieldpath.Path) (string, error) {
	var parts []string
	for _, element := range path {
		part, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return "", err
		}
		parts = append(parts, strings.TrimPrefix(part, "f:"))
	}
	text := strings.Join(parts, " ")
	if back, err := parsePath(text); err != nil || !back.Equals(path) {
		return "", fmt.Errorf("%s cannot be read back from %q: %w", path, text, err)
	}
	return text, nil
}

// parsePath is the inverse of pathText.
func parsePath(text string) (fieldpath.Path, error) {
	var path fieldpath.Path
	for part := range strings.SplitSeq(text, " ") {
		if !strings.HasPrefix(part, "k:") && !strings.HasPrefix(part, "v:") {
			part = "f:" + part
		}
		element, err := fieldpath.DeserializePathElement(part)
		if err != nil {
			return nil, err
		}
		path = append(path, element)
	}
	return path, nil
}

// paths returns the owned fields in a fixed order.
func (s fieldSet) paths(t *testing.T) []fieldpath.Path {
	t.Helper()
	var out []fieldpath.Path
	for text := range s {
		path, err := parsePath(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		out = append(out, path)
	}
	slices.SortFunc(out, fieldpath.Path.Compare)
	return out
}

// liveFields returns what the provider owns of an object.
func liveFields(live *unstructured.Unstructured, sent map[string]any) (fieldSet, error) {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply ||
			entry.Subresource != "" {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, err
		}
		out := fieldSet{}
		for path := range set.Leaves().All() {
			text, err := pathText(path)
			if err != nil {
				return nil, err
			}
			if slices.Contains(ofCreation, text) {
				continue
			}
			out[text] = nil
			if value, ok := paths.At(sent, path); ok && !isScalar(value) {
				for _, where := range paths.Scalars(value, nil) {
					if len(where) > 0 {
						out[text] = append(out[text], stepsText(where))
					}
				}
			}
		}
		return out, nil
	}
	return nil, errors.New("the provider owns nothing")
}

// ofCreation are the annotations of a creation. They are not in the attribute manifests, so plans do not show them.
var ofCreation = []string{"metadata annotations kt.dev/creation", "metadata annotations kt.dev/unfinished"}

// objectTitle names an object of a copy of a specimen in the golden file: without the number of the copy.
func (s *subject) objectTitle(o *object) string {
	return o.kind + " " + strings.ReplaceAll(o.name, s.name, s.specimen.name)
}

// compare returns the differences between what a golden file lists and what the provider owns.
func (g golden) compare(live golden) []string {
	var out []string
	want, got := g.lines(), live.lines()
	for _, line := range want {
		if !slices.Contains(got, line) {
			out = append(out, "the provider no longer owns "+line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			out = append(out, "the provider also owns "+line+": run with -update, and review the difference")
		}
	}
	return out
}

func (g golden) lines() []string {
	var out []string
	for _, title := range slices.Sorted(maps.Keys(g)) {
		for _, path := range slices.Sorted(maps.Keys(g[title])) {
			out = append(out, title+": "+path)
			for _, inner := range g[title][path] {
				out = append(out, title+": "+path+" > "+inner)
			}
		}
	}
	return out
}

func ownedFile(specimen string) string { return filepath.Join(ownedDir, specimen+".txt") }

func readGolden(t *testing.T, specimen string) golden {
	t.Helper()
	data, err := os.ReadFile(ownedFile(specimen))
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v: run with -update", err)
	}
	out, title, path := golden{}, "", ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "    "):
			out[title][path] = append(out[title][path], line[4:])
		case strings.HasPrefix(line, "  "):
			path = line[2:]
			out[title][path] = nil
		default:
			title = line
			out[title] = fieldSet{}
		}
	}
	return out
}

func (g golden) write(t *testing.T, specimen string) {
	t.Helper()
	var b strings.Builder
	for _, title := range slices.Sorted(maps.Keys(g)) {
		b.WriteString(title + "\n")
		for _, path := range slices.Sorted(maps.Keys(g[title])) {
			b.WriteString("  " + path + "\n")
			for _, inner := range g[title][path] {
				b.WriteString("    " + inner + "\n")
			}
		}
	}
	writeFile(t, ownedFile(specimen), b.String())
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

// TestEverySpecimenHasAGolden also fails for a golden file whose specimen is gone, so that no specimen gets lost.
func TestEverySpecimenHasAGolden(t *testing.T) {
	files, err := filepath.Glob(ownedDir + "/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range specimens() {
		want = append(want, ownedFile(s.name))
	}
	slices.Sort(want)
	if !slices.Equal(files, want) {
		t.Errorf("golden files %q, want %q", files, want)
	}
}

func TestGoldenNamesTheFieldThatIsNoLongerOwned(t *testing.T) {
	want := golden{"Pod a": {"spec hostname": nil, "spec tolerations": {"0.key", "0.value"}}}
	live := golden{"Pod a": {"spec hostname": nil, "spec tolerations": {"0.key"}, "spec nodeName": nil}}
	got := want.compare(live)
	if len(got) != 2 || !strings.HasSuffix(got[0], "no longer owns Pod a: spec tolerations > 0.value") ||
		!strings.Contains(got[1], "also owns Pod a: spec nodeName") {
		t.Errorf("got %q", got)
	}
	if same := want.compare(want); len(same) > 0 {
		t.Errorf("got %q", same)
	}
}
