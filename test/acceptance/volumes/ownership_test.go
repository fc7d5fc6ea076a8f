package volumes_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// existingClaim is a claim that another client creates.
const existingClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  annotations: {created-by: admin}
spec: {accessModes: [ReadWriteOnce], storageClassName: standard, resources: {requests: {storage: 2Gi}}}
`

func TestAccVolumeOfAnotherClientIsAdoptedOnlyOnRequest(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, existingClaim, "-n", ns)
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	adopting := func(attributes string) string {
		return cluster.Config(ns, acctest.Volume("adopt_existing = true\n"+attributes))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{
				Config: cluster.Config(ns, acctest.Volume(acctest.ReadWriteOnce+`size = "2Gi"`)),
				ExpectError: regexp.MustCompile(`(?s)was not created by this provider.*kubectl-client-side-apply.*` +
					`adopt_existing`),
			},
			{
				Config: adopting("size = \"2Gi\"\n access_mode = \"ReadWriteMany\""), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)The data of the volume would be lost.*has the access ` +
					`mode\s+"ReadWriteOnce"`),
			},
			{
				Config: adopting(`size = "1Gi"`), PlanOnly: true,
				ExpectError: regexp.MustCompile(`A volume cannot shrink`),
			},
			{
				// Attributes that are not configured keep the values of the claim.
				Config:           adopting(`size = "2Gi"`),
				ConfigPlanChecks: acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionCreate),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("access_mode", "ReadWriteOnce"),
					volumeHas("storage_class", "standard"), volumeLacks("volume_name")},
				Check: claimIs(t, ns, "{.metadata.annotations.created-by}", "admin"),
			},
		},
	})
}

func TestAccVolumeIsImportedFromAClaimOfAnotherClient(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, existingClaim, "-n", ns)
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	config := cluster.Config(ns,
		"resource \"kt_volume\" \"data\" {\n name = \"data\"\n size = \"2Gi\"\n labels = { team = \"ml\" }\n}")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config, ResourceName: acctest.DataVolume, ImportState: true, ImportStateId: ns + "/data",
				ImportStatePersist: true},
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(acctest.DataVolume,
						plancheck.ResourceActionUpdate), volumePlan(func(p acctest.Plan) error {
						return p.ChangesOnly("labels")
					})},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				Check: claimIs(t, ns, `{.metadata.annotations.created-by} {.metadata.labels.kubetorch\.com/volume}`,
					"admin data"),
			},
			{Config: config, ResourceName: acctest.DataVolume, ImportState: true, ImportStateId: ns + "/none",
				ExpectError: regexp.MustCompile(`(?s)PersistentVolumeClaim \S+/none does not exist.*kubectl get ` +
					`persistentvolumeclaims`)},
			{Config: config, ResourceName: acctest.DataVolume, ImportState: true, ImportStateId: "data",
				ExpectError: regexp.MustCompile(`must have the format\s+namespace/name`)},
		},
	})
}

func TestAccVolumeThatWasRemovedFromStateIsImportedOrAdopted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Volume(acctest.SmallVolume))
	importing := fmt.Sprintf("import {\n to = kt_volume.data\n id = %q\n}\n", ns+"/data")
	removed := cluster.Config(ns, "removed {\n from = kt_volume.data\n lifecycle {\n destroy = false\n }\n}")
	var uid string
	sameUID := resource.TestCheckResourceAttrWith(acctest.DataVolume, "uid",
		func(value string) error { return sameText("uid", value, uid) })
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config, Check: func(*terraform.State) error {
				uid = cluster.Kubectl(t, "get", "persistentvolumeclaim/data", "-n", ns, "-o",
					"jsonpath={.metadata.uid}")
				return nil
			}},
			{Config: removed},
			{Config: config, ExpectError: regexp.MustCompile(`(?s)belongs to another resource.*import \{`)},
			{Config: config + "\n" + importing, Check: sameUID},
			{Config: removed},
			{
				Config:           cluster.Config(ns, acctest.Volume(acctest.SmallVolume+"adopt_existing = true")),
				ConfigPlanChecks: acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionCreate),
				Check:            sameUID,
			},
		},
	})
}

// The failed creation left the claim, so it is not one that the volume adopts.
func TestAccTaintedVolumeWithAdoptExistingIsCorrected(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns, "provisioner: kubernetes.io/host-path")
	config := func(size, class string) string {
		return cluster.Config(ns, acctest.Volume(fmt.Sprintf("%sadopt_existing = true\n size = %q\n "+
			"storage_class = %q", acctest.ReadWriteOnce, size, class)))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config("1Gi", class+"s"), ExpectError: regexp.MustCompile(`does not\s+exist`)},
			{
				Config:            config("2Gi", class),
				ConfigPlanChecks:  acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionReplace),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("size", "2Gi"), volumeHas("phase", "Bound")},
			},
		},
	})
}
