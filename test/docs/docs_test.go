// Package docs tests the documentation: links, and where the configurations that it shows come from.
package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// pages returns the text of each Markdown file for users and contributors, by its path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"docs", "devcluster", "ecosystem", "modules"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	texts := map[string]string{}
	for _, file := range files {
		texts[file] = read(t, file)
	}
	return texts
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var configuration = regexp.MustCompile("(?s)\n(<!-- not run: [^\n]+ -->\n+)?```(?:terraform|hcl)\n(.*?)\n```")

// The acceptance tests apply the examples. A configuration that is not an example says why: `<!-- not run: REASON -->`.
func TestConfigurationsInTheDocsAreExamples(t *testing.T) {
	t.Parallel()
	examples := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".tf" || filepath.Ext(path) == ".hcl" {
			examples[strings.TrimSpace(read(t, path))] = true
		}
		return err
	})
	if err != nil || len(examples) == 0 {
		t.Fatal("no examples", err)
	}
	texts, found := pages(t), 0
	for _, page := range slices.Sorted(maps.Keys(texts)) {
		for _, match := range configuration.FindAllStringSubmatch(texts[page], -1) {
			found++
			if shown := strings.TrimSpace(match[2]); match[1] == "" && !examples[shown] {
				t.Errorf("%s: no file of examples/ has this configuration:\n%s", page, shown)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d configurations were found", found)
	}
}
