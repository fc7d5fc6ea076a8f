package printable

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestMessagesContainNoCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"first\n  second\tthird":                        "first\n  second third",
		"\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m":     "red",
		"exe.\u202ecod":                                 "exe.cod",
		"Слово 語 عربى":                                  "Слово 語 عربى",
		"::error::x":                                    ": :error::x",
		"a\n  ::add-mask::x":                            "a\n  : :add-mask::x",
		"a ::set-output name=b::c ::stop-commands::end": "a : :set-output name=b::c : :stop-commands::end",
		"\x1b[1m::warning file=a::b":                    ": :warning file=a::b",
		"##vso[task.setvariable variable=a]b":           "# #vso[task.setvariable variable=a]b",
		"##[error]x":                                    "# #[error]x",
		"##teamcity[message text='x']":                  "# #teamcity[message text='x']",
		"dial tcp [::1]:80 and ::1":                     "dial tcp [::1]:80 and ::1",
		"::a ::b::c":                                    ": :a : :b::c",
		"std::string, a::b":                             "std::string, a::b",
		"## A heading":                                  "## A heading",
	} {
		if got := Lines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestForeignTextIsIndentedAndLimited(t *testing.T) {
	t.Parallel()
	if got, want := Foreign("denied:\n\nApply complete!\n"), "denied:\n  \n  Apply complete!"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got := Foreign(strings.Repeat("語", 5000))
	if utf8.RuneCountInString(got) != maxForeign || !strings.HasSuffix(got, "語…") {
		t.Errorf("%d characters that end with %q", utf8.RuneCountInString(got), got[len(got)-6:])
	}
}

func FuzzMessagesContainNoCommands(f *testing.F) {
	for _, seed := range []string{
		"::error::x", "a\r\n\x1b[31m::x::", "::\x00error::", "##\u200b[error]", ": :a::", "::a::\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Lines(text)
		if again := Lines(got); again != got {
			t.Errorf("%q becomes %q, and then %q", text, got, again)
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q has other lines than %q", got, text)
		}
		for _, r := range got {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Errorf("%q contains %q", got, r)
			}
		}
		for word := range strings.FieldsSeq(got) { // Terraform can break a line at each space
			if len(word) > 2 && word[:2] == "::" && unicode.IsLetter(rune(word[2])) && word[2] < unicode.MaxASCII ||
				strings.HasPrefix(word, "##[") || strings.HasPrefix(strings.ToLower(word), "##vso[") {
				t.Errorf("%q contains the command %q", got, word)
			}
		}
	})
}
