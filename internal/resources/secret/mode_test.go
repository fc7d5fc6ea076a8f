package secret

import (
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// A Secret of an earlier release has no mode in state. It keeps none, because a mode would restart the pods that
// mount it.
func TestDefaultModeIsSetWhenFilesAreFirstMounted(t *testing.T) {
	t.Parallel()
	const ssh, sshDir, otherDir = "ssh", "/root/.ssh", "/keys"
	text := tf.TextOrNull
	state := func(provider, mount, mode string) model {
		return model{ProviderName: text(provider), Ref: reference(t.Context(), "x", mount, mode, []string{"k"})}
	}
	plan := func(provider, mode string) model { return model{ProviderName: text(provider), DefaultMode: text(mode)} }
	for name, c := range map[string]struct {
		state, plan model
		mount, want string
	}{
		"a new ssh key":                               {model{}, plan(ssh, ""), sshDir, "0400"},
		"a new ssh key with a mode":                   {model{}, plan(ssh, "0444"), sshDir, "0444"},
		"a new ssh key with no permission":            {model{}, plan(ssh, "0000"), sshDir, "0000"},
		"new files of another provider":               {model{}, plan("aws", ""), "/root/.aws", ""},
		"new files of no provider":                    {model{}, plan("", ""), sshDir, ""},
		"new variables":                               {model{}, plan("aws", ""), "", ""},
		"an ssh key of an earlier release":            {state(ssh, sshDir, ""), plan(ssh, ""), sshDir, ""},
		"an ssh key that gets a mode":                 {state(ssh, sshDir, ""), plan(ssh, "0400"), sshDir, "0400"},
		"an ssh key at another path":                  {state(ssh, sshDir, ""), plan(ssh, ""), otherDir, "0400"},
		"an imported ssh key":                         {state("", sshDir, ""), plan(ssh, ""), sshDir, ""},
		"an ssh key of this release":                  {state(ssh, sshDir, "0400"), plan(ssh, ""), sshDir, "0400"},
		"an ssh key whose configured mode is removed": {state(ssh, sshDir, "0444"), plan(ssh, ""), sshDir, "0400"},
		"files whose configured mode is removed":      {state("", sshDir, "0400"), plan("", ""), sshDir, ""},
		"files that become an ssh key":                {state("aws", sshDir, ""), plan(ssh, ""), sshDir, "0400"},
		"an ssh key that becomes another file":        {state(ssh, sshDir, "0400"), plan("aws", ""), sshDir, ""},
		"an ssh key that becomes a variable":          {state(ssh, sshDir, "0400"), plan("aws", ""), "", ""},
		"a variable that becomes a mounted file":      {state(ssh, "", ""), plan(ssh, ""), sshDir, "0400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := defaultMode(&c.plan, &c.state, c.mount); got != c.want {
				t.Errorf("the mode is %q, want %q", got, c.want)
			}
		})
	}
}
