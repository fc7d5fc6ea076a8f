// Package printable makes text of others harmless for terminals and CI systems.
package printable

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes matches the control sequences of a terminal (ECMA-48), such as colors and movements of the cursor: CSI, then
// strings of OSC, DCS, SOS, PM and APC up to their end, and all others.
var escapes = regexp.MustCompile("(?:\x1b\\[|\u009b)[\\x30-\\x3f]*[\\x20-\\x2f]*[\\x40-\\x7e]" +
	"|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[\\x20-\\x2f]*[\\x30-\\x7e]")

// Line converts a text to one printable line: it removes control sequences of terminals and control characters,
// and replaces tabs and line breaks by spaces, and invalid UTF-8 by "�".
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, escapes.ReplaceAllString(strings.ToValidUTF8(s, "�"), ""))
}

// workflowCommand matches what a CI system executes at the start of a line: the commands of GitHub and Forgejo
// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions), of Azure Pipelines (##vso[) and of
// TeamCity. Terraform can break a line at each space.
var workflowCommand = regexp.MustCompile(`(?i)(^|\s)(:|#)(:[a-z]|#(?:vso|teamcity)?\[)`)

// Lines is Line for each line of a text. A space makes commands for CI systems ineffective, such as
// "::error::": ": :error::".
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = workflowCommand.ReplaceAllString(Line(line), "$1$2 $3")
	}
	return strings.Join(lines, "\n")
}

// maxForeign is the maximum length of a quoted text in characters. The longest genuine ones are verdicts of policies.
const maxForeign = 4096

// Foreign converts a text of another system, such as the message of an error of a server, to one that can be quoted in
// a message: it is printable, indented after its first line so that no line looks like one of Terraform or of the
// provider, and limited to 4,096 characters.
func Foreign(s string) string {
	return Cut(strings.ReplaceAll(strings.TrimSpace(Lines(s)), "\n", "\n  "), maxForeign)
}

// Hide replaces a secret in a text. Shorter ones than 8 bytes occur in any text.
func Hide(s, secret string) string {
	if len(secret) < 8 {
		return s
	}
	return strings.ReplaceAll(s, secret, "(hidden)")
}

// Cut returns the first characters of a text. The last of them is "…" if the text is longer than the limit.
func Cut(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit-1]) + "…"
}

// HideCredential replaces the credential of a header Authorization in a text of the server that has received it, such
// as a gateway that shows the request.
func HideCredential(s, authorization string) string {
	_, credential, _ := strings.Cut(authorization, " ")
	return Hide(s, credential)
}
