package manifest

import (
	"cmp"
	"fmt"
	"strings"
)

// startupScript is what bash runs in the container: it installs Kubetorch,
// unless the compute is frozen, and becomes its server. It is part of every
// plan, so it is kept short.
//
// KT_FREEZE is spelled as Kubetorch compares it. Distributions that guard
// their Python (PEP 668) refuse an install into it; in a container that is the
// only place to install to, so both installers are told to go on.
func startupScript(c Compute) string {
	freeze := "False"
	if c.Freeze {
		freeze = "True"
	}
	lines := []string{
		"set -e",
		fmt.Sprintf("export KT_SERVER_PORT=%d KT_FREEZE=%s KT_INSTALL_NAMESPACE=%s KT_SERVICE=%s",
			ServerPort, freeze, shellQuote(cmp.Or(c.InstallNamespace, DefaultInstallNamespace)), shellQuote(c.Name)),
		"ulimit -Sn hard || :",
		`py=$(command -v python3 || command -v python) || { echo "neither python3 nor python in PATH=$PATH" >&2; exit 127; }`,
	}
	if !c.Freeze {
		pkg := shellQuote("kubetorch[server]==" + KubetorchVersion)
		lines = append(lines,
			"if command -v uv >/dev/null",
			`then UV_BREAK_SYSTEM_PACKAGES=1 uv pip install --python "$py" `+pkg,
			`else PIP_BREAK_SYSTEM_PACKAGES=1 "$py" -m pip install `+pkg,
			"fi")
	}
	lines = append(lines, fmt.Sprintf(`exec "$py" -m uvicorn kubetorch.serving.http_server:app --host 0.0.0.0 --port %d`, ServerPort))
	return strings.Join(lines, "\n") + "\n"
}

// shellQuote is s as one word of a POSIX shell.
func shellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@%+"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
