package manager

import (
	"bytes"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	hooked := Program{Name: "kueue", About: "kueue runs Kueue.", Webhooks: &Webhooks{}}
	plain := Program{Name: "kuberay", About: "kuberay runs KubeRay."}
	for name, c := range map[string]struct {
		program Program
		args    []string
		code    int
		stderr  []string // substrings of stderr
	}{
		"requested help": {hooked, []string{"-h"}, 0, []string{"kueue runs Kueue.", "READY", "-kubeconfig",
			"-webhooks"}},
		"help without webhooks": {plain, []string{"--help"}, 0, []string{"kuberay runs KubeRay.", "-kubeconfig"}},
		"no kubeconfig":         {plain, nil, 2, []string{"kuberay: --kubeconfig is missing"}},
		"no webhook configurations": {hooked, []string{"--kubeconfig", "f"}, 2,
			[]string{"kueue: --webhooks is missing"}},
		"webhooks without support": {plain, []string{"--kubeconfig", "f", "--webhooks", "g"}, 2,
			[]string{"flag provided but not defined"}},
		"an argument": {plain, []string{"--kubeconfig", "f", "start"}, 2, []string{`unknown argument "start"`}},
		"a kubeconfig that is missing": {plain, []string{"--kubeconfig", "/nowhere/kc"}, 1,
			[]string{"kuberay: --kubeconfig", "/nowhere/kc"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if code := c.program.main(t.Context(), c.args, &stdout, &stderr); code != c.code {
				t.Errorf("exit code %d; want %d", code, c.code)
			}
			for _, want := range c.stderr {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr %q; want %q in it", stderr.String(), want)
				}
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout: %q", stdout.String())
			}
		})
	}
}
