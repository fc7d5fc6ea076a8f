package ownership_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// everyKind is one resource of each type, with the resource name LABEL.
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

// With create_before_destroy, both resources are the same object in the cluster.
// This requires a resource that can adopt existing objects.
func TestAccOwnershipAReplacementCreatedBeforeTheDestroyIsNotDeleted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t,
		cluster.Config(ns,
			ofEveryKind("it", "  adopt_existing = true\n  lifecycle {\n    create_before_destroy = true\n  }\n")))
	cli.MustRun(t, "apply", "-auto-approve")
	before := objectsLeft(t, ns)
	for _, kind := range kinds() {
		acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-replace="+kind+".it"), "same was not deleted",
			"remove create_before_destroy")
		cli.MustRun(t, "plan", "-detailed-exitcode")
	}
	if after := objectsLeft(t, ns); after != before {
		t.Errorf("the objects are\n%s\nand were\n%s", after, before)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := objectsLeft(t, ns); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// During the apply, the provider cannot distinguish the creation from one of
// another state. It fails the creation, and later runs delete nothing.
func TestAccOwnershipAReplacementCreatedBeforeTheDestroyLosesNoData(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	first := cluster.Config(ns, acctest.Volume(acctest.SmallVolume+"lifecycle {\n create_before_destroy = true\n }"))
	cli.Write(t, first)
	cli.MustRun(t, "apply", "-auto-approve")
	before := uidsOfAll(t, ns)
	for _, command := range [][]string{{"apply", "-auto-approve", "-replace=" + acctest.DataVolume},
		{"apply", "-auto-approve"}} {
		out, err := cli.Run(t, command...)
		if err == nil {
			t.Fatalf("%v succeeded:\n%s", command, out)
		}
		acctest.ExpectText(t, out, "create_before_destroy", "terraform state rm", fmt.Sprintf("id = %q", ns+"/data"))
	}
	cli.MustRun(t, "state", "rm", acctest.DataVolume)
	cli.Write(t, first+fmt.Sprintf("\nimport {\n  to = %s\n  id = %q\n}\n", acctest.DataVolume, ns+"/data"))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	if after := uidsOfAll(t, ns); !maps.Equal(after, before) {
		t.Errorf("the objects are\n%v\nand were\n%v", after, before)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

// Without a moved block, Terraform creates and deletes at the same time.
func TestAccOwnershipARenameNeedsAMovedBlock(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, ofEveryKind("first", "")))
	cli.MustRun(t, "apply", "-auto-approve")
	before := uidsOfAll(t, ns)

	cli.Write(t, cluster.Config(ns, ofEveryKind("second", "")))
	out, err := cli.Run(t, "plan")
	if err == nil {
		t.Fatalf("the plan of a rename without a moved block succeeded:\n%s", out)
	}
	// The resource that is planned last fails. For a destroy, the CLI shows no address.
	flat := strings.Join(strings.Fields(out), " ")
	for _, kind := range kinds() {
		created, destroyed := "with "+kind+".second", fmt.Sprintf("%s %s/same would be destroyed and created", kind, ns)
		if !strings.Contains(flat, created) && !strings.Contains(flat, destroyed) {
			t.Errorf("the plan does not reject the rename of the %s:\n%s", kind, out)
		}
	}
	acctest.ExpectText(t, out, "moved block")

	var moved strings.Builder
	for _, kind := range kinds() {
		fmt.Fprintf(&moved, "moved {\n  from = %[1]s.first\n  to = %[1]s.second\n}\n", kind)
	}
	cli.Write(t, cluster.Config(ns, ofEveryKind("second", "")+moved.String()))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	if after := uidsOfAll(t, ns); !maps.Equal(after, before) {
		t.Errorf("the objects are\n%v\nand were\n%v", after, before)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccOwnershipTwoResourcesOfARunCannotHaveTheSameObject(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	refused := func(summary func(kind string) string, args ...string) {
		t.Helper()
		out, err := cli.Run(t, append([]string{"plan"}, args...)...)
		if err == nil {
			t.Fatalf("the plan succeeded:\n%s", out)
		}
		for _, kind := range kinds() {
			acctest.ExpectText(t, out, summary(kind))
		}
	}
	two := func(kind string) string { return fmt.Sprintf("Two %s resources are named %s/same", kind, ns) }

	cli.Write(t, cluster.Config(ns, ofEveryKind("a", "")+ofEveryKind("b", "")))
	refused(two)

	cli.Write(t, cluster.Config(ns, ofEveryKind("a", "")))
	cli.MustRun(t, "apply", "-auto-approve")
	for _, life := range []string{"", "  adopt_existing = true\n"} {
		cli.Write(t, cluster.Config(ns, ofEveryKind("a", "")+ofEveryKind("b", life)))
		refused(two)
	}
	var imports strings.Builder
	for _, kind := range kinds() {
		fmt.Fprintf(&imports, "import {\n  to = %s.b\n  id = %q\n}\n", kind, ns+"/same")
	}
	cli.Write(t, cluster.Config(ns, ofEveryKind("a", "")+ofEveryKind("b", "")+imports.String()))
	refused(two)

	// Destroying one of the two resources would delete the object of the other.
	cli.Write(t, cluster.Config(ns, ofEveryKind("b", "")+imports.String()))
	refused(two)
	var removed strings.Builder
	for _, kind := range kinds() {
		fmt.Fprintf(&removed, "removed {\n  from = %s.a\n  lifecycle {\n    destroy = false\n  }\n}\n", kind)
	}
	cli.Write(t, cluster.Config(ns, ofEveryKind("b", "")+imports.String()+removed.String()))
	cli.MustRun(t, "plan")

	cli.Write(t, cluster.Config(ns, ofEveryKind("a", "")))
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// A resource with adopt_existing can adopt an object in the run that destroys the
// object's resource, in any order. A volume cannot, because it would lose its data.
func TestAccOwnershipAVolumeIsNotAdoptedFromAResourceThatTheRunDestroys(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	const adopting = "  adopt_existing = true\n"
	cli.Write(t, cluster.Config(ns, ofEveryKind("first", adopting)))
	cli.MustRun(t, "apply", "-auto-approve")
	before := uidsOfAll(t, ns)

	cli.Write(t, cluster.Config(ns, ofEveryKind("second", adopting)))
	for _, refresh := range []string{"-refresh=true", "-refresh=false"} {
		out, err := cli.Run(t, "plan", refresh)
		if err == nil {
			t.Fatalf("the plan of a rename that may lose data succeeded:\n%s", out)
		}
		acctest.ExpectText(t, out, fmt.Sprintf("kt_volume %s/same would be destroyed and created", ns), "moved {")
		if got := strings.Count(out, "would be destroyed and created"); got != 1 {
			t.Errorf("%d errors, want one for the volume:\n%s", got, out)
		}
	}

	cli.Write(t,
		cluster.Config(ns,
			ofEveryKind("second", adopting)+"moved {\n  from = kt_volume.first\n  to = kt_volume.second\n}\n"))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	const claim = "PersistentVolumeClaim/same"
	if after := uidsOfAll(t, ns); len(after) != len(before) || after[claim] != before[claim] {
		t.Errorf("the objects are\n%v\nand were\n%v", after, before)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

// objectsLeft returns the names of the objects of everyKind that exist.
func objectsLeft(t *testing.T, ns string) string {
	t.Helper()
	return cluster.Kubectl(t, "get", "persistentvolumeclaims,secrets,configmaps,deployments,services", "-n", ns, "-o",
		"name",
		"-l", "app.kubernetes.io/managed-by=terraform-provider-kt")
}
