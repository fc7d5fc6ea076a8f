package volumes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// All namespaces share the storage classes of a cluster and its default class. Therefore this test uses a separate
// cluster.
func TestAccVolumeSelectsAStorageClass(t *testing.T) {
	t.Parallel()
	own := acctest.OwnCluster(t)
	ns := own.Namespace(t)
	createClass := func(name, provisioner string) {
		own.Apply(t, fmt.Sprintf("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: %s}\n"+
			"provisioner: %s", name, provisioner))
	}
	setDefault := func(name, value string) {
		own.Kubectl(t, "annotate", "storageclass", name, "--overwrite",
			"storageclass.kubernetes.io/is-default-class="+value)
	}
	cli := acctest.NewAttachedCLI(t)
	plan := func(attributes string, texts ...string) string {
		t.Helper()
		cli.Write(t, own.Config(ns, acctest.Volume("size = \"1Gi\"\n"+attributes)))
		out, err := cli.Run(t, "plan")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		acctest.ExpectText(t, out, texts...)
		return out
	}
	const unknown = "+ storage_class = (known after apply)"
	apply := func(attributes, class string) {
		t.Helper()
		cli.Write(t, own.Config(ns, acctest.Volume("size = \"1Gi\"\n wait_for_bound = false\n"+attributes)))
		cli.MustRun(t, "apply", "-auto-approve")
		cli.MustRun(t, "plan", "-detailed-exitcode")
		if got := own.Kubectl(t, "get", "persistentvolumeclaim/data", "-n", ns, "-o",
			"jsonpath={.spec.storageClassName}"); got != class {
			t.Errorf("the storage class is %q, want %q", got, class)
		}
		cli.MustRun(t, "destroy", "-auto-approve")
	}

	cli.Write(t, own.Config(ns, acctest.Volume(acctest.SmallVolume)))
	cli.MustRun(t, "apply", "-auto-approve")
	setDefault("standard", "false")
	cli.MustRun(t, "plan", "-detailed-exitcode") // the selected class is kept
	cli.MustRun(t, "destroy", "-auto-approve")

	createClass("block", "ebs.csi.aws.com")
	cli.Write(t, own.Config(ns, acctest.Volume(`size = "1Gi"`)))
	out := cli.MustRun(t, "plan") // the same run may create a class
	acctest.ExpectText(t, out, "No default storage class",
		"The plan continues, because the same run may create a class")
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Errorf("a storage class was selected, although no class is suitable:\n%s", out)
	}
	acctest.ExpectText(t, out, "No default storage class", "known to share volumes, which ReadWriteMany requires",
		"to one of these: standard (provisioner kubernetes.io/host-path)")

	setDefault("block", "true")
	if out, err = cli.Run(t, "plan"); err == nil {
		t.Errorf("the plan selects a class of disks for ReadWriteMany:\n%s", out)
	}
	acctest.ExpectText(t, out, "Error: No storage class with shared volumes",
		`StorageClass "block" (provisioner ebs.csi.aws.com)`,
		"to one of these: standard (provisioner kubernetes.io/host-path)")
	if out := plan(acctest.ReadWriteOnce, unknown); strings.Contains(out, "cannot share") {
		t.Errorf("the plan warns about the class, although only one node uses the volume:\n%s", out)
	}

	createClass("shared", "nfs.csi.k8s.io")
	if out := plan("", unknown); strings.Contains(out, "cannot share") {
		t.Errorf("the plan warns about a class that supports shared volumes:\n%s", out)
	}
	apply(acctest.ReadWriteOnce, "block")
	apply("", "shared")
	createClass("efs-sc", "efs.csi.aws.com")
	plan("", unknown, "Several storage classes share volumes",
		"efs-sc (provisioner efs.csi.aws.com), shared (provisioner nfs.csi.k8s.io)")
	plan(`storage_class = "standard"`, `+ storage_class = "standard"`, "cannot share")
	plan(`storage_class = "later"`, "The storage class does not exist yet", `no StorageClass "later"`,
		"block (provisioner ebs.csi.aws.com, the default)")
	plan(`volume_name = "pv"`, `+ storageClassName = ""`) // of the claim: OpenTofu does not show empty attributes

	createClass("newest", "pd.csi.storage.gke.io")
	setDefault("newest", "true")
	apply(acctest.ReadWriteOnce, "newest")
}

func TestAccVolumeIsPlannedWithoutAReachableCluster(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	provider := "provider \"kt\" {\n host = \"https://" + acctest.ClosedPort(t) +
		"\"\n token = \"none\"\n namespace = \"" + ns + "\"\n}\n"
	cli.Write(t, provider+acctest.Volume(`size = "1Gi"`))
	acctest.ExpectText(t, cli.MustRun(t, "plan"), "The Kubernetes API server cannot be reached",
		"The storage class is selected at apply",
		`+ ref = { + claim_name = "data" + mount_path = "/data" }`, "+ storage_class = (known after apply)",
		"Plan: 1 to add")
}

