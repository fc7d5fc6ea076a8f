package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest/broken"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// brokenProvider is a provider with a fault on purpose, and the cycle in which the bench notices it.
type brokenProvider struct {
	fault broken.Replacement
	cycle item
	want  string // in a violation
}

func brokenProviders() map[string]brokenProvider {
	return map[string]brokenProvider{
		"an incomplete creation is a success without a warning": {
			fault: broken.Replacement{File: "internal/tf/owned/change.go",
				Old: "	c.Diags.Append(tf.Warning(err, c.Incomplete))\n",
				New: "	_ = tf.Warning(err, c.Incomplete)\n"},
			cycle: rejectedService(),
			want:  "the apply with faults succeeded, without a warning about kt_compute.web",
		},
		"a plan shows a replacement": {
			fault: broken.Replacement{File: "internal/tf/lifecycle/plan.go",
				Old: "resp.RequiresReplace = append(resp.RequiresReplace, p.Replace...)",
				New: `resp.RequiresReplace = append(append(resp.RequiresReplace, p.Replace...), ` +
					`path.Root("env_vars"))`},
			cycle: item{faults: map[step]proxy.Plan{update: proxy.NoFaults}},
			want:  "shows the action replace of kt_compute.web",
		},
		"a field is no longer owned": {
			fault: broken.Replacement{File: "internal/tf/owned/memory.go",
				Old: "	applied, rewritten := fields.Admit(sent.Object, response, set)\n",
				New: "	set = set.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie(\"metadata\", \"labels\", " +
					"\"app.kubernetes.io/managed-by\")))\n" +
					"	applied, rewritten := fields.Admit(sent.Object, response, set)\n"},
			cycle: item{},
			want:  "does not show that another client changed metadata.labels.app.kubernetes.io/managed-by",
		},
		"a retry is gone": {
			fault: broken.Replacement{File: "internal/kube/transport/judge.go",
				Old: "return judgement{again: true, unknown: true, within: within, after: reply.retryAfter()}",
				New: "return judgement{unknown: true, within: within, after: reply.retryAfter()}"},
			cycle: oneUnavailable(),
			want:  "a temporary fault of one request is an error",
		},
	}
}

// rejectedService is a creation in which every request that creates the Service of the compute is rejected.
func rejectedService() item {
	return item{faults: map[step]proxy.Plan{create: func(r proxy.Request) *proxy.Fault {
		if r.Writes() && strings.HasSuffix(r.Path, "/services/web") {
			return &proxy.Fault{Kind: proxy.Unauthorized}
		}
		return nil
	}}}
}

// oneUnavailable is a creation in which one request is rejected once.
func oneUnavailable() item {
	return item{survivable: map[step]bool{create: true}, faults: map[step]proxy.Plan{
		create: func(r proxy.Request) *proxy.Fault {
			if r.Writes() && strings.HasSuffix(r.Path, "/deployments/web") && r.N == 1 {
				return &proxy.Fault{Kind: proxy.Unavailable}
			}
			return nil
		},
		update: proxy.NoFaults,
	}}
}

func TestAccFaultBenchNoticesBrokenProviders(t *testing.T) {
	t.Parallel()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("TF_ACC is not set")
	}
	c, stop, err := startCluster(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	for name, provider := range brokenProviders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := violationsOf(t, c, broken.Provider(t, provider.fault), nil, provider.cycle)
			if !slices.ContainsFunc(found, func(v violation) bool { return strings.Contains(v.what, provider.want) }) {
				t.Errorf("no violation contains %q: %v", provider.want, found)
			}
		})
	}
	t.Run("the unbroken provider", func(t *testing.T) {
		t.Parallel()
		b := benchOf(t, c, providerDir())
		ref, err := b.reference(t.Context(), oneCompute())
		if err != nil {
			t.Fatalf("%v: %v", err, b.tally.violations)
		}
		found := append(violationsOf(t, c, providerDir(), ref, rejectedService()),
			violationsOf(t, c, providerDir(), ref, oneUnavailable())...)
		for _, v := range found {
			t.Errorf("%s: %s\n%s", v.step, v.what, v.detail)
		}
	})
}

// oneCompute contains a Deployment and its Services.
func oneCompute() scenario {
	return scenario{name: "one compute", resources: func(s settings) string {
		return fmt.Sprintf(`
resource "kt_compute" "web" {
  name                 = "web"
  cpus                 = "100m"
  memory               = "64Mi"
  service_account_name = "default"
  image                = "debian:12"
  env_vars             = { VERSION = "v%d" }
}
`, s.version)
	}}
}

// violationsOf returns the violations of one cycle with a provider binary.
func violationsOf(t *testing.T, c *cluster, providers string, ref *reference, it item) []violation {
	t.Helper()
	it.name, it.scenario, it.probe = "broken", oneCompute(), true
	r, err := benchOf(t, c, providers).runOne(t.Context(), c, it, ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.violations
}

func benchOf(t *testing.T, c *cluster, providers string) *bench {
	t.Helper()
	cli := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if cli == "" {
		cli = "terraform"
	}
	dir, err := os.MkdirTemp("", "ktf-") //nolint:usetesting // short, because it contains sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	base, err := newWorkDir(dir, cli, providers)
	if err != nil {
		t.Fatal(err)
	}
	return newBench(options{out: t.TempDir()}, c, base)
}
