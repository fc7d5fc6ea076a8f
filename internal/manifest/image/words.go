package image

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/shell"
)

// Word is a text with variables to expand.
type Word []Part

// Part is a piece of a Word: text, or a variable.
type Part struct {
	Text string
	// Variable is the name of a variable, or "" for text.
	Variable string
	// Op is "", or the operator of Alternative, as in a shell: "-" and ":-" apply
	// to an unset (or empty) variable, "+" and ":+" to a set one.
	Op          string
	Alternative Word
}

// literal returns the text of a word that contains no variables.
func (w Word) literal() (string, bool) {
	var b strings.Builder
	for _, part := range w {
		if part.Variable != "" {
			return "", false
		}
		b.WriteString(part.Text)
	}
	return b.String(), true
}

// bash formats the word as one word of bash in which only its variables are
// expanded. An unset variable is empty, as in a Dockerfile. Lines that must
// precede the line of the word are appended to before: alternatives are assigned
// to local variables, because the meaning of quotes inside "${…}" depends on the
// version of bash.
func (w Word) bash(before *[]string) string {
	var b strings.Builder
	for _, part := range w {
		switch {
		case part.Variable == "":
			b.WriteString(shell.Escape(part.Text))
		case part.Op == "":
			b.WriteString("${" + part.Variable + "-}")
		default:
			alternative := part.Alternative.bash(before)
			name := fmt.Sprintf("_kt_%d", len(*before))
			*before = append(*before, "local "+name+"="+alternative)
			b.WriteString("${" + part.Variable + part.Op + "$" + name + "}")
		}
	}
	return `"` + b.String() + `"`
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)

func isVariable(name string) bool { return name != "" && identifier.FindString(name) == name }

const notVariable = "not a valid name of an environment variable: use letters, digits and underscores, and do not " +
	"start with a digit"

// plainWord parses a text without quoting, in which only $NAME and ${NAME} are
// expanded, like in env_vars of a compute.
func plainWord(s string) Word {
	var w Word
	end := 0
	for _, at := range shell.Reference.FindAllStringSubmatchIndex(s, -1) {
		name := s[at[0]+1 : at[1]]
		if at[4] >= 0 {
			name = s[at[4]:at[5]]
		}
		w = w.add(Part{Text: s[end:at[0]]}, Part{Variable: name})
		end = at[1]
	}
	return w.add(Part{Text: s[end:]})
}

// add appends pieces, and joins adjacent texts.
func (w Word) add(parts ...Part) Word {
	for _, part := range parts {
		switch last := len(w) - 1; {
		case part.Variable == "" && part.Text == "":
		case part.Variable == "" && last >= 0 && w[last].Variable == "":
			w[last].Text += part.Text
		default:
			w = append(w, part)
		}
	}
	return w
}

// parseWord parses a word of a Dockerfile: quotes, the escape character, and
// variables (https://docs.docker.com/reference/dockerfile/#environment-replacement).
func parseWord(s string, escape byte) (Word, error) {
	p := wordParser{rest: s, escape: escape}
	return p.until(0)
}

type wordParser struct {
	rest   string
	escape byte
}

// until parses up to and including the byte end, which a double quote or a brace opened. If end is 0, it parses to the
// end of the text. Between double quotes, single quotes are text, and only some characters can be escaped.
func (p *wordParser) until(end byte) (Word, error) {
	var w Word
	quoted := end == '"'
	for p.rest != "" {
		c := p.rest[0]
		switch {
		case end != 0 && c == end:
			p.rest = p.rest[1:]
			return w, nil
		case c == '\'' && !quoted:
			text, rest, closed := strings.Cut(p.rest[1:], "'")
			if !closed {
				return nil, errors.New("a single quote is not closed: close it, or escape it")
			}
			w, p.rest = w.add(Part{Text: text}), rest
		case c == '"':
			p.rest = p.rest[1:]
			inner, err := p.until('"')
			if err != nil {
				return nil, err
			}
			w = w.add(inner...)
		case c == '$':
			part, err := p.variable()
			if err != nil {
				return nil, err
			}
			w = w.add(part)
		case c == p.escape && (!quoted || len(p.rest) > 1 && strings.IndexByte(`"$`+string(c), p.rest[1]) >= 0):
			p.rest = p.rest[1:]
			_, size := utf8.DecodeRuneInString(p.rest)
			w, p.rest = w.add(Part{Text: p.rest[:size]}), p.rest[size:]
		default:
			w, p.rest = w.add(Part{Text: p.rest[:1]}), p.rest[1:]
		}
	}
	switch end {
	case 0:
		return w, nil
	case '"':
		return nil, errors.New("a double quote is not closed: close it, or escape it")
	default:
		return nil, fmt.Errorf("a ${…} is not closed: add %c", end)
	}
}

// variable parses a variable, starting at the dollar sign.
func (p *wordParser) variable() (Part, error) {
	p.rest = p.rest[1:]
	braced := strings.HasPrefix(p.rest, "{")
	if braced {
		p.rest = p.rest[1:]
	}
	name := identifier.FindString(p.rest)
	p.rest = p.rest[len(name):]
	switch {
	case name == "" && !braced && (p.rest == "" || !isParameter(p.rest)):
		return Part{Text: "$"}, nil
	case name == "":
		return Part{}, errors.New("a dollar sign is not followed by a variable name: escape it, as in \\$5")
	case !braced:
		return Part{Variable: name}, nil
	}
	for _, op := range []string{"}", ":-", ":+", "-", "+"} {
		if !strings.HasPrefix(p.rest, op) {
			continue
		}
		p.rest = p.rest[len(op):]
		if op == "}" {
			return Part{Variable: name}, nil
		}
		alternative, err := p.until('}')
		return Part{Variable: name, Op: op, Alternative: alternative}, err
	}
	return Part{}, fmt.Errorf("${%s…} has an unsupported form: use ${%s}, ${%s:-default} or ${%s:+alternative}", name,
		name, name, name)
}

// isParameter reports whether a text starts with a special parameter of a
// shell, which is not a variable name.
func isParameter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsDigit(r) || unicode.IsLetter(r) || strings.ContainsRune("@*#?-$!", r)
}

// splitWords splits a text at blanks that are neither quoted nor escaped. It
// preserves quotes and escapes for parseWord.
func splitWords(s string, escape byte) []string {
	var words []string
	var word strings.Builder
	var open byte // the quote that is open
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case open == 0 && strings.IndexByte(blanks, c) >= 0:
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			continue
		case c == escape && open != '\'' && i+1 < len(s):
			word.WriteByte(c)
			i++
		case open == 0 && (c == '\'' || c == '"'):
			open = c
		case c == open:
			open = 0
		}
		word.WriteByte(s[i])
	}
	if word.Len() > 0 {
		words = append(words, word.String())
	}
	return words
}

// blanks are the characters between words.
const blanks = " \t\n\v\f\r"
