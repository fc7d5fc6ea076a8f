package docs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the table of timers")

// timersPage contains all timers of the provider between these lines.
const (
	timersPage = "../../docs/adr/0031-timers.md"
	begin, end = "<!-- timers -->\n", "<!-- /timers -->\n"
)

func TestEveryTimerIsListedWithItsReason(t *testing.T) {
	t.Parallel()
	page := read(t, timersPage)
	before, rest, _ := strings.Cut(page, begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no table of timers", timersPage)
	}
	want := before + begin + timers(t) + end + after
	if *update {
		if err := os.WriteFile(timersPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("%s is out of date: run go test ./test/docs -update", timersPage)
	}
}

// timers returns the table of the durations in the packages of the provider.
func timers(t *testing.T) string {
	t.Helper()
	const format = "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}"
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, ".")
	command.Dir = root
	dirs, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	table := "| package | timer | duration | reason |\n|---|---|---|---|\n"
	for _, dir := range slices.Sorted(strings.Lines(string(dirs))) {
		dir = strings.TrimSpace(dir)
		name, err := filepath.Rel(base, dir)
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".pb.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range timersIn(parsed) {
				if found.reason == "" {
					t.Errorf("%s: %s has no comment", file, found.name)
				}
				table += fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", filepath.ToSlash(name), found.name, found.value,
					found.reason)
			}
		}
	}
	return table
}

// timer is a duration in the source: a constant, or a literal in a function.
type timer struct{ name, value, reason string }

func timersIn(file *ast.File) []timer {
	var found []timer
	var stack []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		expr, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		value := durationOf(expr)
		_, product := expr.(*ast.BinaryExpr)
		_, constant := stack[len(stack)-2].(*ast.ValueSpec)
		if value == 0 || !product && !constant { // a unit alone converts a number
			return true
		}
		name, reason := described(stack)
		found = append(found, timer{name, value.String(), reason})
		stack = stack[:len(stack)-1]
		return false
	})
	return found
}

// durationOf returns the duration of 5 * time.Second or time.Second, and 0 for other expressions.
func durationOf(expr ast.Expr) time.Duration {
	switch expr := expr.(type) {
	case *ast.SelectorExpr:
		if of, ok := expr.X.(*ast.Ident); ok && of.Name == "time" {
			return map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second,
				"Minute": time.Minute, "Hour": time.Hour}[expr.Sel.Name]
		}
	case *ast.BinaryExpr:
		if number, ok := expr.X.(*ast.BasicLit); ok && expr.Op == token.MUL {
			n, _ := strconv.Atoi(number.Value)
			return time.Duration(n) * durationOf(expr.Y)
		}
	}
	return 0
}

// described returns the name of the constant or the function at the end of a path, and two sentences about it.
func described(path []ast.Node) (name, reason string) {
	var comments []*ast.CommentGroup
	for _, n := range slices.Backward(path) {
		switch n := n.(type) {
		case *ast.ValueSpec:
			name, comments = n.Names[0].Name, append(comments, n.Doc, n.Comment)
		case *ast.GenDecl:
			comments = append(comments, n.Doc)
		case *ast.FuncDecl:
			if name == "" {
				name = n.Name.Name
			}
			comments = append(comments, n.Doc)
		}
	}
	for _, comment := range comments {
		if text := strings.Join(strings.Fields(comment.Text()), " "); text != "" {
			sentences := strings.SplitAfterN(text, ". ", 3)
			text = strings.TrimSpace(strings.Join(sentences[:min(len(sentences), 2)], ""))
			return name, strings.ReplaceAll(text, "|", `\|`)
		}
	}
	return name, ""
}
