// Package shell quotes texts for a POSIX shell, finds the variables in them, and has the commands of the scripts that
// run before a server.
package shell

import (
	"regexp"
	"strings"
)

// Reference matches a variable in a text, $NAME or ${NAME}. One of its two groups is the name.
var Reference = regexp.MustCompile(`\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})`)

// Quote quotes s as one word, in which nothing is expanded.
func Quote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@%+"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Escape escapes s for double quotes, so that nothing in it is expanded.
func Escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`).Replace(s)
}

// FindPython returns a value for a variable: the path of the Python interpreter. Where there is none, the shell prints
// an error and executes fail.
func FindPython(fail string) string {
	return `$(command -v python3 || command -v python) || { echo "neither python3 nor python in PATH=$PATH" >&2; ` +
		fail + `; }`
}

// PipInstall returns the commands that install packages for an interpreter, a word of a shell, with uv and with pip.
// Some distributions reject installations into their Python (PEP 668). In a container, there is no other Python, so the
// commands ignore that, with variables, because older releases do not know the options.
func PipInstall(python string) (uv, pip string) {
	return "UV_BREAK_SYSTEM_PACKAGES=1 uv pip install --python " + python,
		"PIP_BREAK_SYSTEM_PACKAGES=1 " + python + " -m pip install"
}
