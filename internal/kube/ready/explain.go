package ready

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

const (
	maxText     = 300  // characters of a message of another component
	maxVerdict  = 1000 // characters of a rejection, which lists all fields to correct
	maxLogLines = 20
)

// Explain formats the detail of an error: the cause, the object that shows it,
// the next step, the command to investigate with, and the last events and log
// lines. logs are the last lines of the container in c.Logs, oldest first; at
// most the last 20 are shown. The words are those of [advice.Text.In].
func Explain(c *Cause, logs []string, words ...map[advice.Field]string) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	if c.Reason != "" { // otherwise the cause is unknown
		b.WriteString("Cause: ")
	}
	fmt.Fprintf(&b, "%s\n\n", c.Summary)
	if c.Object != "" {
		fmt.Fprintf(&b, "Object: %s\n", c.Object)
	}
	hint := c.Hint
	const format = "exec format error" // it is all that such a container logs
	if mentions(c.Summary, format) || len(logs) > 0 && strings.HasSuffix(logs[len(logs)-1], format) {
		hint = advice.Of("Build the image for the architecture of the node, or select other nodes with %s. A script "+
			"needs a first line such as #!/bin/sh.", advice.NodeSelector)
	}
	if hint := hint.In(words...); hint != "" {
		fmt.Fprintf(&b, "Next step: %s\n", hint)
	}
	if c.Command != "" {
		fmt.Fprintf(&b, "Investigate with:\n  %s\n", c.Command) // Terraform does not wrap indented lines
	}
	section(&b, "Recent events:", c.Events)
	section(&b, logTitle(c.Logs), logTail(logs))
	return strings.TrimRight(b.String(), "\n")
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

func logTitle(l *LogRef) string {
	switch {
	case l == nil:
		return "Last log lines:"
	case l.Previous:
		return fmt.Sprintf("Last log lines of container %s before it ended:", l.Container)
	}
	return fmt.Sprintf("Last log lines of container %s:", l.Container)
}

// logTail returns the last non-empty lines, truncated and without terminal
// escapes.
func logTail(logs []string) []string {
	var lines []string
	for _, line := range logs {
		line = printable.Cut(strings.TrimRight(printable.Line(line), " "), maxText)
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-maxLogLines):]
}

// clip converts a message of another component to one line of limited length, without the output of a container.
func clip(s string) string { return clipTo(quotedOutput.ReplaceAllString(s, "$1"), maxText) }

// quotedOutput matches the end of the log of a container in the status of an object of Knative
// (pkg/apis/serving/v1/revision_lifecycle.go) and of a job of Ray (python/ray/dashboard/modules/job/job_supervisor.py).
// It can contain values of Secrets, and no pod is known to mask them by.
var quotedOutput = regexp.MustCompile(`(?s)(Container failed) with: .*|, last available logs \(.*`)

// clipTo is clip with another limit.
func clipTo(s string, limit int) string {
	return printable.Cut(strings.Join(strings.Fields(printable.Line(s)), " "), limit)
}

// clipEnd is like clip, but keeps the end of the text, as for a log.
func clipEnd(s string) string {
	r := []rune(strings.Join(strings.Fields(printable.Line(s)), " "))
	if len(r) <= maxText {
		return string(r)
	}
	return "…" + string(r[len(r)-maxText+1:])
}

// mentions reports whether a text contains one of the words, which are in lower case.
func mentions(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// andThen appends a sentence to a text, unless it is "".
func andThen(text, sentence string) string {
	switch {
	case sentence == "":
		return text
	case strings.HasSuffix(text, ".") || strings.HasSuffix(text, "…"):
		return text + " " + sentence
	}
	return text + ". " + sentence
}

// object formats the name of an object for errors: "Deployment ml/svc".
func object(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", kind.Kind{GroupVersionKind: u.GroupVersionKind()}.Word(), u.GetNamespace(),
		u.GetName())
}

// describe returns the command that describes an object, with the group of its
// kind, which may be ambiguous: "kubectl -n ml describe deployment.apps svc".
func describe(of schema.GroupVersionKind, namespace, name string) string {
	resource := strings.ToLower(of.Kind)
	if of.Group != "" {
		resource += "." + of.Group
	}
	return Kubectl(namespace, "describe", resource, name)
}

// Kubectl returns a command for messages. It quotes each word that a POSIX
// shell would not take literally, because names can be foreign text, such as the
// message of an event. NAME stands for one that kubectl would take for an option.
func Kubectl(namespace string, words ...string) string {
	if namespace != "" {
		words = append([]string{"-n", namespace}, words...)
	}
	return "kubectl " + strings.Join(kind.Each(words, quoted), " ")
}

// literal matches a word that a shell takes literally.
var literal = regexp.MustCompile(`^[\w%+,./:=@-]+$`)

// option matches the options of all commands here.
var option = regexp.MustCompile(`^(-[cflnop]|--(api-group=[\w.-]*|field-selector|show-labels))$`)

func quoted(word string) string {
	if strings.HasPrefix(word, "-") && !option.MatchString(word) { // such as --server=https://example.com
		return "NAME"
	}
	if literal.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Listed joins at most the given number of items, and counts the others.
func Listed(items []string, most int) string {
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
	}
	return strings.Join(items, ", ")
}
