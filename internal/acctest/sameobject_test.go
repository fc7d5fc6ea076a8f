package acctest_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// everyKind is one resource of each type, under the label LABEL.
const everyKind = `
resource "kt_volume" "LABEL" {
  name          = "same"
  size          = "1Gi"
  access_mode   = "ReadWriteOnce"
  storage_class = "standard"
LIFE}

resource "kt_secret" "LABEL" {
  name   = "same"
  values = { KEY = "value" }
LIFE}

resource "kt_image" "LABEL" {
  name     = "same"
  image_id = "main:1"
LIFE}

resource "kt_compute" "LABEL" {
  name     = "same"
  replicas = 1
LIFE}
`

func ofEveryKind(label, life string) string {
	return strings.NewReplacer("LABEL", label, "LIFE", life).Replace(everyKind)
}

// Terraform creates first and deletes then, and for the cluster both is one object.
func TestAccReplacementThatIsCreatedFirstIsNotDeleted(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("it", "  lifecycle {\n    create_before_destroy = true\n  }\n")))
	cli.MustRun(t, "apply", "-auto-approve")
	before := objectsLeft(t, ns)
	for _, kind := range []string{"kt_volume", "kt_secret", "kt_image", "kt_compute"} {
		said(t, cli.MustRun(t, "apply", "-auto-approve", "-replace="+kind+".it"), "same stays", "leave create_before_destroy out")
		cli.MustRun(t, "plan", "-detailed-exitcode")
	}
	if after := objectsLeft(t, ns); after != before {
		t.Errorf("there are\n%s\nand were\n%s", after, before)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := objectsLeft(t, ns); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// Without a moved block Terraform creates and deletes at the same time.
func TestAccRenamedResourcesKeepOrRemakeTheirObjects(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	cli := acctest.NewCLI(t)
	for _, label := range []string{"first", "second", "third"} {
		cli.Write(t, cluster.Config(ns, ofEveryKind(label, "")))
		cli.MustRun(t, "apply", "-auto-approve")
		cli.MustRun(t, "plan", "-detailed-exitcode")
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

// objectsLeft are the names of the objects of every kind.
func objectsLeft(t *testing.T, ns string) string {
	t.Helper()
	return cluster.Kubectl(t, "get", "persistentvolumeclaims,secrets,configmaps,deployments,services", "-n", ns, "-o", "name",
		"-l", "app.kubernetes.io/managed-by=terraform-provider-kt")
}
