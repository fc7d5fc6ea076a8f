package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// podOfAnother is the pod of somebody who does not know Kubetorch: other labels, and another name of the container.
const podOfAnother = `metadata: {labels: {app: %[1]s}}, spec: {restartPolicy: %[2]s,
  nodeSelector: {kt.dev/real: "true"}, tolerations: [{key: kt.dev/real, operator: Exists}],
  containers: [{name: main, image: "` + serverOfOnesOwn + `", args: ["-port", "8080"],
    env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: token, key: TOKEN}}}]}]}`

// workloadsOfAnother returns a workload of each kind whose controller creates real pods on a dev cluster, by name.
func workloadsOfAnother() map[string]string {
	workload := func(name, apiVersion, kind, spec, restart string) string {
		pod := fmt.Sprintf(podOfAnother, name, restart)
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n",
			apiVersion, kind, name, strings.NewReplacer("POD", pod,
				"SELECTOR", fmt.Sprintf("selector: {matchLabels: {app: %s}}", name)).Replace(spec))
	}
	return map[string]string{
		"deployment": workload("deployment", "apps/v1", "Deployment", "SELECTOR, template: {POD}", "Always"),
		"statefulset": workload("statefulset", "apps/v1", "StatefulSet",
			"serviceName: statefulset, SELECTOR, template: {POD}", "Always"),
		"daemonset":  workload("daemonset", "apps/v1", "DaemonSet", "SELECTOR, template: {POD}", "Always"),
		"replicaset": workload("replicaset", "apps/v1", "ReplicaSet", "SELECTOR, template: {POD}", "Always"),
		"job":        workload("job", "batch/v1", "Job", "template: {POD}", "Never"),
		"cronjob": workload("cronjob", "batch/v1", "CronJob",
			`schedule: "0 3 1 1 *", jobTemplate: {spec: {template: {POD}}}`, "Never"),
		"pod": alone("pod", "pod"),
	}
}

// alone returns a Pod without a controller, with the label of the pods of a workload.
func alone(name, app string) string {
	return "apiVersion: v1\nkind: Pod\n" + strings.NewReplacer("metadata: {", "metadata: {name: "+name+", ",
		", spec:", "\nspec:").Replace(fmt.Sprintf(podOfAnother, app, "Always")) + "\n"
}

// TestE2EActionsRunInAdoptedWorkloads imports a workload of each kind that another client has created, and runs
// commands and checkpoints in its pods.
func TestE2EActionsRunInAdoptedWorkloads(t *testing.T) {
	t.Parallel()
	acctest.RequireTerraform(t, "1.14")
	cli, ns := terraform(t)
	createToken(t, ns)
	for _, app := range []string{"pod", "cronjob"} { // in which no action may run
		cluster.Apply(t, alone("a-stranger-of-"+app, app), "-n", ns)
	}
	for _, app := range []string{"deployment", "statefulset", "daemonset", "replicaset"} {
		cluster.Apply(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a-stranger-of-"+app+"}\nspec: {template: {"+
			fmt.Sprintf(podOfAnother, app, "Never")+"}}\n", "-n", ns)
	}
	config := adopted(t, cli, ns, workloadsOfAnother(), func() {
		cluster.Kubectl(t, "create", "job", "-n", ns, "cronjob-now", "--from=cronjob/cronjob")
		cluster.Kubectl(t, "wait", "-n", ns, "--for=condition=Ready", "pods", "--all", "--timeout=110s")
	})
	expectActions(t, cli, config, slices.Sorted(maps.Keys(workloadsOfAnother())), 1)
}

// createToken creates the Secret that the pods of podOfAnother use.
func createToken(t *testing.T, namespace string) {
	t.Helper()
	cluster.Kubectl(t, "create", "secret", "generic", "-n", namespace, "token",
		"--from-literal=TOKEN=s3cr3t-value-of-the-token")
}

// adopted creates workloads with kubectl, waits for them, and returns a configuration that imports them.
func adopted(t *testing.T, cli *acctest.CLI, namespace string, workloads map[string]string, wait func()) string {
	t.Helper()
	config := "provider \"kt\" {}\n"
	for name, text := range workloads {
		cluster.Apply(t, text, "-n", namespace)
		config += fmt.Sprintf("import {\n  provider = kt\n  to = kt_compute.%[1]s\n  id = \"%[2]s/%[1]s\"\n}\n",
			name, namespace)
	}
	wait()
	cli.Write(t, config)
	cli.MustRun(t, "plan", "-generate-config-out=generated.tf")
	return strings.ReplaceAll(config, "  provider = kt\n", "") // only allowed without a configuration
}

// expectActions applies a configuration and runs actions on its computes, which have so many pods of podOfAnother each.
func expectActions(t *testing.T, cli *acctest.CLI, config string, computes []string, pods int) {
	t.Helper()
	config += "variable \"code\" { default = \"0\" }\n"
	saved := "Checkpoint of " + advice.Number(pods, "pod") + " completed"
	for _, name := range computes {
		of := func(kind, attributes string) string {
			return strings.Replace(action(kind, name, attributes), "kt_compute.server", "kt_compute."+name, 1)
		}
		save := strings.Replace(of("kt_checkpoint", task("-print", "saving $TOKEN", "-exit", "CODE")),
			`"CODE"`, "var.code", 1)
		config += of("kt_run", task("-print", "hello $TOKEN")) + of("kt_logs", `duration = "0"`) + save
	}
	cli.Write(t, config)
	cli.MustRun(t, "apply", "-auto-approve")
	for _, name := range computes {
		for action, test := range map[string]struct {
			args  []string
			fails bool
			want  []string
		}{
			"kt_run":        {want: []string{"hello (hidden)", "Command exited with 0 in pod " + name}},
			"kt_logs":       {want: []string{"listening on port 8080"}},
			"kt_checkpoint": {want: []string{"saving (hidden)", saved}},
			"kt_checkpoint that fails": {args: []string{"-var", "code=5"}, fails: true,
				want: []string{"saving (hidden)", "exited with 5"}},
		} {
			action, _, _ := strings.Cut(action, " ")
			args := []string{"apply", "-auto-approve", "-invoke", "action." + action + "." + name}
			out, err := cli.Run(t, append(args, test.args...)...)
			if (err != nil) != test.fails {
				t.Errorf("%s of %s: %v", action, name, err)
			}
			_, out, _ = strings.Cut(out, "Action started") // without the plan
			for _, want := range test.want {
				if !strings.Contains(unwrapped(out), want) {
					t.Errorf("%s of %s does not show %q:\n%s", action, name, want, out)
				}
			}
			if strings.Contains(out, "s3cr3t") {
				t.Errorf("%s of %s shows the value of a Secret:\n%s", action, name, out)
			}
		}
	}
}
