package kube_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

func mask(text string, values [][]byte) string { return kube.NewMasker(values).Mask(text) }

func TestMaskHidesQuotedValues(t *testing.T) {
	t.Parallel()
	const value = "s3cr3t \"canary\"\n-with-lines\n"
	for name, quote := range map[string]string{
		"plain":                      value,
		"a part":                     value[3:14],
		"as a Go literal":            strconv.Quote(value),
		"in a URL":                   url.QueryEscape(value),
		"in base64":                  base64.StdEncoding.EncodeToString([]byte(value)),
		"in base64, after two bytes": base64.StdEncoding.EncodeToString([]byte("ab" + value))[4:24],
		"in base64, after one byte":  base64.StdEncoding.EncodeToString([]byte("a" + value))[4:24],
		"in hexadecimal":             hex.EncodeToString([]byte(value)),
		"as JSON in JSON":            `{"data":"s3cr3t \"canary\"\n-with-lines\n"}`,
	} {
		got := mask(`admission webhook "w" denied the request: `+quote+`, so no`,
			[][]byte{[]byte("other"), []byte(value)})
		if !strings.HasPrefix(got, `admission webhook "w" denied the request: `) || !strings.HasSuffix(got, ", so no") {
			t.Errorf("%s: %q lacks the other text", name, got)
		}
		if !strings.Contains(got, "(hidden)") || strings.Contains(got, quote) {
			t.Errorf("%s: %q contains the value", name, got)
		}
	}
}

func TestMaskHidesShortValuesAsWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pin 1234 is bad":     "pin (hidden) is bad",
		"1234 is bad":         "(hidden) is bad",
		"pin 1234":            "pin (hidden)",
		"31323334 is bad":     "(hidden) is bad", // hexadecimal
		`{"pin":"1234"}`:      `{"pin":"(hidden)"}`,
		"port 12345 is taken": "port 12345 is taken",
		"data: MTIzNA==":      "data: (hidden)",
		"/1234:1234@":         "/(hidden):(hidden)@",
		"[1234`1234{":         "[(hidden)`(hidden){",
		"":                    "",
	} {
		if got := mask(text, [][]byte{[]byte("1234\n"), {}, []byte("1234")}); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestMaskLeavesShortValuesInWords(t *testing.T) {
	t.Parallel()
	for _, char := range "09azAZ_" {
		for _, text := range []string{string(char) + "1234", "1234" + string(char)} {
			if got := mask(text, [][]byte{[]byte("1234")}); got != text {
				t.Errorf("%q becomes %q", text, got)
			}
		}
	}
}

// FuzzMaskLeavesNoPartOfAValue searches for any eight characters of the value.
func FuzzMaskLeavesNoPartOfAValue(f *testing.F) {
	f.Add("denied: ", "correct horse battery", " by policy")
	f.Add("", "aaaaaaaaaaaaaaaa", "")
	f.Fuzz(func(t *testing.T, before, value, after string) {
		value = strings.TrimSpace(value)
		got := mask(before+value+after, [][]byte{[]byte(value)})
		for i := 0; i+8 <= len(value); i++ {
			if part := value[i : i+8]; strings.Contains(got, part) && !strings.Contains(value, "(hidden)") &&
				!strings.Contains(part, "hidden") {
				t.Fatalf("%q still has %q", got, part)
			}
		}
	})
}
