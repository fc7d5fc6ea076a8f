package kinds_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The CRDs are those of the Gateway API. No controller acts on the routes.
func TestAccRoutesOfAGatewayAreCreatedChangedAndImported(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	acctest.LifeCycle{
		Mode: "deployment",
		Created: `expose = {
		  hosts   = ["a.example.com"], path = "/v1"
		  gateway = { name = "public", namespace = "gateways", section_name = "web" }
		}`,
		Changed: `
		  command = ["serve"]
		  port    = 9000
		  expose  = { hosts = ["*.example.com"], protocol = "grpc", gateway = { name = "public" } }`,
		Kubectl: []string{"patch", "httproute/trainer", "--type=json", "-p",
			`[{"op": "replace", "path": "/spec/hostnames", "value": ["b.example.com"]}]`},
		Drifts: []string{"expose"},
	}.Run(t, withCRDs, ns)
	if left := withCRDs.Kubectl(t, "get", "httproutes,grpcroutes", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func TestAccRouteOfAMissingKindIsReported(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.BareCompute(
		`expose = { hosts = ["a.example.com"], gateway = { name = "public" } }`)))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil || !strings.Contains(out, "HTTPRoute") || !strings.Contains(out, "the Gateway API") {
		t.Errorf("the error does not name the missing kind: %v\n%s", err, out)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := cluster.Kubectl(t, "get", "deployments,services", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
