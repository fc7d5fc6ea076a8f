package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStepsRunInOrderAndVariablesReachTheServer(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "one", "two", "python3")
	m.install(Spec{
		Dockerfile: "FROM debian:12\nRUN one \"$A\"\nENV A=first\nRUN one \"$A\"\nENV A=second B=$A\nRUN [\"two\", " +
			"\"$A\"]",
		Steps: []Step{
			{PipInstall: []string{"torch==2.5.1", "numpy"}},
			{SetEnvVars: map[string]string{"C": "${A}/$B", "PATH": "$PATH:/opt/bin"}},
			{RunBash: "two <<< \"\" \"$C\"\ntwo last"},
		},
	}, nil)
	got := m.start()
	want := [][]string{
		{"one", "", ""}, {"one", "", "first"}, {"two", "", "$A"},
		{"python3", "1", "-m", "pip", "install", "torch==2.5.1", "numpy"}, {"two", "", "second/first"},
		{"two", "", "last"},
	}
	if got.code != 0 || !slices.EqualFunc(got.calls, want, slices.Equal) {
		t.Errorf("exit %d, calls %q, want %q\n%s", got.code, got.calls, want, got.stderr)
	}
	for name, value := range map[string]string{"A": "second", "B": "first", "C": "second/first",
		"PATH": m.bin + ":/opt/bin"} {
		if got.env[name] != value {
			t.Errorf("the server has %s=%q, want %q", name, got.env[name], value)
		}
	}
	if _, leaked := got.env["PIP_BREAK_SYSTEM_PACKAGES"]; leaked {
		t.Error("the server is allowed to break system packages")
	}
}

// nasty returns texts that a shell could misinterpret.
func nasty() []string {
	return []string{
		"it's", `a "quoted" word`, "$HOME ${HOME} $(touch x) `touch x`", `back\slash\`, "; touch x", "* ? [a-z]", "~",
		"!!", "-n", "--", "two  blanks", "ünïcode", "a\tb", "#", "{a,b}", "<(x)", "&& false", "%s%n", "'", "''",
		`"`, "a=b",
	}
}

func TestTextIsNeverInterpretedByTheShell(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "one", "python3")
	var s Spec
	for _, text := range nasty() {
		s.Steps = append(s.Steps, Step{PipInstall: []string{text}})
		s.Dockerfile += "RUN " + list([]string{"one", text}) + "\n"
	}
	s.Steps = append(s.Steps, Step{Copy: &Copy{Source: "a.txt", Dest: "it's $(touch x) `x`.txt"}})
	m.install(s, map[Source][]Packed{{Path: "a.txt"}: {PackFile("it's a $file.txt", []byte("hello"), 0o644)}})
	got := m.start()
	if got.code != 0 || len(got.calls) != 2*len(nasty()) {
		t.Fatalf("exit %d, %d calls\n%s", got.code, len(got.calls), got.stderr)
	}
	for i, text := range nasty() {
		if arrived := got.calls[i]; !slices.Equal(arrived, []string{"one", "", text}) {
			t.Errorf("%q arrives as %q", text, arrived)
		}
		if arrived := got.calls[len(nasty())+i]; !slices.Equal(arrived,
			[]string{"python3", "1", "-m", "pip", "install", text}) {
			t.Errorf("%q arrives as %q", text, arrived)
		}
	}
	if left := m.entries(m.work); !slices.Equal(left, []string{"it's $(touch x) `x`.txt"}) {
		t.Errorf("the directory contains %q", left)
	}
}

