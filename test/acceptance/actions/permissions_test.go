package actions_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// role are the permissions that the documentation of the actions lists, for a Deployment, without the optional ones.
const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator}
rules:
- {apiGroups: [apps], resources: [deployments], verbs: [get, patch]}
- {apiGroups: [apps], resources: [replicasets], verbs: [list, watch]}
- {apiGroups: [""], resources: [services, pods, events], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
`

func TestAccActionPermissionsOfTheDocumentationSuffice(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("replicas = 2")))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Apply(t, role, "-n", ns)
	cluster.Kubectl(t, "create", "serviceaccount", "operator", "-n", ns)
	cluster.Kubectl(t, "create", "rolebinding", "operator", "-n", ns, "--role=operator",
		"--serviceaccount="+ns+":operator")
	token := cluster.Kubectl(t, "create", "token", "operator", "-n", ns)
	cli.Write(t, "provider \"kt\" {\n"+cluster.TokenAttributes(t, ns, token)+"}\n"+
		"variable \"node\" {\n  default = \"x\"\n}\n"+
		action("restart", "")+action("suspend", "")+action("resume", "")+action("scale", "replicas = 3")+
		action("evacuate", "node = var.node\nwait = false"))
	for _, name := range []string{"restart", "suspend", "resume", "scale"} {
		cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_"+name+".x")
	}
	nodes := strings.Fields(cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[*].spec.nodeName}"))
	out := cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_evacuate.x", "-var=node="+nodes[0])
	acctest.ExpectText(t, out, "Evicted ")
}
