package manifest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// A fake program records its call: its name, its process, the exported variables
// and its arguments, each terminated by a NUL, and the record by a line feed. It
// fails if FAIL is one of its arguments. As a Python that is to import the server, it
// records nothing, and succeeds if PRESENT is set.
const fakeProgram = `#!/bin/bash
if [ "$1" = -c ]; then [ "$PRESENT" = "$3" ]; exit; fi
printf '%s\0' "${0##*/}" "$$" "$KT_SERVER_PORT" "$KT_FREEZE" "$KT_INSTALL_NAMESPACE" "$KT_SERVICE" \
  "$(ulimit -Sn)/$(ulimit -Hn)" "$UV_BREAK_SYSTEM_PACKAGES$PIP_BREAK_SYSTEM_PACKAGES" "$KT_PIP_INSTALL_CMD" \
  "$@" >> "$CALLS"
printf '\n' >> "$CALLS"
for arg; do if [ "$arg" = "$FAIL" ]; then exit 42; fi; done
exit 0
`

// call is the record of a fake program.
type call struct {
	program, pid, port, freeze, installNamespace, service, limits, breakSystem, pipInstall string

	args []string
}

// outcome is the result of a startup script.
type outcome struct {
	pid    string // of the bash that was started
	code   int
	stderr string
	saved  string // the command in .kt/kt_pip_install_cmd
	calls  []call
}

// run runs the startup script like the container, with only mkdir and fake programs in PATH,
// in an empty directory to which it must write nothing but the command for Kubetorch.
func run(t *testing.T, c Compute, fail string, programs ...string) outcome {
	t.Helper()
	return runScript(t, startupScript(c, kindOf(c)), fail, nil, programs...)
}

