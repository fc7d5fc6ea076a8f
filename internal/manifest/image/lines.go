package image

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// line is one instruction of a Dockerfile with its continuation lines joined.
type line struct {
	text        string
	first, last int // lines of the file, starting at 1
}

// directive matches a parser directive, which is only recognized at the top of
// the file (https://docs.docker.com/reference/dockerfile/#parser-directives).
var directive = regexp.MustCompile(`^#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*$`)

// reader joins the lines of a Dockerfile to instructions like BuildKit does: it
// skips comments and empty lines within an instruction, and removes the line
// breaks of continued lines.
type reader struct {
	lines  []string
	next   int // index of the line to read next
	escape byte
}

// newReader returns a reader after parsing the parser directives.
func newReader(text string) (*reader, *manifest.AttributeError) {
	text = strings.TrimPrefix(text, "\ufeff")
	r := &reader{lines: strings.Split(text, "\n"), escape: '\\'}
	for i, one := range r.lines {
		r.lines[i] = strings.TrimRight(one, "\r")
	}
	seen := map[string]bool{}
	for ; r.next < len(r.lines); r.next++ {
		found := directive.FindStringSubmatch(strings.TrimSpace(r.lines[r.next]))
		if found == nil {
			break
		}
		key, value := strings.ToLower(found[1]), found[2]
		if known := key == "escape" || key == "syntax" || key == "check"; !known {
			break // a comment, which ends the directives
		}
		if seen[key] {
			return r, inLine(r.next + 1).Problem(fmt.Errorf("the parser directive %s occurs twice: remove one", key))
		}
		seen[key] = true
		if key != "escape" {
			continue
		}
		if value != `\` && value != "`" {
			return r, inLine(r.next + 1).Problem(fmt.Errorf("the escape character is %s, but must be \\ or `", value))
		}
		r.escape = value[0]
	}
	return r, nil
}

// instruction returns the next instruction. At the end of the file, ok is false.
func (r *reader) instruction() (found line, ok bool) {
	var text strings.Builder
	for r.next < len(r.lines) {
		one := r.lines[r.next]
		r.next++
		if bare := strings.TrimSpace(one); bare == "" || bare[0] == '#' {
			continue
		}
		found.first, found.last = cmp.Or(found.first, r.next), r.next
		part, continues := r.continued(one)
		text.WriteString(part)
		if !continues {
			break
		}
	}
	found.text = strings.TrimSpace(text.String())
	if found.text == "" && r.next < len(r.lines) {
		return r.instruction() // an empty continuation
	}
	return found, found.text != ""
}

// continued removes the escape character at the end of a continued line. An
// escaped escape character does not continue a line.
func (r *reader) continued(text string) (string, bool) {
	escape := string(r.escape)
	part, continues := strings.CutSuffix(strings.TrimRight(text, " \t"), escape)
	if !continues || strings.HasSuffix(part, escape) {
		return text, false
	}
	return part, true
}

// skipTo skips the lines up to the terminator of a here-document, if it exists.
func (r *reader) skipTo(terminator string) {
	for i := r.next; i < len(r.lines); i++ {
		if strings.TrimLeft(r.lines[i], "\t") == terminator {
			r.next = i + 1
			return
		}
	}
}
