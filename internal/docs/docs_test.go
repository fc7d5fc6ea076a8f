// Package docs tests the documentation: links, and where the configurations that it shows come from.
package docs_test

import (
	"fmt"
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
	for _, dir := range []string{"docs", "devcluster", "ecosystem"} {
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

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	anchor  = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
	inCode  = regexp.MustCompile("`[^`\n]*`")
	noWord  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the fragments that can follow the address of a page: those of its headings, as GitHub and the
// registries make them, and those in HTML.
func anchors(text string) map[string]bool {
	text = fence.ReplaceAllString(text, "")
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ReplaceAll(noWord.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")
		unique := name
		for n := 1; found[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		found[unique] = true
	}
	for _, match := range anchor.FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}

func TestLinksLeadToAnExistingFileAndHeading(t *testing.T) {
	t.Parallel()
	texts := pages(t)
	for page, text := range texts {
		text = inCode.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			target, fragment, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, ":") {
				continue // another site
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, match[1])
				continue
			}
			if fragment == "" || filepath.Ext(file) != ".md" {
				continue
			}
			if !anchors(texts[file])[fragment] {
				t.Errorf("%s links to %s, but there is no such heading", page, match[1])
			}
		}
	}
}

var configuration = regexp.MustCompile("(?ms)^(<!-- not run: .*? -->\n+)?```(?:terraform|hcl)\n(.*?)^```$")

// The acceptance tests apply the examples. A configuration that is not an example says why: `<!-- not run: REASON -->`.
func TestConfigurationsInTheDocsAreExamples(t *testing.T) {
	t.Parallel()
	examples := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".tf" {
			examples[strings.TrimSpace(read(t, path))] = true
		}
		return err
	})
	if err != nil || len(examples) == 0 {
		t.Fatal("no examples", err)
	}
	texts := pages(t)
	for _, page := range slices.Sorted(maps.Keys(texts)) {
		for _, match := range configuration.FindAllStringSubmatch(texts[page], -1) {
			if shown := strings.TrimSpace(match[2]); match[1] == "" && !examples[shown] {
				t.Errorf("%s: no file of examples/ has this configuration:\n%s", page, shown)
			}
		}
	}
}