// writeProgram writes an executable file. No process may start at the same time: it would inherit the open file, which
// could then not be executed ("text file busy", see go.dev/issue/22315).
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func runScript(t *testing.T, script, fail string, env []string, programs ...string) outcome {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	bin, work, notes := t.TempDir(), t.TempDir(), t.TempDir()
	for _, program := range programs {
		writeProgram(t, filepath.Join(bin, program), fakeProgram)
	}
	mkdir, err := exec.LookPath("mkdir")
	if err == nil {
		err = os.Symlink(mkdir, filepath.Join(bin, "mkdir"))
	}
	if err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(notes, "calls")
	// The script raises a soft limit that is below the hard limit.
	lowered := "ulimit -Sn 64; exec \"$0\" -c \"$1\""
	cmd := exec.CommandContext(t.Context(), bash, "-c", lowered, bash, script)
	cmd.Dir = work
	cmd.Env = append([]string{"PATH=" + bin, "CALLS=" + calls, "FAIL=" + fail}, env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	left, err := os.ReadDir(work)
	left = slices.DeleteFunc(left, func(entry os.DirEntry) bool { return entry.Name() == ".kt" })
	if err != nil || len(left) > 0 {
		t.Errorf("the script left %v in its directory (%v)", left, err)
	}
	saved, err := os.ReadFile(filepath.Join(work, ".kt", "kt_pip_install_cmd"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	noted, err := os.ReadFile(calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return outcome{
		pid:    strconv.Itoa(cmd.Process.Pid),
		code:   cmd.ProcessState.ExitCode(),
		stderr: stderr.String(),
		saved:  strings.TrimSuffix(string(saved), "\n"),
		calls:  parseCalls(string(noted)),
	}
}

func parseCalls(noted string) []call {
	var calls []call
	for one := range strings.SplitSeq(noted, "\x00\n") {
		if f := strings.Split(one, "\x00"); len(f) >= 9 {
			calls = append(calls, call{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9:]})
		}
	}
	return calls
}

func compute(change ...func(*Compute)) Compute {
	c := Compute{Name: "svc", Namespace: "ml", Replicas: 1}
	for _, f := range change {
		f(&c)
	}
	return c
}

func frozen(c *Compute) { c.Freeze = true }

// server is the command line with which the script replaces itself.
var server = []string{"-m", "uvicorn", "kubetorch.serving.http_server:app", "--host", "0.0.0.0", "--port", "32300"}

func TestScriptInstallsWithUVAndStartsTheServer(t *testing.T) {
	t.Parallel()
	got := run(t, compute(), "", "python3", "python", "uv")
	if got.code != 0 || len(got.calls) != 2 {
		t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
	install, serve := got.calls[0], got.calls[1]
	if install.program != "uv" || len(install.args) != 5 || !strings.HasSuffix(install.args[3], "/python3") ||
		!slices.Equal(slices.Delete(slices.Clone(install.args), 3, 4),
			[]string{"pip", "install", "--python", "kubetorch[server]==0.5.0"}) {
		t.Errorf("first call is %s %q, want uv to install for python3", install.program, install.args)
	}
	if install.breakSystem != "1" || serve.breakSystem != "" {
		t.Errorf("leave to break system packages: %q for the install, %q for the server", install.breakSystem,
			serve.breakSystem)
	}
	if serve.program != "python3" || !slices.Equal(serve.args, server) {
		t.Errorf("the container becomes %s %q, want python3 %q", serve.program, serve.args, server)
	}
	if serve.pid != got.pid {
		t.Errorf("the server is process %s, want that of the container, %s", serve.pid, got.pid)
	}
}

func TestScriptInstallsWithPipWithoutUV(t *testing.T) {
	t.Parallel()
	got := run(t, compute(), "", "python3")
	if got.code != 0 || len(got.calls) != 2 {
		t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
	install := got.calls[0]
	if want := []string{"-m", "pip", "install", "kubetorch[server]==0.5.0"}; install.program != "python3" ||
		!slices.Equal(install.args, want) || install.breakSystem != "1" {
		t.Errorf("first call is %s %q, want python3 %q", install.program, install.args, want)
	}
	if serve := got.calls[1]; !slices.Equal(serve.args, server) || serve.breakSystem != "" {
		t.Errorf("the container becomes %s %q", serve.program, serve.args)
	}
}

func TestScriptOfFrozenComputeInstallsNothing(t *testing.T) {
	t.Parallel()
	got := run(t, compute(frozen), "", "python3", "uv")
	if got.code != 0 || len(got.calls) != 1 || !slices.Equal(got.calls[0].args, server) {
		t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
	if got.calls[0].freeze != "True" {
		t.Errorf("KT_FREEZE is %q; Kubetorch compares it to True", got.calls[0].freeze)
	}
}

func TestScriptSkipsTheInstallOfTheVersionThatIsPresent(t *testing.T) {
	t.Parallel()
	script := startupScript(compute(), kind.Deployment())
	got := runScript(t, script, "install", []string{"PRESENT=0.5.0"}, "python3", "uv")
	if got.code != 0 || len(got.calls) != 1 || !slices.Equal(got.calls[0].args, server) {
		t.Errorf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
	if got = runScript(t, script, "", []string{"PRESENT=0.4.9"}, "python3", "uv"); len(got.calls) != 2 {
		t.Errorf("another version: exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
}

func TestScriptInstallsRsync(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		programs []string
		fail     string
		want     [][]string
	}{
		"present":       {[]string{"rsync", "apt-get"}, "", nil},
		"absent":        {[]string{"apt-get"}, "", [][]string{{"-qq", "update"}, {"-qq", "install", "-y", "rsync"}}},
		"no repository": {[]string{"apt-get"}, "update", [][]string{{"-qq", "update"}}},
		"not on Debian": {nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runScript(t, startupScript(compute(), kind.Deployment()), test.fail, []string{"PRESENT=0.5.0"},
				append(test.programs, "python3")...)
			var calls [][]string
			for _, call := range got.calls {
				if call.program == "apt-get" {
					calls = append(calls, call.args)
				}
			}
			if missing := strings.Contains(got.stderr, "no rsync"); missing == slices.Contains(test.programs, "rsync") {
				t.Errorf("stderr %s", got.stderr)
			}
			if last := got.calls[len(got.calls)-1]; got.code != 0 || last.program != "python3" ||
				!slices.EqualFunc(calls, test.want, slices.Equal) {
				t.Errorf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
			}
		})
	}
}

// Kubetorch runs the command with a shell, and a package behind it.
func TestScriptTellsKubetorchHowToInstallPackages(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"uv":   "UV_BREAK_SYSTEM_PACKAGES=1 uv pip install --python ",
		"none": "PIP_BREAK_SYSTEM_PACKAGES=1 ",
	} {
		got := run(t, compute(), "", "python3", program)
		if serve := got.calls[len(got.calls)-1]; !strings.HasPrefix(serve.pipInstall, want) ||
			!strings.Contains(serve.pipInstall, "/python3") || serve.pipInstall != got.saved {
			t.Errorf("%s: the server sees %q, the file has %q", program, serve.pipInstall, got.saved)
		}
	}
	if got := run(t, compute(frozen), "", "python3"); got.saved != "" || got.calls[0].pipInstall != "" {
		t.Errorf("frozen: %q, %q", got.calls[0].pipInstall, got.saved)
	}
}

func TestScriptFallsBackToPython(t *testing.T) {
	t.Parallel()
	got := run(t, compute(frozen), "", "python")
	if got.code != 0 || len(got.calls) != 1 || got.calls[0].program != "python" {
		t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
}

func TestScriptReportsAMissingPython(t *testing.T) {
	t.Parallel()
	got := run(t, compute(), "", "uv")
	if got.code != 127 || len(got.calls) != 0 || !strings.Contains(got.stderr, "neither python3 nor python in PATH=/") {
		t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
}

func TestScriptStopsAtAFailedInstall(t *testing.T) {
	t.Parallel()
	for name, programs := range map[string][]string{"uv": {"python3", "uv"}, "pip": {"python3"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, compute(), "install", programs...)
			if got.code != 42 || len(got.calls) != 1 {
				t.Fatalf("exit %d, calls %v, stderr %s; want the installer's 42 and no server", got.code, got.calls,
					got.stderr)
			}
		})
	}
}

func TestScriptExitsWithTheCodeOfTheServer(t *testing.T) {
	t.Parallel()
	if got := run(t, compute(frozen), "uvicorn", "python3"); got.code != 42 {
		t.Fatalf("exit %d, want the server's 42", got.code)
	}
}

func TestScriptExportsAndRaisesTheFileLimit(t *testing.T) {
	t.Parallel()
	got := run(t, compute(func(c *Compute) { c.InstallNamespace = "kt-system" }), "", "python3", "uv")
	if len(got.calls) != 2 {
		t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
	}
	for _, c := range got.calls {
		if c.port != "32300" || c.freeze != "False" || c.installNamespace != "kt-system" || c.service != "svc" {
			t.Errorf("%s sees port %q, freeze %q, install namespace %q, service %q", c.program, c.port, c.freeze,
				c.installNamespace, c.service)
		}
		if soft, hard, _ := strings.Cut(c.limits, "/"); soft != hard || soft == "64" {
			t.Errorf("%s has the file limit %s, hard limit %s", c.program, soft, hard)
		}
	}
}

func TestScriptQuotesItsArguments(t *testing.T) {
	t.Parallel()
	for _, hostile := range []string{
		"two words",
		`it's "quoted"`,
		"$(touch pwned)",
		"`touch pwned`",
		"$HOME ${PATH} $1",
		"; touch pwned #",
		"a && touch pwned || x",
		"> pwned",
		"line\nbreak",
		`back\slash\`,
		"'; touch pwned; '",
		"-n",
		"~",
		"*",
		"!!",
		"ünïcode 日本",
	} {
		t.Run(hostile, func(t *testing.T) {
			t.Parallel()
			got := run(t, compute(frozen, func(c *Compute) { c.Name, c.InstallNamespace = hostile, hostile }), "",
				"python3")
			if got.code != 0 || len(got.calls) != 1 {
				t.Fatalf("exit %d, calls %v, stderr %s", got.code, got.calls, got.stderr)
			}
			if c := got.calls[0]; c.service != hostile || c.installNamespace != hostile {
				t.Errorf("the server sees service %q, install namespace %q", c.service, c.installNamespace)
			}
		})
	}
}

// The kubelet replaces $(NAME) in arguments with the variable NAME, and $$ with $,
// before bash runs.
func TestScriptHasNoReferencesThatTheKubeletExpands(t *testing.T) {
	t.Parallel()
	replaced := regexp.MustCompile(`\$\$|\$\([-._a-zA-Z0-9]+\)`)
	if found := replaced.FindString(startupScript(compute(), kind.Deployment())); found != "" {
		t.Errorf("the kubelet would replace %q", found)
	}
}

func TestScriptIsShort(t *testing.T) {
	t.Parallel()
	const most = 1100 // bytes; it is shown in every plan
	if n := len(startupScript(compute(), kind.Deployment())); n > most {
		t.Errorf("%d bytes, want at most %d", n, most)
	}
}

func TestScriptExpandsVariablesThatReferToOthersAndNothingElse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ value, want string }{
		"extends the image's own": {"$BASE:/custom/bin", "/image:/custom/bin"},
		"with braces":             {"${BASE}x", "/imagex"},
		"quotes and backslashes":  {`"$BASE" \n 'x'`, `"/image" \n 'x'`},
		"runs no command": {"$BASE $(echo no) `echo no` $((1+1)) $$ ${BASE:-x}",
			"/image $(echo no) `echo no` $((1+1)) $$ ${BASE:-x}"},
		"a line feed": {"$BASE\nnext", "/image\nnext"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := expansions(map[string]string{"VALUE": test.value, "PLAIN": "costs 5$ and $1"})
			if len(lines) != 1 {
				t.Fatalf("exports %q, want the one variable that refers to another", lines)
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", lines[0]+"\nprintf %s \"$VALUE\"")
			cmd.Env = []string{"BASE=/image"}
			out, err := cmd.Output()
			if err != nil || string(out) != test.want {
				t.Errorf("%s gives %q (%v), want %q", lines[0], out, err, test.want)
			}
		})
	}
}

func TestVariableThatExtendsItselfIsExpandedByTheScript(t *testing.T) {
	t.Parallel()
	c := compute(func(c *Compute) { c.EnvVars = map[string]string{"PATH": "$PATH:/custom", "DATA": "$HOME/data"} })
	for _, variable := range env(c) {
		if *variable.Name == "PATH" {
			t.Error("PATH is in the container's environment, where it replaces the image's")
		}
	}
	if script := startupScript(c, kindOf(c)); !strings.Contains(script, `export PATH="$PATH:/custom"`) ||
		!strings.Contains(script, `export DATA="$HOME/data"`) {
		t.Errorf("the script does not export what refers to others:\n%s", script)
	}
}
