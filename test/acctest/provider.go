package acctest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	fwprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/providertest"
)

// Factories returns a provider that runs in the process of the test. It does not
// read the environment of the process, because tests run in parallel.
func Factories(t *testing.T) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	return FactoriesWith(t, kubeconfig.Env{Getenv: func(string) string { return "" }})
}

// FactoriesWith is Factories with an environment.
func FactoriesWith(t *testing.T, env kubeconfig.Env) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	return FactoriesRendering(t, env, manifest.Revisions())
}

// FactoriesRendering is FactoriesWith for a release with other renderer revisions.
func FactoriesRendering(
	t *testing.T, env kubeconfig.Env, revisions []manifest.Revision,
) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	serve := providertest.NewServer // it compares the short path with the framework
	if _, set := os.LookupEnv("KT_SHORT_PATH"); set {
		serve = provider.NewServer
	}
	start, _ := startAndEnd(t, env, revisions, serve)
	return map[string]func() (tfprotov6.ProviderServer, error){"kt": start}
}

// startAndEnd returns a function that starts a provider, after the end of the last one, and a function that ends the
// last one, as its process does when Terraform has written the state.
func startAndEnd(
	t *testing.T, env kubeconfig.Env, revisions []manifest.Revision,
	serve func(fwprovider.Provider) tfprotov6.ProviderServer,
) (start func() (tfprotov6.ProviderServer, error), finish func()) {
	t.Helper()
	var mu sync.Mutex
	end := func() {} // ends the watches of the provider that served the last command
	completions := run.NewCompletions(func() bool { return true })
	flush := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		completions.Flush(ctx)
	}
	next := func() context.Context {
		mu.Lock()
		defer mu.Unlock()
		flush()
		end()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		end = cancel
		return ctx
	}
	finish = func() {
		mu.Lock()
		defer mu.Unlock()
		flush()
		end()
	}
	t.Cleanup(finish) // after the destroy at the end of the test, unlike t.Context
	return func() (tfprotov6.ProviderServer, error) {
		env := withShortPath(env, os.Getenv("KT_SHORT_PATH"))
		return serve(provider.NewWith(next(), "test", env, revisions, completions)()), nil
	}, finish
}

// withShortPath returns an environment with a value of KT_SHORT_PATH.
func withShortPath(env kubeconfig.Env, mode string) kubeconfig.Env {
	with := env
	with.Getenv = func(name string) string {
		if name == "KT_SHORT_PATH" {
			return mode
		}
		return env.Get(name)
	}
	return with
}

// Config returns a configuration with a provider block for the cluster and the
// namespace.
func (c *Cluster) Config(namespace, config string) string {
	return fmt.Sprintf(`
provider "kt" {
  config_path = %q
  namespace   = %q
  username    = "alice"
}
%s`, c.Kubeconfig(), namespace, config)
}
