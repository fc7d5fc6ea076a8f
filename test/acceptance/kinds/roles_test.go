package kinds_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// oneOfEach has a resource of each type, and a value that determines all of them.
const oneOfEach = `
provider "kt" {}

variable "value" { default = "a" }

resource "kt_volume" "data" {
  name        = "data"
  size        = "1Gi"
  access_mode = "ReadWriteOnce"
  mount_path  = "/data"
  labels      = { value = var.value }
}

resource "kt_secret" "token" {
  name   = "token"
  values = { TOKEN = var.value }
}

resource "kt_image" "torch" {
  name     = "torch"
  image_id = "pytorch/pytorch:2.5.1"
  steps    = [{ set_env_vars = { VALUE = var.value } }]
}

resource "kt_compute" "trainer" {
  name      = "trainer"
  cpus      = "100m"
  image_ref = kt_image.torch.ref
  env_vars  = { VALUE = var.value }
  volumes   = [kt_volume.data.ref]
  secrets   = [kt_secret.token.ref]

  pod_disruption_budget = { max_unavailable = var.value == "a" ? 1 : "50%" }
}

resource "kt_compute" "preparation" {
  name    = "preparation"
  cpus    = "100m"
  image   = "busybox"
  command = ["sleep", "1h"]
  job     = {}
}
`

func TestAccRolesOfTheCIGuideSuffice(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, oneOfEach)
	cli.Setenv("KT_NAMESPACE", ns)
	cli.Setenv("KUBE_HOST", cluster.RESTConfig(t).Host)
	cli.Setenv("KUBE_CLUSTER_CA_CERT_DATA", string(cluster.RESTConfig(t).CAData))
	tokens := map[string]string{}
	for _, role := range []string{"plan", "apply"} {
		cluster.Kubectl(t, "apply", "-n", ns, "-f",
			filepath.Join(acctest.Root(), "examples", "guides", "ci", role+"-role.yaml"))
		cluster.Kubectl(t, "create", "serviceaccount", role, "-n", ns)
		cluster.Kubectl(t, "create", "rolebinding", role, "-n", ns, "--role=kt-"+role, "--serviceaccount="+ns+":"+role)
		tokens[role] = cluster.Kubectl(t, "create", "token", role, "-n", ns)
	}

	cli.Setenv("KUBE_TOKEN", tokens["apply"])
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "apply", "-auto-approve", "-var=value=b")

	cli.Setenv("KUBE_TOKEN", tokens["plan"])
	cli.MustRun(t, "plan", "-detailed-exitcode", "-var=value=b")
	out := cli.MustRun(t, "plan", "-var=value=c")
	if !strings.Contains(out, "Plan: 0 to add, 4 to change, 0 to destroy") ||
		!strings.Contains(out, "Planned without a server-side dry run") {
		t.Errorf("a plan without permission to write:\n%s", out)
	}

	cli.Setenv("KUBE_TOKEN", tokens["apply"])
	cli.MustRun(t, "destroy", "-auto-approve")
}