func TestVariablesHaveTheValuesOfADockerfile(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	env := map[string]string{"SET": "set", "EMPTY": ""}
	cases := map[string]struct{ text, want string }{ // as in a Dockerfile
		"V01": {`"$SET-${SET}x$UNSET."`, "set-setx."}, "V02": {`'$SET'`, "$SET"}, "V03": {`\$SET\\`, `$SET\`},
		"V04": {"`touch\\ x`", "`touch x`"}, "V05": {`"$(touch x)"`, "$(touch x)"}, "V06": {`a"b"'c'd`, "abcd"},
		"V07": {"${SET:-no}${UNSET:-yes}${EMPTY:-empty}", "setyesempty"},
		"V08": {"${SET-no}${UNSET-yes}${EMPTY-no}", "setyes"},
		"V09": {"${SET:+yes}${UNSET:+no}${EMPTY:+no}", "yes"},
		"V10": {"${SET+yes}${UNSET+no}${EMPTY+empty}", "yesempty"},
		"V11": {`${UNSET:-a\}b}`, "a}b"}, "V12": {`${UNSET:-"a } 'b' \" c"}`, `a } 'b' " c`},
		"V13": {`${UNSET:-${EMPTY:-${SET}}}`, "set"},
		"V14": {`"!"`, "!"}, "V15": {`"ü"ä`, "üä"}, "V16": {`${UNSET:-\$SET\` + "`x}", "$SET`x"}, "V17": {`""`, ""},
	}
	var s Spec
	for name, one := range cases {
		s.Dockerfile += "ENV " + name + "=" + one.text + "\n"
	}
	plain := map[string]string{}
	for i, text := range nasty() {
		plain["P"+string(rune('A'+i))] = strings.ReplaceAll(strings.ReplaceAll(text, "$HOME", "$ HOME"), "${HOME}", "")
	}
	s.Steps = []Step{{SetEnvVars: plain}, {SetEnvVars: map[string]string{"QUOTES": `"$SET" '${SET}' \$SET`}}}
	m.install(s, nil)
	for _, options := range []string{"set -e", "set -eu", "set -u -o pipefail", ":"} {
		got := m.startWith(options, "SET="+env["SET"], "EMPTY=")
		if got.code != 0 {
			t.Fatalf("%s: exit %d\n%s", options, got.code, got.stderr)
		}
		for name, one := range cases {
			if got.env[name] != one.want {
				t.Errorf("%s: %s gives %q, want %q", options, one.text, got.env[name], one.want)
			}
		}
		for name, want := range plain {
			if got.env[name] != want {
				t.Errorf("%s: %s is %q, want %q", options, name, got.env[name], want)
			}
		}
		if want := `"set" 'set' \set`; got.env["QUOTES"] != want {
			t.Errorf("%s: quotes give %q, want %q", options, got.env["QUOTES"], want)
		}
	}
	if left := m.entries(m.work); len(left) > 0 {
		t.Errorf("a text was executed: %q", left)
	}
}

func TestFirstFailureStopsTheSetupAndIsReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec Spec
		says string
		code int
		made []string
	}{
		"RUN": {Spec{Dockerfile: "FROM debian:12\nRUN one a\n\nRUN one fail && one b\nRUN one c"},
			"image set-up: step 2, RUN in line 4 of the Dockerfile, failed with exit code 42", 42,
			[]string{"a", "fail"}},
		"RUN in exec form": {Spec{Dockerfile: "RUN [\"one\", \"fail\"]\nENV A=1\nRUN one c"},
			"step 1, RUN in line 1 of the Dockerfile, failed with exit code 42", 42, []string{"fail"}},
		"a missing program": {Spec{Dockerfile: "RUN [\"no-such-program\"]\nRUN one c"},
			"step 1, RUN in line 1 of the Dockerfile, failed with exit code 127", 127, nil},
		"a function of the setup": {Spec{Dockerfile: "RUN [\"_kt_pip\"]\nRUN one c"}, "failed with exit code 127", 127,
			nil},
		"a line of run_bash": {Spec{Steps: []Step{{RunBash: "one a\none fail\none b"}, {RunBash: "one c"}}},
			"step 1, run_bash, failed with exit code 42", 42, []string{"a", "fail"}},
		"a pipe of run_bash": {Spec{Steps: []Step{{RunBash: "one fail | cat\none b"}, {RunBash: "one c"}}},
			"step 1, run_bash, failed with exit code 42", 42, []string{"fail"}},
		"syntax of run_bash": {Spec{Steps: []Step{{RunBash: "if"}, {RunBash: "one c"}}},
			"step 1, run_bash, failed with exit code", 2, nil},
		"pip_install": {Spec{InstallCmd: "one 'it''s' install",
			Steps: []Step{{PipInstall: []string{"fail"}},
				{RunBash: "one c"}}}, "step 1, pip_install, failed with exit code 42", 42,
			[]string{"its install fail"}},
		"no Python": {Spec{Steps: []Step{{PipInstall: []string{"torch"}}, {RunBash: "one c"}}},
			"neither python3 nor python in PATH=", 127, nil},
		"copy to nowhere": {Spec{Steps: []Step{{Copy: &Copy{Source: "a.txt", Dest: "/dev/null/x"}},
			{RunBash: "one c"}}}, "step 1, copy, failed with exit code 1", 1, nil},
		"an exit of the step": {Spec{Steps: []Step{{RunBash: "exit 7"}, {RunBash: "one c"}}},
			"step 1, run_bash, failed with exit code 7", 7, nil},
		"input that it waits for": {Spec{Steps: []Step{{RunBash: "read -r line"}, {RunBash: "one c"}}},
			"step 1, run_bash, failed with exit code 1", 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "one")
			m.install(test.spec, pretend(Sources(test.spec, Dockerfile{})))
			for range 2 { // failed steps run again
				for _, options := range []string{"set -e", ":"} {
					got := m.startWith(options, "FAIL=fail")
					if got.code != test.code || !strings.Contains(got.stderr, test.says) || len(got.env["PATH"]) > 0 {
						t.Errorf("exit %d, want %d before the server starts, with %q in standard error:\n%s", got.code,
							test.code, test.says, got.stderr)
					}
					var made []string
					for _, call := range got.calls {
						made = append(made, strings.Join(call[2:], " "))
					}
					if !slices.Equal(made, test.made) {
						t.Errorf("calls %q, want %q", made, test.made)
					}
				}
			}
		})
	}
}

func TestStepsRunOnceForEachContent(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "one", "python3")
	spec := Spec{Dockerfile: "RUN one a\nENV A=1", Steps: []Step{{PipInstall: []string{"torch"}}, {SyncPackage: "lib"}}}
	packed := map[Source][]Packed{{Path: "lib", Package: true}: {directory(t, "lib",
		map[string]string{"__init__.py": "x = 1"}, Excluded)}}
	first := m.install(spec, packed)
	if got := m.start(); got.code != 0 || len(got.calls) != 2 {
		t.Fatalf("first start: exit %d, calls %q\n%s", got.code, got.calls, got.stderr)
	}
	got := m.start("PYTHONPATH=/before")
	if got.code != 0 || len(got.calls) != 0 || got.stderr != "" {
		t.Errorf("second start: exit %d, calls %q, standard error %q", got.code, got.calls, got.stderr)
	}
	if want := filepath.Join(m.state, "packages") + ":/before"; got.env["A"] != "1" || got.env["PYTHONPATH"] != want {
		t.Errorf("the second start exports A=%q PYTHONPATH=%q, want 1 and %q", got.env["A"], got.env["PYTHONPATH"],
			want)
	}

	spec.Steps[0].PipInstall = []string{"jax"}
	if second := m.install(spec, packed); second.Digest == first.Digest {
		t.Error("different content has the same digest")
	}
	if got := m.start(); len(got.calls) != 2 {
		t.Errorf("different content: calls %q", got.calls)
	}
	packed = map[Source][]Packed{{Path: "lib", Package: true}: {directory(t, "lib",
		map[string]string{"new.py": "x = 2"},
		Excluded)}}
	m.install(spec, packed)
	if got := m.start(); len(got.calls) != 2 {
		t.Errorf("different file: calls %q", got.calls)
	}
	if left := m.entries(filepath.Join(m.state, "packages", "lib")); !slices.Equal(left, []string{"new.py"}) {
		t.Errorf("the package contains %q", left)
	}
}

func TestNextStateDirectoryIsUsedIfOneIsNotWritable(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "one")
	m.write(m.state, "a file, in which no directory can be created", 0o444)
	m.install(Spec{Steps: []Step{{RunBash: "one a"}}}, nil)
	if got := m.start(); got.code != 0 || len(got.calls) != 1 {
		t.Fatalf("exit %d, calls %q\n%s", got.code, got.calls, got.stderr)
	}
	if left := m.entries(m.in(".kubetorch")); len(left) != 1 {
		t.Errorf("the home directory contains %q, want the marker file", left)
	}
	if got := m.start(); got.code != 0 || len(got.calls) != 0 {
		t.Errorf("second start: exit %d, calls %q\n%s", got.code, got.calls, got.stderr)
	}
}

func TestPackagesAreInstalledLikeInTheStartupScript(t *testing.T) {
	t.Parallel()
	pip := Spec{Steps: []Step{{PipInstall: []string{"a b", "--pre"}}}}
	for name, test := range map[string]struct {
		programs []string
		change   func(*Spec)
		want     []string
	}{
		"uv first": {[]string{"uv", "python3", "python"}, func(*Spec) {},
			[]string{"uv", "1", "pip", "install", "--python", "BIN/python3", "a b", "--pre"}},
		"python3": {[]string{"python3", "python"}, func(*Spec) {},
			[]string{"python3", "1", "-m", "pip", "install", "a b", "--pre"}},
		"then python": {[]string{"python"}, func(*Spec) {},
			[]string{"python", "1", "-m", "pip", "install", "a b", "--pre"}},
		"python_path": {[]string{"python3", "my python"}, func(s *Spec) { s.PythonPath = "BIN/my python" },
			[]string{"my python", "1", "-m", "pip", "install", "a b", "--pre"}},
		"uv and a path": {[]string{"uv", "my python"}, func(s *Spec) { s.PythonPath = "BIN/my python" },
			[]string{"uv", "1", "pip", "install", "--python", "BIN/my python", "a b", "--pre"}},
		"install_cmd": {[]string{"uv", "python3", "mamba"}, func(s *Spec) { s.InstallCmd = `mamba "in stall" -y` },
			[]string{"mamba", "", "in stall", "-y", "a b", "--pre"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, test.programs...)
			spec := pip
			test.change(&spec)
			spec.PythonPath = strings.Replace(spec.PythonPath, "BIN", m.bin, 1)
			m.install(spec, nil)
			got := m.start()
			want := slices.Clone(test.want)
			for i := range want {
				want[i] = strings.Replace(want[i], "BIN", m.bin, 1)
			}
			if got.code != 0 || len(got.calls) != 1 || !slices.Equal(got.calls[0], want) {
				t.Errorf("exit %d, calls %q, want %q\n%s", got.code, got.calls, want, got.stderr)
			}
		})
	}
}

func TestFilesAndDirectoriesAreCopiedLikeInDocker(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	source := func(path string) Source { return Source{Path: path} }
	file := func(name, text string, mode os.FileMode) []Packed {
		return []Packed{PackFile(name, []byte(text), mode)}
	}
	packed := map[Source][]Packed{
		source("a.txt"): file("a.txt", "a", 0o600), source("run.sh"): file("run.sh", "run", 0o700),
		source("bin"):  file("bin", "\xff\x00", 0o644),
		source("tree"): {directory(t, "tree", map[string]string{"x/y.txt": "y", "go.sh": "go", "x/.hidden": "h"}, nil)},
		source("*.py"): {PackFile("1.py", []byte("1"), 0o644), PackFile("2.py", nil, 0o644)},
	}
	m.install(Spec{Dockerfile: `
COPY a.txt new/name.txt
COPY a.txt run.sh folder/
COPY a.txt folder
COPY tree folder/tree
COPY tree .
COPY ["bin", "binary"]
COPY *.py py/
`}, packed)
	if got := m.start(); got.code != 0 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	for path, want := range map[string]string{
		"new/name.txt": "a", "folder/a.txt": "a", "folder/run.sh": "run", "folder/tree/x/y.txt": "y", "x/y.txt": "y",
		"x/.hidden": "h", "go.sh": "go", "binary": "\xff\x00", "py/1.py": "1", "py/2.py": "",
	} {
		info, err := os.Stat(m.in(path))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := m.read(m.in(path)); got != want {
			t.Errorf("%s contains %q, want %q", path, got, want)
		}
		if executable := info.Mode()&0o111 != 0; executable != strings.HasSuffix(path, ".sh") {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
	}
}

func TestProjectsAreInstalledAndOtherPackagesAreInPythonPath(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "python3")
	m.install(Spec{Steps: []Step{{SyncPackage: "/src/proj"}, {SyncPackage: "lib"}, {SyncPackage: "lib2"}}},
		map[Source][]Packed{
			{Path: "/src/proj", Package: true}: {directory(t, "proj",
				map[string]string{"pyproject.toml": "[project]", ".git/config": "x", "src/proj/__pycache__/x.pyc": "x",
					"src/proj/__init__.py": ""}, Excluded)},
			{Path: "lib", Package: true}:  {directory(t, "lib", map[string]string{"__init__.py": ""}, Excluded)},
			{Path: "lib2", Package: true}: {directory(t, "lib2", map[string]string{"__init__.py": ""}, Excluded)},
		})
	got := m.start()
	packages := filepath.Join(m.state, "packages")
	if want := [][]string{{"python3", "1", "-m", "pip", "install", packages + "/proj"}}; got.code != 0 ||
		!slices.EqualFunc(got.calls, want, slices.Equal) {
		t.Errorf("exit %d, calls %q, want %q\n%s", got.code, got.calls, want, got.stderr)
	}
	if got.env["PYTHONPATH"] != packages {
		t.Errorf("PYTHONPATH is %q, want %q", got.env["PYTHONPATH"], packages)
	}
	if names := m.entries(packages + "/proj"); !slices.Equal(names, []string{"pyproject.toml", "src"}) {
		t.Errorf("the project contains %q", names)
	}
}

func TestArchivesDependOnlyOnTheContent(t *testing.T) {
	t.Parallel()
	files := map[string]string{"b": "2", "a/c": "3", "a/b.sh": "4"}
	one, other := directory(t, "x", files, nil), directory(t, "x", files, nil)
	if !bytes.Equal(one.Data, other.Data) || one.Digest() != other.Digest() {
		t.Error("the same directory has another archive")
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(one.Data))
	if err != nil {
		t.Fatal(err)
	}
	var repacked bytes.Buffer
	fast, _ := gzip.NewWriterLevel(&repacked, gzip.BestSpeed)
	archive, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fast.Write(archive); err != nil || fast.Close() != nil {
		t.Fatal(err)
	}
	again := one
	if again.Data = repacked.Bytes(); bytes.Equal(again.Data, one.Data) || again.Digest() != one.Digest() {
		t.Error("the digest depends on the compression of the archive")
	}
	entries := tar.NewReader(bytes.NewReader(archive))
	var names []string
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "" || header.ModTime.Unix() > 0 {
			t.Errorf("%s: %+v", header.Name, header)
		}
	}
	if want := []string{"a/", "a/b.sh", "a/c", "b"}; !slices.Equal(names, want) {
		t.Errorf("the archive contains %q, want %q", names, want)
	}
}
