package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// subject is what is measured.
type subject string

const (
	kt       subject = "kt"
	echo     subject = "echo"
	builtin  subject = "terraform_data"
	peer     subject = "kubectl"        // gavinbunney/kubectl, with a kubectl_manifest for each object
	bare     subject = "applies alone"  // of the bench itself, without Terraform, and so the following
	requests subject = "requests alone" // those of kt
	inTurn   subject = "requests in turn"
)

// build builds the providers, each with a meter in a directory of its own.
func (b *bench) build(ctx context.Context) error {
	packages := map[subject]string{kt: ".", echo: "./test/bench/echo"}
	if b.profiles != "" {
		packages[kt] = "./test/bench/profiled"
	}
	for name, pkg := range packages {
		b.progress("building the provider %s", name)
		if err := goBuild(ctx, filepath.Join(b.dir, string(name), "provider"), pkg); err != nil {
			return err
		}
		if err := b.install(ctx, name, "ktdev/kt"); err != nil {
			return err
		}
	}
	if b.peer {
		if err := b.installPeer(ctx); err != nil {
			return err
		}
	}
	return os.WriteFile(b.settings(builtin), nil, 0o600)
}

// install builds the meter of a provider, and writes the CLI's configuration. source is the provider's.
func (b *bench) install(ctx context.Context, of subject, source string) error {
	meter := filepath.Join(b.dir, string(of), "terraform-provider-"+path.Base(source))
	if err := goBuild(ctx, meter, "./test/bench/meter"); err != nil {
		return err
	}
	text := fmt.Sprintf(settingsFormat, source, filepath.Dir(meter))
	return os.WriteFile(b.settings(of), []byte(text), 0o600)
}

// installPeer installs the peer's binary, which make builds.
func (b *bench) installPeer(ctx context.Context) error {
	if err := b.install(ctx, peer, "gavinbunney/kubectl"); err != nil {
		return err
	}
	binary := filepath.Join(acctest.Root(), "bin", "terraform-provider-kubectl")
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("%w; build it with: make bin/terraform-provider-kubectl", err)
	}
	return os.Symlink(binary, filepath.Join(b.dir, string(peer), "provider"))
}

const settingsFormat = `provider_installation {
  dev_overrides {
    %q = %q
  }
  direct {}
}
`

// settings returns the path of the CLI's configuration.
func (b *bench) settings(s subject) string { return filepath.Join(b.dir, string(s)+".tfrc") }

func goBuild(ctx context.Context, out, pkg string) error {
	command := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", out, pkg)
	command.Dir, command.Stderr = acctest.Root(), os.Stderr
	return command.Run()
}
