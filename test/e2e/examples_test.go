package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// exampleServers are the tensor servers that the examples use, without the GPUs that the node lacks.
const exampleServers = `
provider "kt" {}

resource "kt_compute" "tensors" {
  name           = "tensors"
  runtime        = "skytorch"
  image          = %[1]q
  launch_timeout = "3m"
}

resource "kt_compute" "pool" {
  name           = "pool"
  runtime        = "skytorch"
  image          = %[1]q
  launch_timeout = "3m"
}
`

// The documentation shows these examples. They call a server, which only real pods run.
func TestE2EExamplesThatCallAServerApply(t *testing.T) {
	t.Parallel()
	cli, _ := terraform(t)
	cli.Write(t, fmt.Sprintf(exampleServers, serverImage))
	for _, example := range []string{
		"guides/tensor-servers/probe.tf", "guides/tensor-servers/metrics.tf", "guides/tensor-servers/tunnel.tf",
		"data-sources/kt_endpoint/data-source.tf", "data-sources/kt_metrics/data-source.tf",
	} {
		text, err := os.ReadFile(filepath.Join(acctest.Root(), "examples", example))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Base(filepath.Dir(example)) + "-" + filepath.Base(example)
		if err := os.WriteFile(filepath.Join(cli.Dir, copied), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	result := filepath.Join(t.TempDir(), "result.json")
	cli.Setenv("PATH", pythonThatCalls(t, result)+string(filepath.ListSeparator)+os.Getenv("PATH"))

	cli.MustRun(t, "apply", "-auto-approve") // the probes have postconditions
	if got := resultIn(t, result); got.Status != probe.Serving || got.Bytes != 1<<20 {
		t.Errorf("through the tunnel: %+v", got)
	}
	acctest.ExpectText(t, cli.MustRun(t, "output", "gauges"), "tensors.limit")
}

// pythonThatCalls returns a directory with a command python that calls the server in TENSOR_SERVER, as the script in
// the example does, and writes the result to a file.
func pythonThatCalls(t *testing.T, result string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=\"$TENSOR_SERVER\" %s=%q exec %q\n", callVariable, resultVariable, result,
		self)
	if err := os.WriteFile(filepath.Join(dir, "python"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
