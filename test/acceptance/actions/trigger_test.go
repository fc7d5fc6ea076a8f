package actions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccActionTriggerRunsAJobOfACronJob(t *testing.T) {
	t.Parallel()
	cluster.Started(t)
	cronJob := func(name, image, state string) string {
		return fmt.Sprintf(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: %s}
spec:
  schedule: "0 0 1 1 *"
  suspend: true
  jobTemplate:
    metadata: {labels: {team: ml}, annotations: {example.com/note: kept}}
    spec:
      %s
      backoffLimit: 0
      template:
        metadata: {labels: {kubetorch.com/service: %s}}
        spec: {restartPolicy: Never, containers: [{name: kubetorch, image: "%s"}]}
---
`, name, state, name, image)
	}
	ns := cluster.Namespace(t)
	cluster.Apply(t, cronJob("nightly", "a:1", "")+cronJob("broken", "broken.invalid/server:3", "")+
		cronJob("stopped", "a:1", "suspend: true")+"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: server}\n"+
		"spec: "+specs()["Deployment"]+"\n", "-n", ns)
	trigger := func(name string, attributes ...string) result {
		values := map[string]any{"id": ns + "/" + name}
		for _, attribute := range attributes {
			values[attribute] = false
		}
		return invoke(t, cluster, "kt_trigger", values)
	}

	r := trigger("nightly")
	acctest.ExpectText(t, r.String(), "Created Job "+ns+"/nightly-manual-", ": complete.")
	if len(r.errors) > 0 {
		t.Error(r)
	}
	job := cluster.Kubectl(t, "get", "jobs", "-n", ns, "-o",
		`jsonpath={range .items[*]}{.metadata.ownerReferences[0].kind}{" "}{.metadata.labels.team}{" "}`+
			`{.metadata.annotations.example\.com/note}{" "}`+
			`{.metadata.annotations.cronjob\.kubernetes\.io/instantiate}{" "}{.status.succeeded}{end}`)
	if job != "CronJob ml kept manual 1" {
		t.Errorf("the Job is %q", job)
	}
	trigger("nightly", "wait")
	if n := len(strings.Fields(cluster.Kubectl(t, "get", "jobs", "-n", ns, "-o", "name"))); n != 2 {
		t.Errorf("%d Jobs after the second invocation, want 2", n)
	}

	r = trigger("broken")
	acctest.ExpectText(t, r.String(), "Error at", "Job "+ns+"/broken-manual-", "Done before this error:",
		"Created Job "+ns+"/broken-manual-")
	acctest.ExpectText(t, trigger("stopped").String(), "stopped-manual-", "suspended")
	acctest.ExpectText(t, trigger("server").String(), "Cannot trigger Deployment "+ns+"/server",
		"Only a CronJob starts Jobs.", "The action has not changed anything.")

	cluster.Kubectl(t, "patch", "cronjob/nightly", "-n", ns, "--type=merge", "-p",
		`{"metadata": {"finalizers": ["example.com/test"]}}`)
	t.Cleanup(func() {
		cluster.Kubectl(t, "patch", "cronjob/nightly", "-n", ns, "--type=merge", "-p",
			`{"metadata":{"finalizers":null}}`)
	})
	cluster.Kubectl(t, "delete", "cronjob/nightly", "-n", ns, "--wait=false")
	acctest.ExpectText(t, trigger("nightly").String(), "Cannot trigger CronJob", "It is being deleted")
}

// expectUncordon checks that kt_uncordon releases an unschedulable node.
func expectUncordon(t *testing.T, on *acctest.Cluster, node string) {
	t.Helper()
	for _, state := range []string{"Marked node %s as schedulable.", "Node %s is already schedulable."} {
		acctest.ExpectText(t, invoke(t, on, "kt_uncordon", map[string]any{"node": node}).String(),
			fmt.Sprintf(state, node))
	}
	if set := on.Kubectl(t, "get", "node", node, "-o", "jsonpath={.spec.unschedulable}"); set != "" {
		t.Errorf("spec.unschedulable of the node is %s", set)
	}
	acctest.ExpectText(t, invoke(t, on, "kt_uncordon", map[string]any{"node": "missing"}).String(),
		`Error at AttributeName("node"): Node "missing" does not exist`)
}
