package ecosystem_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// Calls reach only leaders. The Services with which the pods of a group find their
// leader exist in addition to the Service of the compute.
func TestEcoLeaderWorkerSetIsReachedAtItsLeaders(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	list := func(what, path string) []string {
		names := strings.Fields(cluster.Kubectl(t, "get", what, "-n", ns, "-o", "jsonpath="+path))
		slices.Sort(names)
		return names
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config: cluster.Config(ns, acctest.BareCompute(groups("{replicas: 2, leaderWorkerTemplate: {size: 3}}"))),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(acctest.Trainer, "ready", "true"),
				resource.TestCheckResourceAttr(acctest.Trainer, "replicas", "6"),
				func(*terraform.State) error {
					if pods := list("pods", "{.items[*].metadata.name}"); len(pods) != 6 {
						return fmt.Errorf("the pods are %q", pods)
					}
					services := list("services", "{.items[*].metadata.name}")
					if !slices.Equal(services, []string{"trainer", "trainer-0", "trainer-1"}) {
						return fmt.Errorf("the Services are %q", services)
					}
					return nil
				},
				func(*terraform.State) error {
					// kubectl wait fails at once while there is only one endpoint.
					acctest.WaitUntil(t, "two endpoints are ready", func() bool {
						ready := cluster.Kubectl(t, "get", "endpointslices", "-n", ns, "-o",
							"jsonpath={.items[*].endpoints[*].conditions.ready}",
							"-l", "kubernetes.io/service-name=trainer")
						return strings.Count(ready, "true") == 2
					})
					leaders := strings.Fields(cluster.Kubectl(t, "get", "endpointslices", "-n", ns,
						"-l", "kubernetes.io/service-name=trainer", "-o",
						"jsonpath={.items[*].endpoints[*].targetRef.name}"))
					slices.Sort(leaders)
					if !slices.Equal(leaders, []string{"trainer-0", "trainer-1"}) {
						return fmt.Errorf("the endpoints of the Service are %q", leaders)
					}
					return nil
				},
			),
		}},
	})
}

func TestEcoLeaderWorkerSetReportsTheCrashingPod(t *testing.T) {
	t.Parallel()
	runs := func(image string) string {
		return fmt.Sprintf("{spec: {containers: [{name: kubetorch, image: %q}]}}", image)
	}
	spec := fmt.Sprintf("{leaderWorkerTemplate: {size: 2, restartPolicy: None, leaderTemplate: %s, "+
		"workerTemplate: %s}}",
		runs("mine:1"), runs("broken.invalid/crash:1"))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config:      cluster.Config(cluster.Namespace(t), acctest.BareCompute(groups(spec))),
			ExpectError: regexp.MustCompile(`(?s)is not ready.*trainer-0-1`),
		}},
	})
}

// The webhook of LeaderWorkerSet rejects changes to the size of subgroups.
func TestEcoLeaderWorkerSetIsReplacedForAnotherSizeOfSubgroups(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := func(subgroup int) string {
		spec := fmt.Sprintf("{leaderWorkerTemplate: {size: 4, subGroupPolicy: {subGroupSize: %d}}}", subgroup)
		return cluster.Config(ns, acctest.BareCompute(groups(spec)))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config(2)},
			{
				Config: config(4),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionReplace),
				),
				Check: func(*terraform.State) error {
					size := cluster.Kubectl(t, "get", "leaderworkerset/trainer", "-n", ns,
						"-o", "jsonpath={.spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize}")
					if size != "4" {
						return errors.New("the size of the subgroups is " + size)
					}
					return nil
				},
			},
		},
	})
}
