package podstream

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

func unmasked(text string) string { return text }

// split returns the lines of an output that is written in pieces.
func split(mask Mask, pieces ...string) []string {
	var lines []string
	out := &output{mask: mask, emit: func(line string) { lines = append(lines, line) }}
	stream := out.stream()
	for _, piece := range pieces {
		_, _ = stream.Write([]byte(piece))
	}
	out.close()
	_, _ = stream.Write([]byte("after the end\n"))
	return lines
}

func TestOutputIsSplitIntoPrintableLines(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", maxLine)
	for name, test := range map[string]struct {
		pieces, want []string
	}{
		"no output":                      {nil, nil},
		"lines":                          {[]string{"a\nb\n"}, []string{"a", "b"}},
		"an incomplete last line":        {[]string{"a\nb"}, []string{"a", "b"}},
		"empty lines":                    {[]string{"\n\na\n"}, []string{"", "", "a"}},
		"lines in pieces":                {[]string{"a", "b\nc", "", "d\n"}, []string{"ab", "cd"}},
		"line ends of Windows":           {[]string{"a\r\nb\r", "\n"}, []string{"a", "b"}},
		"a progress bar":                 {[]string{"10%\r", "50%\r100%\n"}, []string{"100%"}},
		"colors":                         {[]string{"\x1b[1;31mred\x1b[0m\n"}, []string{"red"}},
		"a sequence that sets a title":   {[]string{"\x1b]0;title\x07a\x1b]0;b\x1b\\c\n"}, []string{"ac"}},
		"other terminal sequences":       {[]string{"\x1bca\x1b(Bb\u009b2Jc\n"}, []string{"abc"}},
		"control characters":             {[]string{"a\x00\x08b\tc\n"}, []string{"ab c"}},
		"invalid UTF-8":                  {[]string{"a\xff\xfeb\n"}, []string{"a�b"}},
		"a character in pieces":          {[]string{"\xc3", "\xa4\n"}, []string{"ä"}},
		"direction overrides of Unicode": {[]string{"a\u202eb\n"}, []string{"ab"}},
		"a line of the maximum length":   {[]string{longest}, []string{longest}},
		"a line that is one byte longer": {[]string{longest + "x"}, []string{longest + "… (line of 2001 bytes)"}},
		"a line that is not kept in full": {[]string{strings.Repeat("x", maxRaw), "yy\nz"},
			[]string{longest + "… (line of 16386 bytes)", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := split(unmasked, test.pieces...); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSecretsAreMaskedInOutput(t *testing.T) {
	t.Parallel()
	mask := kube.NewMasker([][]byte{[]byte("correct-horse-battery"), []byte("pw1")}).Mask
	long := strings.Repeat("x ", (maxRaw-12)/2)
	for name, test := range map[string]struct {
		text, want string
	}{
		"in a line":                {"key=correct-horse-battery;", "key=(hidden);"},
		"a short value":            {"pw1 is not pw12", "(hidden) is not pw12"},
		"with colors in it":        {"correct-\x1b[1mhorse-\x1b[0mbattery", "(hidden)(hidden)"},
		"with a control character": {"correct-\x00horse-battery", "(hidden)(hidden)"},
		"in base64":                {"Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", "(hidden)"},
		"at the end of a line's bytes": {long + "correct-horse-battery",
			strings.Repeat("x ", maxLine/2) + "… (line of 16393 bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := split(mask, test.text); !slices.Equal(got, []string{test.want}) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The start of a value at the end of what is kept of a line is not recognized as a part of it. It must not be shown
// even if most of the line is masked, so that its end is within the maximum length.
func TestTheEdgeOfATruncatedLineIsNotShown(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("s3cr3t-", 1000)
	mask := kube.NewMasker([][]byte{[]byte(secret), []byte("another-value")}).Mask
	line := strings.Repeat(secret, 3)
	line = line[:maxRaw-5-14] + strings.Repeat(" ", 14) + "another-value"
	got := split(mask, line)
	if len(got) != 1 || strings.Contains(got[0], "anoth") {
		t.Errorf("got %q", got)
	}
}

func FuzzOutput(f *testing.F) {
	for _, seed := range []string{"a\nb", "10%\r20%\n", "\x1b[31mred\x1b[0m\n", "correct-horse-battery", "\x1b]0;x\x07",
		"\xff\xfe", "correct-\x1b[1mhorse\r-battery\n"} {
		f.Add(seed, 3)
	}
	mask := kube.NewMasker([][]byte{[]byte("correct-horse-battery")}).Mask
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = max(0, min(at, len(text)))
		whole, pieces := split(mask, text), split(mask, text[:at], text[at:])
		if !slices.Equal(whole, pieces) {
			t.Errorf("%q in pieces: %q, want %q", text, pieces, whole)
		}
		for _, line := range whole {
			control := func(r rune) bool { return !unicode.IsGraphic(r) }
			if strings.ContainsFunc(line, control) || !utf8.ValidString(line) {
				t.Errorf("%q is not printable", line)
			}
			const value, part = "correct-horse-battery", 8
			for i := range len(value) - part + 1 {
				if strings.Contains(line, value[i:i+part]) {
					t.Errorf("%q quotes the value", line)
				}
			}
			if utf8.RuneCountInString(line) > maxLine+40 {
				t.Errorf("a line has %d characters", utf8.RuneCountInString(line))
			}
		}
	})
}
