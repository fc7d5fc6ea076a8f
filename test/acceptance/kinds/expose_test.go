package kinds_test

import (
	"fmt"
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

// Nobody else reports a typo in the name: the API server accepts the Ingress or the route, and no controller serves it.
func TestAccPlanWarnsIfNothingServesTheExposure(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	withCRDs.Apply(t, fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: class-%[1]s}
spec: {controller: example.com/ingress}
`, ns))
	t.Cleanup(func() { withCRDs.Kubectl(t, "delete", "ingressclass", "class-"+ns) })
	for name, c := range map[string]struct{ attribute, missing string }{
		"a class":           {`ingress_class_name = "class-` + ns + `"`, ""},
		"a missing class":   {`ingress_class_name = "nginx-` + ns + `"`, "IngressClass nginx-" + ns},
		"the default class": {"", ""},
		"a missing Gateway": {`gateway = { name = "public" }`, "Gateway " + ns + "/public"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewAttachedCLI(t)
			cli.Write(t, withCRDs.Config(ns, acctest.BareCompute(
				"expose = {\n  hosts = [\"a.example.com\"]\n  "+c.attribute+"\n}")))
			out := acctest.Unwrap(cli.MustRun(t, "plan"))
			if warns := strings.Contains(out, "does not exist yet"); warns != (c.missing != "") ||
				!strings.Contains(out, c.missing) {
				t.Errorf("warning shown: %t, want one of %q:\n%s", warns, c.missing, out)
			}
		})
	}
}
