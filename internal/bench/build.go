package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// subject is what is measured.
type subject string

const (
	kt       subject = "kt"
	echo     subject = "echo"
	builtin  subject = "terraform_data"
	requests subject = "requests alone" // of the bench itself, without Terraform
	inTurn   subject = "requests in turn"
)

// build builds the providers, each with a meter in a directory of its own.
func (b *bench) build(ctx context.Context) error {
	packages := map[subject]string{kt: ".", echo: "./internal/bench/echo"}
	if b.profiles != "" {
		packages[kt] = "./internal/bench/profiled"
	}
	for name, pkg := range packages {
		b.progress("building the provider %s", name)
		if err := goBuild(ctx, filepath.Join(b.dir, string(name), "provider"), pkg); err != nil {
			return err
		}
		meter := filepath.Join(b.dir, string(name), "terraform-provider-kt")
		if err := goBuild(ctx, meter, "./internal/bench/meter"); err != nil {
			return err
		}
		text := fmt.Sprintf(settingsFormat, filepath.Dir(meter))
		if err := os.WriteFile(b.settings(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(b.settings(builtin), nil, 0o600)
}

const settingsFormat = `provider_installation {
  dev_overrides {
    "ktdev/kt" = %q
  }
  direct {}
}
`

// settings returns the path of the CLI's configuration.
func (b *bench) settings(s subject) string { return filepath.Join(b.dir, string(s)+".tfrc") }

func goBuild(ctx context.Context, out, pkg string) error {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
	command.Dir, command.Stderr = acctest.Root(), os.Stderr
	return command.Run()
}
