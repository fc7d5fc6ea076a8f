// Command picture draws the output of a terminal as an SVG. It reads the output from stdin, with the escape sequences
// for colors, and writes the SVG to stdout.
package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

func main() {
	output, err := io.ReadAll(os.Stdin)
	if err == nil {
		_, err = os.Stdout.WriteString(draw(string(output)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// Sizes in pixels. A column is as wide as a character of a monospaced font of this size, or slightly wider.
const (
	fontSize   = 14
	column     = 8.5
	lineHeight = 19
	margin     = 16
)

// style has the colors of a dark terminal, with a border that is visible on dark pages. GitHub shows an SVG of a README
// without external fonts and styles.
const style = `rect{fill:#0d1117;stroke:#30363d}text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;` +
	`fill:#c9d1d9}.bold{font-weight:600}.dim{fill:#8b949e}.red{fill:#ff7b72}.green{fill:#7ee787}` +
	`.yellow{fill:#e3b341}.blue{fill:#79c0ff}.magenta{fill:#d2a8ff}.cyan{fill:#76e3ea}`

// draw returns an SVG with a line of text for each line of the output.
func draw(output string) string {
	lines := strings.Split(strings.Trim(output, "\n"), "\n")
	columns := 0
	var body strings.Builder
	var current classes
	for i, line := range lines {
		fmt.Fprintf(&body, `<text x="%d" y="%d">`, margin, margin+fontSize+i*lineHeight)
		columns = max(columns, drawLine(&body, &current, line))
		body.WriteString("</text>\n")
	}
	width, height := 2*margin+int(float64(columns)*column), 2*margin+len(lines)*lineHeight
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" `+
		`viewBox="0 0 %[1]d %[2]d" xml:space="preserve">`+"\n<style>%[3]s</style>\n"+
		`<rect x=".5" y=".5" width="%[5]d" height="%[6]d" rx="6"/>`+"\n%[4]s</svg>\n",
		width, height, style, body.String(), width-1, height-1)
}

var escape = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// drawLine writes the spans of a line and returns the number of its columns. The classes continue on the next line.
func drawLine(b *strings.Builder, current *classes, line string) int {
	columns := 0
	span := func(text string) {
		columns += utf8.RuneCountInString(text)
		if text == "" {
			return
		}
		if class := current.String(); class != "" {
			fmt.Fprintf(b, `<tspan class="%s">`, class)
			defer b.WriteString("</tspan>")
		}
		_ = xml.EscapeText(b, []byte(text)) // a strings.Builder returns no error
	}
	rest := line
	for {
		at := escape.FindStringSubmatchIndex(rest)
		if at == nil {
			span(rest)
			return columns
		}
		span(rest[:at[0]])
		for code := range strings.SplitSeq(rest[at[2]:at[3]], ";") {
			current.apply(code)
		}
		rest = rest[at[1]:]
	}
}

// classes are the CSS classes that the last escape sequences have selected.
type classes struct{ weight, color string }

// apply applies a code of an escape sequence (Select Graphic Rendition in ECMA-48). It ignores the codes that Terraform
// does not use.
func (c *classes) apply(code string) {
	switch code {
	case "", "0":
		*c = classes{}
	case "1":
		c.weight = "bold"
	case "2", "90":
		c.color = "dim"
	case "22":
		c.weight = ""
	case "31":
		c.color = "red"
	case "32":
		c.color = "green"
	case "33":
		c.color = "yellow"
	case "34":
		c.color = "blue"
	case "35":
		c.color = "magenta"
	case "36":
		c.color = "cyan"
	case "39":
		c.color = ""
	}
}

func (c *classes) String() string { return strings.TrimSpace(c.weight + " " + c.color) }
