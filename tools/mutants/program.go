package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// runtimeSource is the package that the mutated files call.
//
//go:embed runtime.go.txt
var runtimeSource []byte

// runtimeDir is where the compiler finds this package, in the module.
const runtimeDir = "internal/mutant"

// program is the module with all mutants.
type program struct {
	dir, work string
	files     *regexp.Regexp
	module    string
	packages  []*packages.Package
	mutants   []*mutant
	keys      map[string]int    // how often each key occurs
	origin    map[string]string // of the mutated files
	// excluded are lines whose mutants do not compile.
	excluded map[string]map[int]bool
}

// newProgram returns the program in a directory, of which the files with matching paths are mutated. It writes to the
// directory work.
func newProgram(dir, work, files string) (*program, error) {
	pattern, err := regexp.Compile(files)
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	return &program{dir: dir, work: work, files: pattern, excluded: map[string]map[int]bool{}}, err
}

// load reads the packages to mutate.
func (p *program) load(ctx context.Context, patterns []string) error {
	config := &packages.Config{Context: ctx, Dir: p.dir, Mode: packages.NeedName | packages.NeedFiles |
		packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports |
		packages.NeedModule}
	var err error
	if p.packages, err = packages.Load(config, patterns...); err != nil {
		return err
	}
	for _, pkg := range p.packages {
		if len(pkg.Errors) > 0 {
			return fmt.Errorf("%s: %w", pkg.PkgPath, pkg.Errors[0])
		}
		p.module = pkg.Module.Path
	}
	if p.module == "" {
		return errors.New("no packages")
	}
	return nil
}

func (p *program) overlay() string { return filepath.Join(p.work, "overlay.json") }

// covers reports whether the mutants of a key are among those of this run.
func (p *program) covers(key string) bool {
	file, _, _ := strings.Cut(key, ": ")
	for _, pkg := range p.packages {
		for _, path := range pkg.GoFiles {
			if path == filepath.Join(p.dir, file) && p.files.MatchString(file) {
				return true
			}
		}
	}
	return false
}

// compile writes the mutated files, without the mutants that do not compile.
func (p *program) compile(ctx context.Context) error {
	for range 20 {
		if err := p.write(); err != nil {
			return err
		}
		args := []string{"build", "-gcflags=-e", "-overlay", p.overlay()}
		for _, pkg := range p.packages {
			args = append(args, pkg.PkgPath)
		}
		out, err := p.goCommand(ctx, args...)
		if err == nil {
			return nil
		}
		if !p.exclude(out) {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return errors.New("some mutants do not compile")
}

func (p *program) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the caller's packages
	command.Dir = p.dir
	return command.CombinedOutput()
}

var compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):(?:\d+:)? `)

// exclude notes the lines of compile errors, and reports whether there were new ones.
func (p *program) exclude(output []byte) bool {
	found := false
	for _, match := range compileError.FindAllSubmatch(output, -1) {
		file, line := string(match[1]), string(match[2])
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.dir, file)
		}
		if path := p.origin[file]; path != "" {
			file = path
		}
		number, _ := strconv.Atoi(line)
		if p.excluded[file] == nil {
			p.excluded[file] = map[int]bool{}
		}
		found = found || !p.excluded[file][number]
		p.excluded[file][number] = true
	}
	return found
}

// write writes all mutated files and the overlay.
func (p *program) write() error {
	p.mutants, p.origin, p.keys = nil, map[string]string{}, map[string]int{}
	replace := map[string]string{}
	add := func(path string, content []byte) error {
		target := filepath.Join(p.work, fmt.Sprintf("%d.go", len(replace)))
		replace[path], p.origin[target] = target, path
		return os.WriteFile(target, content, 0o600)
	}
	if err := add(filepath.Join(p.dir, runtimeDir, "mutant.go"), runtimeSource); err != nil {
		return err
	}
	for _, pkg := range p.packages {
		for _, file := range pkg.Syntax {
			path := pkg.Fset.Position(file.Package).Filename
			short, err := filepath.Rel(p.dir, path)
			if err != nil || !p.files.MatchString(short) {
				continue
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			m := &mutator{pkg: pkg, file: file, source: source, path: filepath.ToSlash(short), next: p.register,
				skip: func(line int) bool { return p.excluded[path][line] }}
			if content := m.mutated(p.module + "/" + runtimeDir); content != nil {
				if err := add(path, content); err != nil {
					return err
				}
			}
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(p.overlay(), data, 0o600)
}

func (p *program) register(m *mutant) int {
	key := m.key()
	m.again = p.keys[key]
	p.keys[key]++
	p.mutants = append(p.mutants, m)
	m.id = len(p.mutants)
	return m.id
}

// lines returns the lines of a text that are not empty.
func lines(text []byte) []string {
	return strings.Fields(string(bytes.TrimSpace(text)))
}
