package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/shell"
)

// startupScript returns the script that bash runs in the container: it installs
// Kubetorch, unless the compute is frozen, and replaces itself with the server. It
// is short because every plan contains it. Its rules are those of Kubetorch's
// provisioning/templates/kt_setup_template.sh.j2.
//
// Kubetorch compares the spelling of KT_FREEZE.
func startupScript(c Compute, k kind.Kind) string {
	freeze := "False"
	if c.Freeze {
		freeze = "True"
	}
	lines := []string{"set -e"}
	if k.ScriptRemark != "" {
		lines = append(lines, "# "+k.ScriptRemark)
	}
	lines = append(lines,
		fmt.Sprintf("export UV_LINK_MODE=copy KT_SERVER_PORT=%d KT_FREEZE=%s KT_INSTALL_NAMESPACE=%s KT_SERVICE=%s",
			kind.ServerPort, freeze, shell.Quote(cmp.Or(c.InstallNamespace, DefaultInstallNamespace)),
			shell.Quote(c.Name)),
		"ulimit -Sn hard || :")
	setup := ImageSetup{}
	if c.ImageSetup != nil {
		setup = *c.ImageSetup
		lines = append(lines, setUpImage(c)...)
	}
	lines = append(lines, expansions(c.EnvVars)...)
	lines = append(lines, findPython(setup.PythonPath))
	if !c.Freeze {
		lines = append(lines, installKubetorch(c.version(), setup.InstallCmd)...)
	}
	lines = append(lines, fmt.Sprintf(`exec "$py" -m uvicorn kubetorch.serving.http_server:app --host 0.0.0.0 --port `+
		`%d`, kind.ServerPort))
	return strings.Join(lines, "\n") + "\n"
}

// setUpImage returns the lines that source the setup script, as described in package
// image. The server receives the variables that the script exports, but variables of
// the compute override them, like the ENV of an image.
func setUpImage(c Compute) []string {
	var own []string
	for _, variable := range env(c) {
		if name := *variable.Name; len(validation.IsCIdentifier(name)) == 0 {
			own = append(own, name)
		}
	}
	lines := []string{"export KT_IMAGE_DIR=" + imagePath, `. "$KT_IMAGE_DIR/setup.sh" || exit`}
	if len(own) > 0 {
		lines = append([]string{"kt_env=$(declare -px " + strings.Join(own, " ") + " 2>/dev/null) || :"},
			append(lines, `eval "$kt_env"`)...)
	}
	return lines
}

func findPython(path string) string {
	if path != "" {
		return fmt.Sprintf(`py=$(command -v %s) || { echo %s >&2; exit 127; }`, shell.Quote(path),
			shell.Quote("no python at "+path))
	}
	return "py=" + shell.FindPython("exit 127")
}

// installRsync is for live code sync, which works only in pods with rsync. A pod without it serves all the same.
const installRsync = `command -v rsync >/dev/null || { apt-get -qq update && apt-get -qq install -y rsync && ` +
	`command -v rsync; } >&2 || echo "no rsync: code cannot be synced to this pod" >&2`

// installKubetorch returns the lines that install a release, unless it is there and its server can be imported, so that
// such a pod starts offline. The command is that of the user or, if it is empty, of uv or pip. Kubetorch's server
// installs packages with the one in KT_PIP_INSTALL_CMD (_get_kt_pip_install_cmd in serving/http_server.py), and its
// client with the one in .kt/kt_pip_install_cmd (pip_install in resources/compute/compute.py). A working directory may
// be read-only.
func installKubetorch(version, command string) []string {
	uv, pip := shell.PipInstall("$py")
	choice := []string{`if command -v uv >/dev/null`, `then KT_PIP_INSTALL_CMD="` + uv + `"`,
		`else KT_PIP_INSTALL_CMD="` + pip + `"`, `fi`}
	if command != "" {
		choice = []string{"KT_PIP_INSTALL_CMD=" + shell.Quote(command)}
	}
	return append(append([]string{installRsync}, choice...),
		`export KT_PIP_INSTALL_CMD`,
		`{ mkdir -p .kt && echo "$KT_PIP_INSTALL_CMD" >.kt/kt_pip_install_cmd; } 2>/dev/null || :`,
		`"$py" -c 'import kubetorch.serving.http_server, importlib.metadata as m, sys
exit(m.version("kubetorch") != sys.argv[1])' `+shell.Quote(version)+` >/dev/null 2>&1 ||`,
		`  /bin/bash -c "$KT_PIP_INSTALL_CMD \"\$1\"" install `+shell.Quote("kubetorch[server]=="+version))
}

// expansions returns the lines that export the variables whose values refer to
// others, such as PATH="$PATH:/custom/bin", as in Kubetorch. They expand nothing else
// in a value.
func expansions(vars map[string]string) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if shell.Reference.MatchString(vars[name]) {
			lines = append(lines, fmt.Sprintf("export %s=%s", name, expandingQuote(vars[name])))
		}
	}
	return lines
}

// refersToItself reports whether a variable extends the one of the image. It must
// not be in the environment of the container, where it would replace the variable
// that it extends.
func refersToItself(name, value string) bool {
	return slices.ContainsFunc(shell.Reference.FindAllStringSubmatch(value, -1), func(match []string) bool {
		return match[1] == name || match[2] == name
	})
}

// expandingQuote quotes s as one word of a POSIX shell that expands references.
func expandingQuote(s string) string {
	var b strings.Builder
	end := 0
	for _, at := range shell.Reference.FindAllStringIndex(s, -1) {
		b.WriteString(shell.Escape(s[end:at[0]]))
		b.WriteString(s[at[0]:at[1]])
		end = at[1]
	}
	b.WriteString(shell.Escape(s[end:]))
	return `"` + b.String() + `"`
}
