// Command size prints how many lines of code the provider has, and how many its tests have. A line counts if it
// contains a part of a token: blank lines and comments do not count, lines of a raw string that are not blank do.
// Generated code is listed, not counted. Files for other platforms count, so that the result is the same on all
// platforms.
//
// The provider is main.go and all packages of this module that it imports. Programs are those in cmd/, with what only
// they import. All other packages serve tests, benches and generators.
//
// Usage: size [-v]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "list the packages")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, ".", *verbose); err != nil {
		log.Fatal(err)
	}
}

// size is the number of lines of a package.
type size struct {
	path                         string // below the module
	code, data, tests, generated int    // generated is a number of files
}

func run(ctx context.Context, w io.Writer, dir string, verbose bool) error {
	provider, err := packages(ctx, dir, "-deps", ".")
	if err != nil {
		return err
	}
	programs, err := packages(ctx, dir, "-deps", "./cmd/...")
	if err != nil {
		return err
	}
	all, err := packages(ctx, dir, "./...")
	if err != nil {
		return err
	}
	inProvider, inPrograms := paths(provider), paths(programs)
	var groups [3][]size
	for _, pkg := range all {
		counted, err := pkg.count()
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(inProvider, pkg.ImportPath):
			groups[0] = append(groups[0], counted)
		case slices.Contains(inPrograms, pkg.ImportPath):
			groups[1] = append(groups[1], counted)
		default:
			groups[2] = append(groups[2], counted)
		}
	}
	report(w, groups, verbose)
	return nil
}

// report prints the groups: provider, programs and all others.
func report(w io.Writer, groups [3][]size, verbose bool) {
	var tests int
	var generated []string
	for i, title := range []string{"provider", "programs in cmd/", "packages for tests, benches and generators"} {
		var code, data int
		for _, s := range groups[i] {
			code, data, tests = code+s.code, data+s.data, tests+s.tests
			if s.generated > 0 {
				generated = append(generated, fmt.Sprintf("%s (%d files)", s.path, s.generated))
			}
		}
		fmt.Fprintf(w, "%7d  %s\n", code, title)
		if data > 0 {
			fmt.Fprintf(w, "%7d  embedded in it\n", data)
		}
		if !verbose {
			continue
		}
		for _, s := range groups[i] {
			fmt.Fprintf(w, "         %7d  %s (%d embedded, %d in tests)\n", s.code, s.path, s.data, s.tests)
		}
	}
	fmt.Fprintf(w, "%7d  tests\n", tests)
	if len(generated) > 0 {
		fmt.Fprintf(w, "Not counted, because generated: %s\n", strings.Join(generated, ", "))
	}
}

// goPackage is what `go list` prints of a package.
type goPackage struct {
	Dir, ImportPath                                                          string
	GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles, EmbedFiles []string
	Module                                                                   *struct {
		Path string
		Main bool
	}
}

// packages returns the packages of the main module that match the arguments of `go list`.
func packages(ctx context.Context, dir string, args ...string) ([]goPackage, error) {
	//nolint:gosec // the arguments are those of this file
	command := exec.CommandContext(ctx, "go", append([]string{"list", "-json"}, args...)...)
	command.Dir, command.Stderr = dir, os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", command.Args, err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg goPackage
		switch err := decoder.Decode(&pkg); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		if pkg.Module != nil && pkg.Module.Main {
			all = append(all, pkg)
		}
	}
}

func paths(packages []goPackage) []string {
	var out []string
	for _, pkg := range packages {
		out = append(out, pkg.ImportPath)
	}
	return out
}

// count counts the lines of the files of a package.
func (p goPackage) count() (size, error) {
	s := size{path: "." + strings.TrimPrefix(p.ImportPath, p.Module.Path)}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
		source, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return s, err
		}
		switch lines := codeLines(source); {
		case isGenerated(source):
			s.generated++
		case strings.HasSuffix(name, "_test.go"):
			s.tests += lines
		default:
			s.code += lines
		}
	}
	for _, name := range p.EmbedFiles {
		data, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return s, err
		}
		s.data += textLines(string(data))
	}
	return s, nil
}

// codeLines counts the lines with a part of a token that are not blank.
func codeLines(source []byte) int {
	var s scanner.Scanner
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	s.Init(file, source, nil, 0)
	lines, last := 0, 0 // last is the last line that was counted
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if kind == token.SEMICOLON && text == "\n" {
			continue // inserted by the scanner
		}
		first := file.Line(at)
		for i, part := range strings.Split(text, "\n") {
			if line := first + i; line > last && (i == 0 || strings.TrimSpace(part) != "") {
				lines, last = lines+1, line
			}
		}
	}
}

// textLines counts the lines that are not blank.
func textLines(text string) int {
	lines := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	return lines
}

// isGenerated reports whether a file has the comment of generated code.
func isGenerated(source []byte) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && ast.IsGenerated(file)
}
