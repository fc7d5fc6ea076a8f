package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const kubernetesDeployment = `
provider "kt" {}
provider "kubernetes" {}

resource "kubernetes_deployment" "trainer" {
  metadata {
    name      = "trainer"
    namespace = %q
  }
  spec {
    selector {
      match_labels = { %[2]q = "trainer" }
    }
    template {
      metadata {
        labels = { %[2]q = "trainer" }
      }
      spec {
        container {
          name  = "kubetorch"
          image = "server:1.0"
        }
      }
    }
  }
}
`

// takenOver are the blocks of the guide from-kubernetes.
const takenOver = `
provider "kt" {}
provider "kubernetes" {}

removed {
  from = kubernetes_deployment.trainer

  lifecycle {
    destroy = false
  }
}

import {
  to = kt_compute.trainer
  id = "%s/trainer"
}

resource "kt_compute" "trainer" {
  name   = "trainer"
  cpus   = "1"
  memory = "2Gi"
}
`

// hashicorp/kubernetes creates the Deployment, as in the configurations of users.
func TestAccDeploymentOfTheKubernetesProviderIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]string{
		"with the selector of Kubetorch": "kubetorch.com/service",
		"with another selector":          "app",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			cli := acctest.NewCLI(t)
			cli.UseKubernetesProvider(t)
			cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
			cli.Setenv("KUBE_CONFIG", cluster.Kubeconfig())
			cli.Setenv("KT_NAMESPACE", ns)
			cli.Write(t, fmt.Sprintf(kubernetesDeployment, ns, label))
			cli.MustRun(t, "apply", "-auto-approve")
			uid := func() string {
				return cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o", "jsonpath={.metadata.uid}")
			}
			before := uid()

			cli.Write(t, fmt.Sprintf(takenOver, ns))
			out := cli.MustRun(t, "apply", "-auto-approve")
			acctest.ExpectText(t, out, "1 to import, 0 to add, 1 to change, 0 to destroy")
			if after := uid(); after != before {
				t.Errorf("the Deployment was replaced:\n%s", out)
			}
			cli.MustRun(t, "plan", "-detailed-exitcode") // an error if there is anything to do
			if got := strings.TrimSpace(cli.MustRun(t, "state", "list")); got != "kt_compute.trainer" {
				t.Errorf("the state has %s", got)
			}
			cli.MustRun(t, "destroy", "-auto-approve")
		})
	}
}
