package image

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// fakeProgram records its name and its arguments, each terminated by a NUL, and
// the record by a line feed. It fails if FAIL is one of its arguments.
const fakeProgram = `#!/bin/bash
printf '%s\0' "${0##*/}" "$UV_BREAK_SYSTEM_PACKAGES$PIP_BREAK_SYSTEM_PACKAGES" "$@" >> "$CALLS"
printf '\n' >> "$CALLS"
for arg; do if [ "$arg" = "$FAIL" ]; then exit 42; fi; done
`

// machine is the environment of a setup script: separate directories, and a PATH
// with only fake programs and the tools that the script itself uses.
type machine struct {
	t                 *testing.T
	bash              string
	bin, work, state  string
	image, calls, env string
}

func newMachine(t *testing.T, programs ...string) *machine {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash not found")
	}
	m := &machine{t: t, bash: bash, bin: t.TempDir(), work: t.TempDir(), state: filepath.Join(t.TempDir(), "state"),
		image: t.TempDir()}
	m.calls, m.env = filepath.Join(t.TempDir(), "calls"), filepath.Join(t.TempDir(), "env")
	for _, program := range programs {
		m.write(filepath.Join(m.bin, program), fakeProgram, 0o755)
	}
	for _, tool := range []string{"bash", "sh", "mkdir", "cp", "chmod", "rm", "tar", "gzip", "dirname", "cat", "env"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(path, filepath.Join(m.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *machine) write(path, text string, mode os.FileMode) {
	m.t.Helper()
	// a process that starts meanwhile would inherit the open file, which could not be executed then
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		m.t.Fatal(err)
	}
}

// install writes the ConfigMap of a spec to the directory in which the pod mounts it.
func (m *machine) install(s Spec, packed map[Source][]Packed) Rendered {
	m.t.Helper()
	d, err := Parse(s.Dockerfile)
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := Render(s, d, "debian:12", packed)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(filepath.Join(m.image, ScriptKey), r.Script, 0o444)
	for key, file := range r.Files {
		m.write(filepath.Join(m.image, key), string(file.Data), 0o444)
	}
	return r
}

// result is the result of one start of a container.
type result struct {
	code   int
	stderr string
	calls  [][]string // of this start: name, permission to break system packages, arguments
	env    map[string]string
}

// start imitates a startup script: it sources the setup and then becomes the
// server, which records its environment.
func (m *machine) start(variables ...string) result { return m.startWith("set -e", variables...) }

func (m *machine) startWith(options string, variables ...string) result {
	m.t.Helper()
	_ = os.Remove(m.calls)
	_ = os.Remove(m.env)
	script := options + "\n" + `. "$KT_IMAGE_DIR/setup.sh" || exit
[ "$#:$1" = "1:own argument" ] || { echo "arguments: $*" >&2; exit 99; }
[ -z "$(declare -F; compgen -v _kt)" ] || { echo "left: $(declare -F; compgen -v _kt)" >&2; exit 98; }
exec env -0 > "$ENV_FILE"`
	cmd := exec.CommandContext(m.t.Context(), m.bash, "-c", script, "bash", "own argument")
	cmd.Dir = m.work
	cmd.Env = append([]string{"PATH=" + m.bin, "CALLS=" + m.calls, "ENV_FILE=" + m.env, "KT_IMAGE_DIR=" + m.image,
		"KT_STATE_DIR=" + m.state, "HOME=" + m.work, "FAIL=never"}, variables...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	got := result{code: cmd.ProcessState.ExitCode(), stderr: stderr.String(), env: map[string]string{}}
	for one := range strings.SplitSeq(m.read(m.calls), "\x00\n") {
		if one != "" {
			got.calls = append(got.calls, strings.Split(one, "\x00"))
		}
	}
	for one := range strings.SplitSeq(m.read(m.env), "\x00") {
		name, value, _ := strings.Cut(one, "=")
		got.env[name] = value
	}
	return got
}

func (m *machine) read(path string) string {
	m.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m *machine) in(name string) string { return filepath.Join(m.work, name) }
func (m *machine) entries(directory string) []string {
	m.t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		m.t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// directory packs a directory with the given files. A nil skip excludes nothing.
func directory(t *testing.T, name string, files map[string]string, skip func(fs.FS, string) bool) Packed {
	t.Helper()
	content := fstest.MapFS{}
	for path, text := range files {
		mode := os.FileMode(0o600)
		if strings.HasSuffix(path, ".sh") {
			mode = 0o700
		}
		content[path] = &fstest.MapFile{Data: []byte(text), Mode: mode}
	}
	packed, err := PackDirectory(name, content, skip)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}
