package main

import (
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

const root = "../.."

var (
	link  = regexp.MustCompile(`\[([^\]]+)\]\(([^)#\s]+)[^)]*\)`)
	code  = regexp.MustCompile("`([^`\n]+)`")
	fence = regexp.MustCompile("(?s)\n```.*?\n```")
	test  = regexp.MustCompile(`^Test[A-Z]\w*$`)
	file  = regexp.MustCompile(`^(internal|templates|examples|scripts|tools|devcluster|ecosystem)/[\w./-]+$`)
)

func TestLinksOfTheDocumentationResolve(t *testing.T) {
	t.Parallel()
	pages := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "devcluster/README.md", "ecosystem/README.md"}
	decisions, err := filepath.Glob(filepath.Join(root, "docs/adr/*.md"))
	if err != nil || len(decisions) == 0 {
		t.Fatalf("no architecture decisions: %v", err)
	}
	for _, decision := range decisions {
		pages = append(pages, "docs/adr/"+filepath.Base(decision))
	}
	for _, page := range pages {
		for _, found := range link.FindAllStringSubmatch(read(t, page), -1) {
			text, target := found[1], found[2]
			if strings.Contains(target, "://") {
				continue
			}
			target = filepath.Join(filepath.Dir(page), target)
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: the target of the link %s does not exist: %v", page, found[0], err)
				continue
			}
			name := strings.Trim(text, "`")
			if name != text && strings.HasSuffix(target, ".go") && !slices.Contains(declared(t, target), name) {
				t.Errorf("%s: %s does not declare %s", page, target, name)
			}
		}
	}
}

func TestFilesAndTestsThatContributingNamesExist(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	for _, found := range code.FindAllStringSubmatch(read(t, "CONTRIBUTING.md"), -1) {
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

// read returns a page without its fenced blocks.
func read(t *testing.T, page string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return fence.ReplaceAllString(string(content), "")
}

// declared returns the names of the functions, methods and types of a Go file.
func declared(t *testing.T, path string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
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

// testNames returns the names of all test functions under internal.
func testNames(t *testing.T) []string {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	var names []string
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, _ fs.DirEntry, err error) error {
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
	return names
}
