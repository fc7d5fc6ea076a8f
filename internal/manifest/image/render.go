package image

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// render renders the complete setup as a Dockerfile: the configured Dockerfile
// with the resolved image, followed by the steps.
func (d Dockerfile) render(runs string, steps []step) string {
	lines := strings.Split(strings.TrimRight(d.text, "\n"), "\n")
	first, last := d.from.first-1, d.from.last // the lines that the new FROM replaces
	switch {
	case d.text == "":
		first, last = 0, 1
	case d.From == "": // after the parser directives, which must be at the top
		r, _ := newReader(d.text) // Parse has returned the error
		first, last = r.next, r.next
	}
	lines = slices.Concat(lines[:first], []string{"FROM " + runs}, lines[last:])
	escape := string(cmp.Or(d.escape, '\\'))
	if last := len(lines) - 1; len(steps) > 0 { // the steps must not continue the last line
		lines[last], _ = (&reader{escape: escape[0]}).continued(lines[last])
	}
	for _, s := range steps {
		lines = append(lines, s.do.instructions(escape)...)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (r runAction) instructions(string) []string { return []string{"RUN " + list(r.words)} }

func (e envAction) instructions(escape string) []string {
	words := kind.Each(e, func(v variable) string { return v.name + "=" + v.value.docker(escape) })
	return []string{"ENV " + strings.Join(words, " ")}
}

func (c copyAction) instructions(escape string) []string {
	dest, _ := c.dest.literal()
	return []string{"COPY " + list(escaped(append(slices.Clone(c.sources), dest), escape))}
}

func (p pipAction) instructions(string) []string {
	return []string{"RUN " + list(append([]string{"pip", "install"}, p.packages...))}
}

func (p packageAction) instructions(escape string) []string {
	return []string{
		"# sync_package: installed if it is a project, else found through PYTHONPATH",
		"COPY " + list(escaped([]string{p.source, "/var/lib/kubetorch/packages/"}, escape)),
	}
}

// docker formats the word as the value of an ENV.
func (w Word) docker(escape string) string {
	var b strings.Builder
	for _, part := range w {
		if part.Variable == "" {
			b.WriteString(escaped([]string{part.Text}, escape)[0])
		} else {
			fmt.Fprintf(&b, "${%s}", part.Variable)
		}
	}
	return `"` + b.String() + `"`
}

// escaped escapes texts so that nothing in them is expanded or interpreted as a
// quote, with or without enclosing double quotes.
func escaped(texts []string, escape string) []string {
	special := strings.NewReplacer(escape, escape+escape, `"`, escape+`"`, `$`, escape+`$`)
	return kind.Each(texts, special.Replace)
}

// list formats the arguments of an instruction in JSON form.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(word) // strings have a JSON form
		quoted[i] = strings.TrimSuffix(b.String(), "\n")
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
