// Package architecture verifies the structure of the provider that CONTRIBUTING.md describes: its layers, what a layer
// may import, and the size of its types.
package architecture

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module   = "github.com/ktdev/terraform-provider-kt/"
	internal = module + "internal/"
)

// layers returns the directories below internal, from the top down. A package may import the layers below it, and the
// packages of its own directory. With *, each subdirectory stands alone. External tests may also import a
// directory above their own, such as kube for kube/transport.
func layers() [][]string {
	return [][]string{
		{"provider"},
		{"functions"},
		{"resources/*", "datasources", "ephemeral/*", "actions"},
		{"tf/lifecycle"},
		{"tf/owned"},
		{"tf"},
		{"tf/run", "tf/decode"},
		{"endpoint"},
		{"kube/portforward", "kube/podstream"},
		{"kube/observe"},
		{"kube"},
		{"kube/transport"},
		{"kube/config"},
		{"kube/fields", "kube/ready", "manifest", "tensor"},
		{"kind"},
		{"advice", "registry"},
		{"printable", "detach", "parent"},
	}
}

// bans returns what layers may not import in addition.
func bans() []ban {
	const resources, client = internal + "resources/", "k8s.io/client-go/"
	return []ban{
		{
			reason:  "it is independent of Terraform; use internal/tf",
			imports: []string{"github.com/hashicorp/terraform-plugin"},
			in: []string{
				"endpoint", "kube", "manifest", "tensor", "kind", "advice", "registry", "printable", "detach", "parent",
			},
		},
		{
			reason: "it is pure; requests belong in internal/kube",
			in:     []string{"kube/fields", "kube/ready", "manifest", "kind", "advice"},
			imports: []string{
				"net/http", client + "kubernetes", client + "dynamic", client + "rest",
			},
		},
		{
			reason: "functions need only the compute", in: []string{"functions"},
			imports: []string{
				resources + "image", resources + "queue", resources + "secret", resources + "volume",
				internal + "datasources", internal + "ephemeral", internal + "actions",
			},
		},
	}
}

type ban struct {
	in, imports []string
	reason      string
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir                             string
	GoFiles, Imports, TestImports, XTestImports []string
}

func TestImportsPointDownward(t *testing.T) {
	t.Parallel()
	for _, violation := range violations(list(t, "./internal/...")) {
		t.Error(violation)
	}
}

