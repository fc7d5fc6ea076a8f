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

// The number that an autoscaler sets is that of the groups. Their size stays that of the manifest.
func TestEcoLeaderWorkerSetIsScaledByItsGroups(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	metrics := acctest.ServeMetrics(t, cluster, ns)
	computes := cluster.Resources(t, "kt_compute", ns, "")
	body := func(spec, attributes string) map[string]string {
		return map[string]string{"large": "name = \"large\"\nlaunch_timeout = \"5m\"\n" + groups(spec) + attributes}
	}
	const hpa = `autoscale = {
	  scaler = "hpa", min_scale = 2, max_scale = 4
	  metrics  = [{ external = { metric = { name = "waiting" }, target = { average_value = "10" } } }]
	  behavior = { scale_down = { stabilization_window_seconds = 0 } }
	}`
	scaled := body("{leaderWorkerTemplate: {size: 2}}", hpa)
	pods := func() []string {
		return strings.Fields(cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[*].metadata.uid}"))
	}
	become := func(groups string, of int) {
		t.Helper()
		acctest.WaitUntil(t, fmt.Sprintf("there are %s groups and %d pods", groups, of), func() bool {
			return len(pods()) == of && cluster.Kubectl(t, "get", "leaderworkerset/large", "-n", ns, "-o",
				"jsonpath={.spec.replicas}") == groups
		})
	}

	metrics.Value.Store(30)
	computes.Change(t, body("{replicas: 3, leaderWorkerTemplate: {size: 2}}", ""))
	before := pods()
	computes.Change(t, scaled) // from 3 groups to an autoscaler that wants 3
	if after := pods(); len(after) != 6 || !slices.Equal(after, before) {
		t.Errorf("the pods were replaced: %v, before %v", after, before)
	}
	if got := computes.Attribute("large", "replicas"); got != nil {
		t.Errorf("replicas is %v", got)
	}
	metrics.Value.Store(35)
	become("4", 8)
	computes.ExpectNoChange(t, scaled)
	metrics.Value.Store(0)
	become("2", 4)
	computes.ExpectNoChange(t, scaled)

	cluster.Kubectl(t, "patch", "hpa/large", "-n", ns, "--type=merge", "-p", `{"spec": {"maxReplicas": 3}}`)
	if drifted := computes.Plan(t, scaled)["large"]; !slices.Contains(drifted.Attributes(), "autoscale") {
		t.Errorf("the plan changes %q", drifted.Attributes())
	}
	computes.Change(t, body("{leaderWorkerTemplate: {size: 2}}", hpa+"\nsuspend = true"))
	become("0", 0)
	computes.Change(t, scaled)
	become("2", 4)
	computes.ExpectNoChange(t, scaled)
	computes.Destroy(t)
	if left := cluster.Kubectl(t, "get", "leaderworkersets,statefulsets,pods,hpa", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
