// Command profiled is the provider with profiles: each of its processes writes a CPU profile
// and an allocation profile into the directory KT_BENCH_PROFILE, if that is set.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

func main() {
	provider.PrepareProcess(false)
	ctx := context.Background()
	completions := run.NewCompletions(func() bool { return true })
	err := profile(os.Getenv("KT_BENCH_PROFILE"), func() error {
		newProvider := provider.New(ctx, "bench", config.OSEnv(), completions)
		return tf6server.Serve("registry.terraform.io/ktdev/kt", func() tfprotov6.ProviderServer {
			return provider.NewServer(newProvider())
		})
	})
	flush, cancel := context.WithTimeout(ctx, flushTime)
	completions.Flush(flush)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

// flushTime is shorter than in the provider, because the profiles are written in the same two seconds.
const flushTime = time.Second

// profile writes a CPU profile of run, and then the allocations of the process.
func profile(dir string, run func() error) (err error) {
	if dir == "" {
		return run()
	}
	cpu, err := os.Create(filepath.Join(dir, fmt.Sprintf("cpu-%d.pprof", os.Getpid())))
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	err = run()
	pprof.StopCPUProfile()
	return errors.Join(err, cpu.Close(), writeAllocations(dir))
}

func writeAllocations(dir string) (err error) {
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("allocs-%d.pprof", os.Getpid())))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return pprof.Lookup("allocs").WriteTo(file, 0)
}
