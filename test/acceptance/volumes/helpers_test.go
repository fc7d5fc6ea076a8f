package volumes_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// volumeChanges checks that a plan updates only these attributes of the volume, in addition to manifests, and these
// fields of the claim.
func volumeChanges(attributes, claimFields []string) resource.ConfigPlanChecks {
	for i, field := range claimFields {
		claimFields[i] = "PersistentVolumeClaim " + field
	}
	checks := acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionUpdate)
	checks.PreApply = append(checks.PreApply, volumePlan(acctest.PlanShows(attributes, claimFields)))
	return checks
}

func volumeHas(attribute, value string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(acctest.DataVolume, tfjsonpath.New(attribute), knownvalue.StringExact(value))
}

func volumeLacks(attribute string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(acctest.DataVolume, tfjsonpath.New(attribute), knownvalue.Null())
}

// claimIs checks the value at a JSONPath of the claim.
func claimIs(t *testing.T, ns, path, want string) resource.TestCheckFunc {
	t.Helper()
	return func(*terraform.State) error {
		if got := cluster.Kubectl(t, "get", "persistentvolumeclaim/data", "-n", ns, "-o",
			"jsonpath="+path); got != want {
			return fmt.Errorf("%s of the claim is %q, want %q", path, got, want)
		}
		return nil
	}
}

func noClaims(t *testing.T, ns string) resource.TestCheckFunc {
	t.Helper()
	return func(*terraform.State) error {
		if left := cluster.Kubectl(t, "get", "persistentvolumeclaims", "-n", ns, "-o", "name"); left != "" {
			return fmt.Errorf("left behind:\n%s", left)
		}
		return nil
	}
}
