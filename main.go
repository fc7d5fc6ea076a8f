// Command terraform-provider-kt is the Terraform and OpenTofu provider kt.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/parent"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// version is set by the build.
var version = "dev"

// supervise is the first argument with which the provider runs a credential plugin: see [parent.Run].
const supervise = "run-credential-plugin"

func main() {
	if len(os.Args) > 3 && os.Args[1] == supervise { // then a duration and the command
		limit, err := time.ParseDuration(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		os.Exit(parent.Run(os.Args[3:], limit, parentInterval))
	}
	debugger := flag.Bool("debug", false, "serve for a debugger, and print how Terraform reaches it")
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *showVersion {
		fmt.Println(version)
		return
	}
	provider.PrepareProcess(*debugger)
	ctx := context.Background()
	same := parent.Same() // without Terraform, nobody writes the state
	completions := run.NewCompletions(same)
	env := config.OSEnv()
	var options []tf6server.ServeOpt
	if *debugger {
		go interruptOnSignal(completions, os.Interrupt) // SIGTERM ends it
		options = append(options, tf6server.WithManagedDebug())
	} else { // a debugger's provider is not started by Terraform
		go parent.Watch(ctx, same, parentInterval, func() { os.Exit(1) })
		env.SharedFile = parent.SharedFile()
		go interruptOnSignal(completions, os.Interrupt, syscall.SIGTERM)
	}
	if own, err := os.Executable(); err == nil {
		env.Supervisor = []string{own, supervise}
	}
	newProvider := provider.New(ctx, version, env, completions)
	err := tf6server.Serve("registry.terraform.io/ktdev/kt",
		func() tfprotov6.ProviderServer { return provider.NewServer(newProvider()) }, options...)
	flush, cancel := context.WithTimeout(ctx, flushTime)
	completions.Flush(flush)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

// interruptOnSignal handles signals to the process group: the Ctrl-C of a terminal, and the SIGTERM of a CI system that
// cancels a job. The provider continues, because Terraform gets the signal as well, and ends the operations and the
// provider. After a second signal, Terraform may stop the provider before it has told it of the interruption, and does
// not write the state of what was created.
func interruptOnSignal(completions *run.Completions, handled ...os.Signal) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, handled...)
	<-signals
	completions.Interrupt()
}

// flushTime is less than the 2 s that a plugin has to end before it is killed
// (https://github.com/hashicorp/go-plugin/blob/v1.7.0/client.go, Kill).
const flushTime = 1500 * time.Millisecond

// parentInterval is how often the provider looks whether the Terraform that started it is still there. One
// that was killed leaves its provider running, which would go on to write objects that no state will have.
const parentInterval = 500 * time.Millisecond
