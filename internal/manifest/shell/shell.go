// Package shell quotes texts for a POSIX shell, and finds the variables in them.
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
