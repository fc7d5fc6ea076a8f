package datasources_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// gpuNode creates a node without a kubelet, with GPUs of a product that no other node
// has.
func gpuNode(t *testing.T, name, product, labels string, capacity, allocatable int) {
	t.Helper()
	cluster.Apply(t,
		fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {nvidia.com/gpu.product: %s%s}}\n", name,
			product, labels))
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "node", name) })
	cluster.Kubectl(t, "patch", "node", name, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status": {"capacity": {"nvidia.com/gpu": "%d"}, "allocatable": {"nvidia.com/gpu": "%d"}, "conditions": `+
			`[{"type": "Ready", "status": "True"}]}}`, capacity, allocatable))
}

// gpuPod creates a pod with GPUs on a node, in the given phase.
func gpuPod(t *testing.T, ns, name, node string, gpus int, phase string) {
	t.Helper()
	cluster.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec:
  nodeName: %q
  schedulerName: nobody
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  containers: [{name: train, image: example.com/train, resources: {limits: {nvidia.com/gpu: "%d"}}}]
`, name, ns, node, gpus))
	cluster.Kubectl(t, "patch", "pod", name, "-n", ns, "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status": {"phase": %q}}`, phase))
}

func TestAccGPUsAreCountedByProduct(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	product := "TEST-" + ns
	gpuNode(t, "a-"+ns, product, "", 8, 6)
	gpuNode(t, "b-"+ns, product, ", zone: east", 4, 4)
	cluster.Kubectl(t, "cordon", "b-"+ns)
	gpuPod(t, ns, "running", "a-"+ns, 3, "Running")
	gpuPod(t, ns, "starting", "b-"+ns, 1, "Pending")
	gpuPod(t, ns, "completed", "a-"+ns, 2, "Succeeded")
	gpuPod(t, ns, "unscheduled", "", 1, "Pending")

	number := func(n int64) knownvalue.Check { return knownvalue.Int64Exact(n) }
	node := func(name string, capacity, allocatable, free int64, schedulable bool) knownvalue.Check {
		return knownvalue.ObjectExact(map[string]knownvalue.Check{
			"name": knownvalue.StringExact(name + "-" + ns), "capacity": number(capacity),
			"allocatable": number(allocatable),
			"free":        number(free), "schedulable": knownvalue.Bool(schedulable),
		})
	}
	a, b := node("a", 8, 6, 3, true), node("b", 4, 4, 3, false)
	for name, test := range map[string]struct {
		filter                             string
		nodes                              []knownvalue.Check
		capacity, allocatable, free, large int64
	}{
		"all nodes of a product": {``, []knownvalue.Check{a, b}, 12, 10, 6, 3},
		"nodes with a label":     {`node_selector = { zone = "east" }`, []knownvalue.Check{b}, 4, 4, 3, 3},
		"schedulable nodes":      {`schedulable_only = true`, []knownvalue.Check{a}, 8, 6, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{{
					Config: cluster.Config(ns,
						fmt.Sprintf("data \"kt_gpus\" \"it\" {\n product = %q\n %s\n}\n", product, test.filter)),
					ConfigStateChecks: []statecheck.StateCheck{
						expectValue("data.kt_gpus.it", "free", number(test.free)),
						expectValue("data.kt_gpus.it", "capacity", number(test.capacity)),
						expectValue("data.kt_gpus.it", "allocatable", number(test.allocatable)),
						expectValue("data.kt_gpus.it", "products",
							knownvalue.ListExact([]knownvalue.Check{knownvalue.ObjectExact(map[string]knownvalue.Check{
								"product": knownvalue.StringExact(product), "capacity": number(test.capacity),
								"allocatable": number(test.allocatable),
								"free":        number(test.free), "largest_free": number(test.large),
								"nodes": knownvalue.ListExact(test.nodes),
							})})),
					},
				}},
			})
		})
	}
}

func TestAccGPUsOfAnotherVendorAreCounted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: amd-%[1]s, labels: {%[1]s: all, "+
		"amd.com/gpu.product-name: MI300X-%[1]s}}\n", ns))
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "node", "amd-"+ns) })
	cluster.Kubectl(t, "patch", "node", "amd-"+ns, "--subresource=status", "--type=merge", "-p",
		`{"status": {"capacity": {"amd.com/gpu": "8", "example.com/fpga": "2"}, `+
			`"allocatable": {"amd.com/gpu": "7", "example.com/fpga": "2"}}}`)
	config := func(filter string) string {
		return cluster.Config(ns, fmt.Sprintf("data \"kt_gpus\" \"it\" {\n%s\nnode_selector = { %s = \"all\" }\n}\n",
			filter, ns))
	}
	product := func(name knownvalue.Check, allocatable int64) []statecheck.StateCheck {
		return []statecheck.StateCheck{
			expectValue("data.kt_gpus.it", "allocatable", knownvalue.Int64Exact(allocatable)),
			expectValue("data.kt_gpus.it", "products", knownvalue.ListExact([]knownvalue.Check{
				knownvalue.ObjectPartial(map[string]knownvalue.Check{"product": name}),
			})),
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config:            config("resource_name = \"amd.com/gpu\""),
				ConfigStateChecks: product(knownvalue.StringExact("MI300X-"+ns), 7),
			},
			{
				Config:            config("resource_name = \"example.com/fpga\""),
				ConfigStateChecks: product(knownvalue.Null(), 2),
			},
			{
				Config:            config("resource_name = \"example.com/fpga\"\nproduct_label = \"" + ns + "\""),
				ConfigStateChecks: product(knownvalue.StringExact("all"), 2),
			},
			{
				Config:      config("product = \"\""),
				ExpectError: regexp.MustCompile(`product string length must be at least 1`),
			},
			{
				Config:      config("resource_name = \"example.com/fpga\"\nproduct = \"x\""),
				ExpectError: regexp.MustCompile(`(?s)Unknown product label.*Set .product_label.`),
			},
			{
				Config: cluster.Config(ns, fmt.Sprintf(
					"data \"kt_gpus\" \"it\" {\nresource_name = \"amd.com/gpu\"\nproduct = \"MI300X-%s\"\n}\n", ns)),
				ConfigStateChecks: product(knownvalue.StringExact("MI300X-"+ns), 7),
			},
		},
	})
}

func TestAccGPUsOfAnUnknownProductAreZero(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config: cluster.Config(ns, "data \"kt_gpus\" \"it\" {\n product = \"NVIDIA-NONE\"\n}\n"),
			ConfigStateChecks: []statecheck.StateCheck{
				expectValue("data.kt_gpus.it", "free", knownvalue.Int64Exact(0)),
				expectValue("data.kt_gpus.it", "products", knownvalue.ListSizeExact(0)),
			},
		}},
	})
}
