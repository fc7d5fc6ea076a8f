package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestLinesKeepTheirTextAndTheirColors(t *testing.T) {
	t.Parallel()
	svg := draw("\n\x1b[1mPlan:\x1b[0m 1 to change\n\x1b[0m  \x1b[33m~\x1b[0m\x1b[0m replicas = 3 -> 1 <ok> &\n" +
		"\x1b[1;31mred\nstill\x1b[0m\n\n")
	for _, want := range []string{
		`<tspan class="bold">Plan:</tspan> 1 to change</text>`,
		`  <tspan class="yellow">~</tspan> replicas = 3 -&gt; 1 &lt;ok&gt; &amp;</text>`,
		`<tspan class="bold red">red</tspan></text>`,
		`<tspan class="bold red">still</tspan></text>`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is missing in:\n%s", want, svg)
		}
	}
	if lines := strings.Count(svg, "<text "); lines != 4 {
		t.Errorf("%d lines, want 4", lines)
	}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("invalid XML: %v", err)
		}
	}
}

func TestPictureIsAsLargeAsItsText(t *testing.T) {
	t.Parallel()
	if svg := draw("\x1b[32m│ äöü\x1b[0m\nab\n"); !strings.Contains(svg, `width="74" height="70"`) {
		t.Error(svg)
	}
}
