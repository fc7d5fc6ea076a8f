package kube

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// masked replaces a part of a value in a text.
const masked = "(hidden)"

// minQuoted is the minimum length of a part of a value to mask. Shorter parts
// occur in any text.
const minQuoted = 8

// Masker masks the same values in many texts. It is safe for concurrent use.
type Masker struct {
	windows map[[minQuoted]byte]struct{} // all parts of minQuoted bytes
	words   map[string]struct{}          // shorter values
}

// NewMasker returns a Masker of values.
func NewMasker(values [][]byte) *Masker {
	m := &Masker{windows: map[[minQuoted]byte]struct{}{}, words: map[string]struct{}{}}
	for _, value := range values {
		for _, form := range forms(value) {
			if len(form) < minQuoted {
				m.words[form] = struct{}{}
			}
			for i := 0; i+minQuoted <= len(form); i++ {
				m.windows[[minQuoted]byte([]byte(form[i:i+minQuoted]))] = struct{}{}
			}
		}
	}
	return m
}

// Mask replaces all parts of text that quote one of the values: at least 8
// consecutive characters, or a complete shorter value as a separate word. It
// recognizes plain text, escapes of JSON, Go and URLs, base64 and hexadecimal.
func (m *Masker) Mask(text string) string {
	hidden := make([]bool, len(text))
	var window [minQuoted]byte
	for i := 0; i+minQuoted <= len(text); i++ {
		copy(window[:], text[i:])
		if _, quoted := m.windows[window]; quoted {
			mark(hidden, i, i+minQuoted)
		}
	}
	for word := range m.words {
		markWord(text, word, hidden)
	}
	return render(text, hidden)
}

func mark(hidden []bool, from, to int) {
	for i := from; i < to; i++ {
		hidden[i] = true
	}
}

func markWord(text, word string, hidden []bool) {
	for from := 0; from < len(text); from++ {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return
		}
		from += at
		if !wordAt(text, from-1) && !wordAt(text, from+len(word)) {
			mark(hidden, from, from+len(word))
		}
	}
}

func wordAt(text string, i int) bool {
	if i < 0 || i >= len(text) {
		return false
	}
	c := text[i]
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func render(text string, hidden []bool) string {
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			b.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			b.WriteString(masked)
		}
	}
	return b.String()
}

// forms returns the forms of a value in messages. The three base64 forms are
// those of a value that starts at different byte offsets of the encoded text.
func forms(value []byte) []string {
	text := strings.TrimSpace(string(value))
	asJSON, _ := json.Marshal(text) // a string cannot fail
	out := []string{
		text, string(asJSON[1 : len(asJSON)-1]), strings.Trim(strconv.Quote(text), `"`), url.QueryEscape(text),
		hex.EncodeToString(value), base64.StdEncoding.EncodeToString(value), base64.URLEncoding.EncodeToString(value),
	}
	for skip := 1; skip <= 2 && skip < len(value); skip++ {
		out = append(out, base64.RawStdEncoding.EncodeToString(value[skip:]))
	}
	return out
}
