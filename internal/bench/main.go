// Command bench measures the cost of a plan without changes for many computes:
// its duration compared with a provider that returns what it receives, in the same run and
// with the same state, the number of requests to the API server, and the peak
// memory of the provider. It requires Linux, and starts a separate dev cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

func main() {
	sizes := flag.String("sizes", "10,100,1000", "numbers of computes, in increasing order")
	runs := flag.Int("runs", 5, "number of plans of which the median is reported")
	flag.Parse()
	if err := run(*sizes, *runs); err != nil {
		log.Fatal(err)
	}
}

func run(sizes string, runs int) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "kt-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := bench{dir: dir, audit: filepath.Join(dir, "audit.log"), cli: os.Getenv("KT_CLI"),
		providers: map[string]string{}}
	if b.cli == "" {
		b.cli = "terraform"
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	start, err := startUp(ctx, filepath.Join(b.providers["kt"], "terraform-provider-kt"), dir, runs)
	if err != nil {
		return err
	}
	fmt.Printf("Time from the start of the provider until its schema is served: %s (median of %d)\n\n",
		start.Round(time.Millisecond), runs)

	fmt.Fprintln(os.Stderr, "starting the dev cluster")
	cluster, err := acctest.StartCluster("--dir", filepath.Join(dir, "cluster"), "--audit-log", b.audit)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := cluster.Stop(); err == nil {
			err = stopErr
		}
	}()
	b.kubeconfig = cluster.Kubeconfig()

	fmt.Println("| computes | plan with kt | plan with echo | ratio | API requests | peak memory |")
	fmt.Println("|---:|---:|---:|---:|---:|---:|")
	for text := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if err := b.measure(ctx, n, runs); err != nil {
			return err
		}
	}
	return nil
}

type bench struct {
	dir, audit, cli, kubeconfig string
	providers                   map[string]string // name -> directory of the binary
}

// build builds both providers with the same file name in separate directories.
func (b *bench) build(ctx context.Context) error {
	for name, pkg := range map[string]string{"kt": ".", "echo": "./internal/bench/echo"} {
		b.providers[name] = filepath.Join(b.dir, name)
		fmt.Fprintln(os.Stderr, "building the provider", name)
		command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o",
			filepath.Join(b.providers[name], "terraform-provider-kt"), pkg)
		command.Dir, command.Stderr = acctest.Root(), os.Stderr
		if err := command.Run(); err != nil {
			return err
		}
	}
	return nil
}

// measure applies n computes and plans them with both providers alternately.
func (b *bench) measure(ctx context.Context, n, runs int) error {
	if err := b.write(n); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "applying", n, "computes")
	if _, err := b.terraform(ctx, "kt", "apply", "-auto-approve", "-parallelism=30"); err != nil {
		return err
	}
	times := map[string][]time.Duration{}
	var requests, memory []int
	for range runs {
		for _, name := range []string{"echo", "kt"} {
			before, err := b.requests()
			if err != nil {
				return err
			}
			result, err := b.terraform(ctx, name, "plan", "-detailed-exitcode")
			if err != nil {
				return fmt.Errorf("the plan of %d computes with %s is not empty: %w", n, name, err)
			}
			after, err := b.requests()
			if err != nil {
				return err
			}
			times[name] = append(times[name], result.time)
			if name == "kt" {
				requests, memory = append(requests, after-before), append(memory, result.peakKiB)
			}
		}
	}
	kt, echo := median(times["kt"]), median(times["echo"])
	fmt.Printf("| %d | %.2f s | %.2f s | %.2f | %d | %d MiB |\n", n, kt.Seconds(), echo.Seconds(),
		kt.Seconds()/echo.Seconds(), slices.Max(requests), slices.Max(memory)/1024)
	return nil
}

func median(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

func (b *bench) write(n int) error {
	config := fmt.Sprintf(`
terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}

provider "kt" {
  config_path = %q
  namespace   = "default"
  username    = "bench"
}

resource "kt_compute" "pool" {
  count                = %d
  name                 = "pool-${count.index}"
  cpus                 = "100m"
  memory               = "64Mi"
  service_account_name = "default"
  on_not_ready         = "warn"
  labels = {
    team = "bench"
  }
}
`, b.kubeconfig, n)
	return os.WriteFile(filepath.Join(b.dir, "main.tf"), []byte(config), 0o600)
}

// requests counts the provider's requests that the API server has logged.
func (b *bench) requests() (int, error) {
	data, err := os.ReadFile(b.audit)
	if err != nil {
		return 0, err
	}
	ids := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if !strings.Contains(line, `"userAgent":"terraform-provider-kt/`) {
			continue
		}
		_, rest, _ := strings.Cut(line, `"auditID":"`)
		id, _, _ := strings.Cut(rest, `"`)
		ids[id] = true
	}
	return len(ids), nil
}
