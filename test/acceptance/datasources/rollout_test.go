package datasources_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The address of the gateway in the compute's status is a tensor server in this process.
func TestAccRolloutRequiresTheThroughputOfThePool(t *testing.T) {
	t.Parallel()
	on := withCRDs.WithComputes(t)
	ns := on.Namespace(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- server.New(server.Options{}).Serve(serving, listener, time.Second) }()
	end := func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		done <- nil
	}
	t.Cleanup(end)
	operator := acctest.SkyTorch()
	operator.Address = listener.Addr().String()
	operator.Run(t, on, ns)

	cli := acctest.NewAttachedCLI(t)
	cli.Setenv("KUBE_CONFIG_PATH", on.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", ns)
	cli.Setenv("TF_VAR_via", "direct")
	cli.Setenv("TF_VAR_round_trip_bytes", "4194304")
	cli.Copy(t, filepath.Join(acctest.Root(), "examples", "gated-rollout"))
	minThroughput := func(mibs float64) string { return fmt.Sprintf("-var=min_throughput_mib_s=%g", mibs) }
	expectText := func(out string, texts ...string) {
		t.Helper()
		words := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", "")), " ")
		for _, text := range texts {
			if !strings.Contains(words, text) {
				t.Errorf("the output does not contain %q:\n%s", text, out)
			}
		}
	}

	out, err := cli.Run(t, "apply", "-auto-approve", minThroughput(1e9))
	if err == nil {
		t.Fatalf("the apply succeeded with a slow pool:\n%s", out)
	}
	expectText(out, "Resource postcondition failed", "The pool is SERVING and moves")
	if made, err := on.TryKubectl(t, "get", "deployment", "tensor-frontend", "-n", ns); err == nil {
		t.Errorf("the frontend exists:\n%s", made)
	}

	cli.MustRun(t, "apply", "-auto-approve", minThroughput(0.001))
	if target := on.Kubectl(t, "get", "deployment", "tensor-frontend", "-n", ns, "-o",
		"jsonpath={..env[?(@.name=='TENSOR_SERVER')].value}"); target != "tensor-pool."+ns+".svc.cluster.local:50051" {
		t.Errorf("the frontend calls %q", target)
	}
	// Terraform reads the data of a check block again in the apply, and shows this in the plan.
	expectText(cli.MustRun(t, "plan", minThroughput(0.001)), "Plan: 0 to add, 0 to change, 0 to destroy.")

	end()
	out, err = cli.Run(t, "plan", minThroughput(0.001))
	if err == nil {
		t.Errorf("the plan succeeded with an unreachable pool:\n%s", out)
	}
	expectText(out, "Check block assertion failed", "The tensor servers are UNREACHABLE",
		"The pool is UNREACHABLE and moves 0 MiB a second")
	cli.MustRun(t, "destroy", "-auto-approve", "-refresh=false", minThroughput(0.001))
}
