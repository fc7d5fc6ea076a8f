package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fence   = regexp.MustCompile("(?s)\n *```.*?\n *```")
	link    = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	anchor  = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
	code    = regexp.MustCompile("`([^`\n]+)`")
	test    = regexp.MustCompile(`^Test[A-Z]\w*$`)
	file    = regexp.MustCompile(`^(internal|test|templates|examples|scripts|tools|devcluster|ecosystem)/[\w./-]+$`)
	noWord  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

	// here matches the beginning of a link to a file of this repository. Pages that the registries show have such links
	// to files that are not documentation, and to pictures.
	here = regexp.MustCompile(`^https://(raw\.githubusercontent\.com/ktdev/terraform-provider-kt|` +
		`github\.com/ktdev/terraform-provider-kt/(blob|tree))/main/`)
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
	texts, found := pages(t), 0
	for page, text := range texts {
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target, fragment, _ := strings.Cut(match[2], "#")
			file := page
			switch address := here.FindString(target); {
			case address != "":
				file = filepath.Join(root, strings.TrimPrefix(target, address))
			case strings.Contains(target, ":"):
				continue // another site
			case target != "":
				file = filepath.Join(filepath.Dir(page), target)
			}
			found++
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, match[2])
				continue
			}
			name := strings.Trim(match[1], "`")
			if name != match[1] && filepath.Ext(file) == ".go" && !slices.Contains(declared(t, file), name) {
				t.Errorf("%s: %s does not declare %s", page, file, name)
			}
			if fragment == "" || filepath.Ext(file) != ".md" {
				continue
			}
			if !anchors(texts[file])[fragment] {
				t.Errorf("%s links to %s, but there is no such heading", page, match[2])
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d links were found", found)
	}
}

// go test passes without a test that matches.
func TestTestsThatTheMakefileRunsExist(t *testing.T) {
	t.Parallel()
	names := testNames(t)
	found := regexp.MustCompile(`-run '\^(\w+)`).FindAllStringSubmatch(read(t, filepath.Join(root, "GNUmakefile")), -1)
	if len(found) < 5 {
		t.Errorf("only %d fixed names were found", len(found))
	}
	for _, match := range found {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, match[1]) }) {
			t.Errorf("no test has a name that starts with %s", match[1])
		}
	}
}

func TestFilesAndTestsThatContributingNamesExist(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	page := fence.ReplaceAllString(read(t, filepath.Join(root, "CONTRIBUTING.md")), "")
	for _, found := range code.FindAllStringSubmatch(page, -1) {
		switch name := found[1]; {
		case test.MatchString(name) && !slices.Contains(tests, name):
			t.Errorf("the test %s does not exist", name)
		case file.MatchString(name):
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// declared returns the names of the functions, methods and types of a Go file.
func declared(t *testing.T, path string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, declaration := range parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if typed, ok := spec.(*ast.TypeSpec); ok {
					names = append(names, typed.Name.Name)
				}
			}
		}
	}
	return names
}

// testNames returns the names of all test functions of the provider and of the dev cluster.
func testNames(t *testing.T) []string {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	var names []string
	for _, dir := range []string{"devcluster", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, found := range function.FindAllStringSubmatch(string(content), -1) {
				names = append(names, found[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
