package image

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
)

func TestLocalPathsArePackedUnderTheirNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.py": "1", "b.py": "2", "c[1].py": "3", "pkg/x.py": "4",
		"pkg/.git/config": "5"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("pkg", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"a.py": {"a.py"}, "[ab].py": {"a.py", "b.py"}, "c[1].py": {"c[1].py"}, "pkg": {"pkg/"},
		"pkg/..": {filepath.Base(dir) + "/"}, "link": {"link/"}, "p*": {"pkg/"},
	} {
		packed, err := packAll(image.Source{Path: dir + "/" + path})
		var got []string
		for _, p := range packed {
			name := p.Name
			if p.Directory {
				name += "/"
			}
			got = append(got, name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
	digest := func(isPackage bool) string {
		packed, err := packAll(image.Source{Path: dir + "/pkg", Package: isPackage})
		if err != nil || len(packed) != 1 {
			t.Fatal(packed, err)
		}
		return packed[0].Digest()
	}
	all, isPackage := digest(false), digest(true)
	if err := os.RemoveAll(filepath.Join(dir, "pkg", ".git")); err != nil {
		t.Fatal(err)
	}
	if isPackage == all || isPackage != digest(false) {
		t.Error("a package contains .git, or a directory does not")
	}
}

func TestStateOfTerraformIsNotPacked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeText := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string) { writeText(name, "secret") }
	digests := func() (all []string) {
		for _, source := range []image.Source{{Path: dir}, {Path: dir, Package: true}, {Path: dir + "/*"}} {
			packed, err := packAll(source)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range packed {
				all = append(all, p.Digest())
			}
		}
		return all
	}
	write("train.py")
	before := digests()
	if len(before) != 3 {
		t.Fatalf("the content is %v", before)
	}
	for _, name := range []string{"terraform.tfstate", "terraform.tfstate.backup", ".terraform.tfstate.lock.info",
		"terraform.tfstate.1700000000.backup", "tfplan", "prod.tfplan"} {
		write(name)
	}
	writeText("plan.out", zipOf(t, "tfplan", "tfstate"))
	writeText("plan-of-opentofu", `{"meta":{"key_provider.pbkdf2.k":"eyJ"},"encrypted_data":"TNJ"}`)
	if after := digests(); !slices.Equal(after, before) {
		t.Errorf("the content is %v, want %v", after, before)
	}
	explicit, err := packAll(image.Source{Path: filepath.Join(dir, "tfplan")})
	if err != nil || len(explicit) != 1 {
		t.Errorf("a plan that is named: %v, %v", explicit, err)
	}
	for name, add := range map[string]func(){
		"other.py":    func() { write("other.py") },
		"empty":       func() { writeText("empty", "") },
		"archive.zip": func() { writeText("archive.zip", zipOf(t, "data", "tfplan")) },
		"tfplans.zip": func() { writeText("tfplans.zip", zipOf(t, "tfplans")) },
		"meta.json":   func() { writeText("meta.json", `{"meta":{"key":"value"}}`) },
		"directory":   func() { _ = os.Mkdir(filepath.Join(dir, "directory"), 0o700) },
		"link":        func() { _ = os.Symlink("plan.out", filepath.Join(dir, "link")) },
	} {
		add()
		if after := digests(); len(after) != 4 || after[0] == before[0] || after[1] == before[1] {
			t.Errorf("%s does not change the content %v", name, after)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// zipOf returns a zip archive with entries of these names, in this order.
func zipOf(t *testing.T, names ...string) string {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range names { // as Terraform writes them
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Now()})
		if err == nil {
			_, err = entry.Write([]byte("content of " + name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPathsThatCannotBePackedAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, 2<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.Mkdir(large, 0o755); err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 3<<20)
	for i, state := 0, uint32(1); i < len(noise); i++ { // incompressible data
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	if err := os.WriteFile(filepath.Join(large, "weights.bin"), noise, 0o644); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[image.Source]string{
		{Path: dir + "/none"}:                dir + "/none does not exist. Relative paths are resolved",
		{Path: dir + "/*.py"}:                dir + "/*.py does not exist",
		{Path: dir + "/[a"}:                  "invalid pattern",
		{Path: dir + "/big"}:                 "big is 2048 KiB, but a ConfigMap can contain only 1024 KiB in total",
		{Path: large}:                        "largest files so far:\n  - weights.bin: 3072 KiB",
		{Path: "/dev/null"}:                  "is neither a file nor a directory",
		{Path: dir + "/none", Package: true}: "does not exist",
	} {
		if _, err := packAll(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error that contains %q", source, err, want)
		}
	}
}
