package acctest

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
)

func TestDecodedContainsTheDocumentsOfPrivateState(t *testing.T) {
	t.Parallel()
	document := `{"data":{"TOKEN":"` + base64.StdEncoding.EncodeToString([]byte("the-value-of-a-secret")) + `"}}`
	private := `{"applied":"` + base64.StdEncoding.EncodeToString([]byte(document)) + `"}`
	state := `{"private": "` + base64.StdEncoding.EncodeToString([]byte(private)) + `"}`
	for _, want := range []string{state, private, document, "the-value-of-a-secret"} {
		if got := Decoded([]byte(state)); !bytes.Contains(got, []byte(want)) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

func TestRecoverStateRestoresOnlyAnIncompleteState(t *testing.T) {
	t.Parallel()
	const none = ""
	for name, test := range map[string]struct{ previous, left, want string }{
		"complete":                   {previous: `{"serial":1}`, left: `{"serial":2}`, want: `{"serial":2}`},
		"incomplete":                 {previous: `{"serial":1}`, left: `{"ser`, want: `{"serial":1}`},
		"incomplete, first run":      {previous: none, left: `{"ser`, want: none},
		"complete, first run":        {previous: none, left: `{"serial":2}`, want: `{"serial":2}`},
		"not yet written, first run": {previous: none, left: none, want: none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := &CLI{Dir: t.TempDir()}
			lock := filepath.Join(cli.Dir, ".terraform.tfstate.lock.info")
			for file, text := range map[string]string{cli.StateFile(): test.left, lock: "{}"} {
				if text == none {
					continue
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cli.RecoverState(t, []byte(test.previous))
			if got, _ := os.ReadFile(cli.StateFile()); string(got) != test.want { // absent is none
				t.Errorf("the state is %q, want %q", got, test.want)
			}
			if _, err := os.Stat(lock); err == nil {
				t.Error("the lock is left")
			}
		})
	}
}
