package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// config is a configuration of all resources of a case.
type config struct {
	benchCase

	prefix     string // of the names of the namespaces
	generation string
	kubeconfig string
	// replicas is the number of pods of a Deployment or StatefulSet. A refresh does not read the pods of a ready one,
	// so objects without pods suffice if nothing is applied.
	replicas int
	builtin  bool // terraform_data instead of the resources
}

// namespace returns the namespace of the resource with an index.
func (c config) namespace(index int) string {
	return fmt.Sprintf("%s-%d", c.prefix, index%c.family.namespaces)
}

// variant returns the variant of the resource with an index.
func (c config) variant(index int) variant { return c.family.variants[index%len(c.family.variants)] }

// write writes the configuration into a directory.
func (c config) write(dir string) error {
	var text strings.Builder
	if !c.builtin {
		text.WriteString(providerBlock(c.kubeconfig))
	}
	if c.shape == blocks {
		for i := range c.size {
			v := c.variant(i)
			c.block(&text, v, answer.Name(v.name, i), "", strconv.Quote(answer.Name(v.name, i)),
				strconv.Quote(c.namespace(i)))
		}
	} else {
		for first, v := range c.family.variants {
			c.repeated(&text, v, first)
		}
	}
	return writeMain(dir, text.String())
}

// writeMain writes a configuration into a directory, which it makes.
func writeMain(dir, text string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600)
}

// repeated writes the resources of a variant as one block. first is the lowest index.
func (c config) repeated(text *strings.Builder, v variant, first int) {
	step := len(c.family.variants)
	n := (c.size - first + step - 1) / step
	if n <= 0 {
		return
	}
	index := fmt.Sprintf("count.index * %d + %d", step, first)
	repeat, name := fmt.Sprintf("  count = %d\n", n), fmt.Sprintf("\"%s-${%s}\"", v.name, index)
	if c.shape == forEach {
		repeat = fmt.Sprintf("  for_each = { for i in range(%d) : \"%s-${i * %d + %d}\" => i * %d + %d }\n",
			n, v.name, step, first, step, first)
		index, name = "each.value", "each.key"
	}
	c.block(text, v, v.name, repeat, name,
		fmt.Sprintf("\"%s-${(%s) %% %d}\"", c.prefix, index, c.family.namespaces))
}

func (c config) block(text *strings.Builder, v variant, label, repeat, name, namespace string) {
	body := fmt.Sprintf("  name = %s\n  namespace = %s\n  labels = { %s = %q }\n  %s", name, namespace,
		answer.Generation, c.generation, strings.ReplaceAll(v.body, "REPLICAS", strconv.Itoa(c.replicas)))
	resource := v.resource
	if c.builtin {
		resource, body = "terraform_data", "  input = {\n"+body+"}\n"
	}
	fmt.Fprintf(text, "resource %q %q {\n%s%s}\n", resource, label, repeat, body)
}

func providerBlock(kubeconfig string) string {
	return fmt.Sprintf(`terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}

provider "kt" {
  config_path = %q
  username    = "bench"
}
`, kubeconfig)
}