// Storage classes are cluster-scoped: permissions in a namespace do not include reading them.
func TestAccVolumeIsCreatedWithoutPermissionToListClasses(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	provider := "provider \"kt\" {\n" +
		cluster.TokenAttributes(t, ns, cluster.ServiceAccount(t, ns, "deployer", "admin")) + "}\n"
	cli.Write(t, provider+acctest.Volume(acctest.SmallVolume))
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve"), "No permission to",
		"storageclasses.storage.k8s.io is forbidden", "Kubernetes selects the default storage class")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	if class := cluster.Kubectl(t, "get", "persistentvolumeclaim/data", "-n", ns, "-o",
		"jsonpath={.spec.storageClassName}"); class != "standard" {
		t.Errorf("the storage class is %q, want the default class", class)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccVolumeAcceptsValuesThatAreUnknownInThePlan(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, fmt.Sprintf(`
resource "terraform_data" "later" {
  input = { name = "data", size = "1Gi", path = "/data", class = "standard", mode = "ReadWriteOnce", namespace = %q }
}

resource "kt_volume" "data" {
  name          = terraform_data.later.output.name
  namespace     = terraform_data.later.output.namespace
  size          = terraform_data.later.output.size
  mount_path    = terraform_data.later.output.path
  storage_class = terraform_data.later.output.class
  access_mode   = terraform_data.later.output.mode
  labels        = { later = terraform_data.later.output.name }
}

resource "kt_compute" "trainer" {
  name           = "trainer"
  launch_timeout = "1m"
  volumes        = [kt_volume.data.ref]
}`, ns))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{{
			Config: config,
			ConfigPlanChecks: resource.ConfigPlanChecks{
				PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownValue(acctest.DataVolume,
					tfjsonpath.New("manifests")),
					plancheck.ExpectUnknownValue(acctest.DataVolume, tfjsonpath.New("storage_class"))},
				PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
			},
			ConfigStateChecks: []statecheck.StateCheck{volumeHas("storage_class", "standard"),
				volumeHas("phase", "Bound")},
		}},
	})
}

// sizedLater returns a configuration with a volume whose size is unknown in the plan.
func sizedLater(ns, class, size string) string {
	return cluster.Config(ns, fmt.Sprintf("resource \"terraform_data\" \"later\" {\n input = %q\n}\n", size)+
		acctest.Volume(fmt.Sprintf("%s storage_class = %q\n size = terraform_data.later.output",
			acctest.ReadWriteOnce, class)))
}

// Attributes that the plan shows as unchanged must not change when the size becomes known.
func TestAccVolumeGrowsToASizeThatIsUnknownInThePlan(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns, "provisioner: kubernetes.io/host-path\nallowVolumeExpansion: true")
	sized := func(size string) string { return sizedLater(ns, class, size) }
	resizer := patchStatus(t, ns, `{"capacity": {"storage": "2Gi"}}`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: sized("1Gi")},
			{
				Config: sized("2Gi"),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownValue(acctest.DataVolume,
						tfjsonpath.New("capacity")), resizer},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("capacity", "2Gi"), volumeHas("phase", "Bound")},
			},
		},
	})
}

// An empty volume is replaced by one of another size, which an apply can do only if the plan contains it.
func TestAccEmptyVolumeWithASizeThatIsUnknownInThePlanIsReplaced(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns,
		"provisioner: kubernetes.io/host-path\nvolumeBindingMode: WaitForFirstConsumer")
	sized := func(size string) string { return sizedLater(ns, class, size) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: sized("1Gi")},
			{
				Config:            sized("2Gi"),
				ConfigPlanChecks:  acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionReplace),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("size", "2Gi"), volumeHas("phase", "Pending")},
			},
		},
	})
}

// Terraform imports by identity since 1.12, OpenTofu not yet. Therefore the test calls the provider directly.
func TestAccVolumeIsImportedByIdentity(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, existingClaim, "-n", ns)
	server := acctest.ConfiguredProvider(t, map[string]string{"config_path": cluster.Kubeconfig(), "namespace": ns})
	imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
		TypeName: "kt_volume",
		Identity: &tfprotov6.ResourceIdentityData{IdentityData: acctest.DynamicValue(t, tftypes.Object{
			AttributeTypes: map[string]tftypes.Type{"namespace": tftypes.String, "name": tftypes.String},
		}, map[string]tftypes.Value{"namespace": tftypes.NewValue(tftypes.String, nil),
			"name": tftypes.NewValue(tftypes.String, "data")})},
	})
	if err != nil || len(imported.Diagnostics) > 0 || len(imported.ImportedResources) != 1 {
		t.Fatalf("%v %v", err, imported)
	}
	got := imported.ImportedResources[0]
	read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: "kt_volume", CurrentState: got.State, Private: got.Private, CurrentIdentity: got.Identity,
	})
	if err != nil || len(read.Diagnostics) > 0 || read.NewState == nil {
		t.Fatalf("%v %v", err, read)
	}
}
