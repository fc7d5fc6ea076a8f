package ecosystem_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The pods of these kinds neither become ready nor end.
func suspendable() map[string]struct{ object, suspension, attributes string } {
	spec := func(text string) string { return strings.ReplaceAll(text, "mine:1", "broken.invalid/never:1") }
	return map[string]struct{ object, suspension, attributes string }{
		"job": {"job/trainer", "{.spec.suspend}",
			acctest.Manifest("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 3, completions: 3, template: " +
				"{spec: {containers: [{name: kubetorch, image: \"broken.invalid/never:1\", command: [python]}]}}}")},
		"job set": {"jobset/trainer", "{.spec.suspend}", spec(jobSet(3, "network: {enableDNSHostnames: true}"))},
		"pytorch": {"pytorchjob/trainer", "{.spec.runPolicy.suspend}",
			spec(roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", 2))},
		"ray": {"raycluster/trainer", "{.spec.suspend}", `distribute = { type = "ray", workers = 3 }`},
	}
}

// waitingJob needs the quota of the computes above.
func waitingJob(t *testing.T, ns, queue string) {
	t.Helper()
	smaller := strings.NewReplacer("parallelism: 6", "parallelism: 3", "completions: 6", "completions: 3").Replace(job)
	cluster.Apply(t, inQueue(smaller, queue), "-n", ns)
	cluster.Await(t, ns, "job/gpus", "jsonpath={.spec.suspend}=true")
}

func TestEcoSuspensionReleasesTheQuota(t *testing.T) {
	t.Parallel()
	for name, c := range suspendable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			compute := func(more string) string {
				return fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n name = \"trainer\"\n queue_name = %q\n "+
					"gpus = 1\n on_not_ready = \"ignore\"\n %s\n %s\n}", ns, c.attributes, more)
			}
			const short = `timeouts = { delete = "30s" }`
			runs := func(*terraform.State) error {
				cluster.Await(t, ns, c.object, "jsonpath="+c.suspension+"=false")
				return nil
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				CheckDestroy: func(*terraform.State) error {
					if left := cluster.Kubectl(t, "get", "workloads", "-n", ns, "-o", "name"); left != "" {
						return errors.New("left in the cluster: " + left)
					}
					return nil
				},
				Steps: []resource.TestStep{
					{Config: queueConfig(ns, "4", short)},
					{Config: queueConfig(ns, "4", short) + compute(""), Check: runs},
					{
						PreConfig: func() { waitingJob(t, ns, ns) },
						Config:    queueConfig(ns, "4", short) + compute("suspend = true"),
						Check: func(*terraform.State) error {
							cluster.Await(t, ns, "job/gpus", "condition=Complete")
							cluster.Kubectl(t, "delete", "-n", ns, "job/gpus")
							return nil
						},
					},
					{Config: queueConfig(ns, "4", short) + compute(""), Check: runs},
					{Config: queueConfig(ns, "4", short) + compute("suspend = true")},
					{Config: cluster.Config(ns, compute("suspend = true"))}, // the queue is deleted
				},
			})
		})
	}
}

func TestEcoSuspendActionReleasesTheQuota(t *testing.T) {
	t.Parallel()
	acctest.RequireTerraform(t, "1.14")
	cli, ns := acctest.NewAttachedCLI(t), cluster.Namespace(t)
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", ns)
	queue, c := cluster.Queue(t, ns, 4), suspendable()["job"]
	action := func(name string) string {
		return fmt.Sprintf("\naction \"kt_%s\" \"x\" {\n config {\n name = \"trainer\"\n wait = false\n }\n}\n", name)
	}
	cli.Write(t, acctest.BareCompute(fmt.Sprintf("queue_name = %q\n gpus = 1\n on_not_ready = \"ignore\"\n ", queue)+
		c.attributes)+action("suspend")+action("resume"))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Await(t, ns, c.object, "jsonpath="+c.suspension+"=false")
	waitingJob(t, ns, queue)
	out := cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_suspend.x")
	if strings.Contains(out, "still reserved") {
		t.Error(out)
	}
	cluster.Await(t, ns, "job/gpus", "condition=Complete")
	cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_resume.x")
	cluster.Await(t, ns, c.object, "jsonpath="+c.suspension+"=false")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}
