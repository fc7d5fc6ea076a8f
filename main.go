// Command terraform-provider-kt is the Terraform and OpenTofu provider kt.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
)

// version is set by the build.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "serve for a debugger, and print how Terraform reaches it")
	showVersion := flag.Bool("version", false, "print the version and exit")
	flag.Parse()
	if *showVersion {
		fmt.Println(version)
		return
	}
	ctx := context.Background()
	err := providerserver.Serve(ctx, provider.New(ctx, version, kube.OSEnv()), providerserver.ServeOpts{
		Address: "registry.terraform.io/ktdev/kt",
		Debug:   *debug,
	})
	if err != nil {
		log.Fatal(err)
	}
}