func TestViolationsOfTheLayersAreNoticed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		from, to, want string
	}{
		"a lower layer":                      {"resources/compute", "tf/run", ""},
		"the same directory":                 {"manifest/kai", "manifest", ""},
		"the function's compute":             {"functions", "resources/compute", ""},
		"a higher layer":                     {"tf/run", "tf/owned", "tf/run imports tf/owned, which is not below it"},
		"another resource":                   {"resources/queue", "resources/compute", "is not below it"},
		"a package of the same layer":        {"kube/ready", "kube/fields", "is not below it"},
		"another resource in a function":     {"functions", "resources/queue", "functions need only the compute"},
		"a package that is in no layer":      {"new", "kind", "new is in no layer"},
		"the client above, though in kube":   {"kube/fields", "kube", "is not below it"},
		"a resource that is not written yet": {"resources/pool", "resources/image", "is not below it"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packages := []listed{{ImportPath: internal + c.from, Imports: []string{internal + c.to}}}
			got := strings.Join(violations(packages), "\n")
			if got == "" != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for of, imported := range map[string]string{
		"kube/transport": "github.com/hashicorp/terraform-plugin-framework/path", "manifest/kai": "net/http",
	} {
		for _, p := range []listed{{Imports: []string{imported}}, {XTestImports: []string{imported}}} {
			p.ImportPath = internal + of
			if violations([]listed{p}) == nil {
				t.Errorf("%s may import %s", of, imported)
			}
		}
	}
	for imported, allowed := range map[string]bool{"kube": true, "kube/observe": false, "tf": false} {
		p := listed{ImportPath: internal + "kube/transport", XTestImports: []string{internal + imported}}
		if (violations([]listed{p}) == nil) != allowed {
			t.Errorf("external tests of kube/transport may import %s: %t", imported, !allowed)
		}
	}
}

func TestProgramsDoNotDependOnWhatServesOthers(t *testing.T) {
	t.Parallel()
	testing := []string{module + "test", module + "devcluster", module + "tools", "k8s.io/kubernetes",
		"github.com/hashicorp/terraform-plugin-testing"}
	for pattern, forbidden := range map[string][]string{
		".":         testing,
		"./cmd/...": append([]string{"github.com/hashicorp/terraform-plugin"}, testing...),
	} {
		packages := list(t, "-deps", pattern)
		if len(packages) < 100 {
			t.Fatalf("%s has only %d dependencies", pattern, len(packages))
		}
		for _, p := range packages {
			if slices.ContainsFunc(forbidden, func(dir string) bool { return strings.HasPrefix(p.ImportPath, dir) }) {
				t.Errorf("%s depends on %s", pattern, p.ImportPath)
			}
		}
	}
}

// TestNoTypeHasTooManyMethods counts declared methods, not those of embedded types.
func TestNoTypeHasTooManyMethods(t *testing.T) {
	t.Parallel()
	const limit = 40
	for _, p := range list(t, "./internal/...") {
		methods := map[string]int{}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if ast.IsGenerated(file) {
				continue
			}
			for _, declared := range file.Decls {
				if function, ok := declared.(*ast.FuncDecl); ok && function.Recv != nil {
					methods[receiver(function.Recv.List[0].Type)]++
				}
			}
		}
		for name, count := range methods {
			if count > limit {
				t.Errorf("%s.%s has %d methods, more than %d", p.ImportPath, name, count, limit)
			}
		}
	}
}

// receiver returns the name of the type of a receiver.
func receiver(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// violations returns the imports that the layers and the bans forbid.
func violations(packages []listed) []string {
	var found []string
	for _, p := range packages {
		name, isInternal := strings.CutPrefix(p.ImportPath, internal)
		layer, part := layerOf(name)
		if !isInternal || layer < 0 {
			found = append(found, name+" is in no layer")
			continue
		}
		all := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		for i, imported := range all {
			if other, ok := strings.CutPrefix(imported, internal); ok {
				external := i >= len(all)-len(p.XTestImports)
				if external && within(name, other) {
					continue
				}
				if below, otherPart := layerOf(other); otherPart != part && below <= layer {
					found = append(found, fmt.Sprintf("%s imports %s, which is not below it", name, other))
				}
			}
		}
		for _, b := range bans() {
			if !slices.ContainsFunc(b.in, func(dir string) bool { return within(name, dir) }) {
				continue
			}
			for _, imported := range all {
				if slices.ContainsFunc(b.imports, func(dir string) bool { return strings.HasPrefix(imported, dir) }) {
					found = append(found, fmt.Sprintf("%s imports %s, but %s", name, imported, b.reason))
				}
			}
		}
	}
	return found
}

// layerOf returns the layer of a package below internal, -1 if there is none, and the directory that it belongs to.
func layerOf(name string) (int, string) {
	layer, part := -1, ""
	for i, dirs := range layers() {
		for _, dir := range dirs {
			dir, alone := strings.CutSuffix(dir, "/*")
			if !within(name, dir) || len(dir) < len(part) {
				continue
			}
			layer, part = i, dir
			if alone {
				below := strings.TrimPrefix(name, dir+"/")
				child, _, _ := strings.Cut(below, "/")
				part = dir + "/" + child
			}
		}
	}
	return layer, part
}

// within reports whether a package is in a directory or below it.
func within(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// list returns what go list prints in the root of the module.
func list(t *testing.T, arguments ...string) []listed {
	t.Helper()
	const fields = "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports"
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", fields}, arguments...)...)
	command.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatal(cmp.Or(stderr.String(), err.Error()))
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
