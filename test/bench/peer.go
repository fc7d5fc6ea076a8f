package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// ofPeer returns the configuration of the objects that the peer applies, in other namespaces.
func (c config) ofPeer() config {
	c.prefix += "-peer"
	return c
}

// writePeer writes a configuration in which each object of a case is a kubectl_manifest.
func (b *bench) writePeer(c config, dir string) error {
	var text strings.Builder
	fmt.Fprintf(&text, peerProviderFormat, c.kubeconfig)
	for i := range c.size {
		t, replacer := b.prototypeOf(c, i)
		for j, o := range t.objects {
			fmt.Fprintf(&text, "resource \"kubectl_manifest\" \"%s-%d\" {\n  yaml_body = %s\n}\n",
				answer.Name(c.variant(i).name, i), j, quoteHCL(replacer.Replace(o.text)))
		}
	}
	return writeMain(dir, text.String())
}

const peerProviderFormat = `terraform {
  required_providers {
    kubectl = {
      source = "gavinbunney/kubectl"
    }
  }
}

provider "kubectl" {
  config_path = %q
}
`

// quoteHCL returns a text as a string of HCL without templates.
func quoteHCL(text string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(text))
}

// peerResources is the number of the peer's resources in a case.
func (b *bench) peerResources(c config) int {
	n := 0
	for i := range c.size {
		t, _ := b.prototypeOf(c, i)
		n += len(t.objects)
	}
	return n
}
