package failures_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// All failures happen in one run, because their waits overlap. Each has its own diagnostic.
//
//nolint:tparallel // the subtests check one run, which continues after them
func TestAccFailuresOfCreation(t *testing.T) {
	t.Parallel()
	run := newScenario(t, failures())

	first := run.run(t, "apply", func(f failure) string { return f.broken })
	created := run.deployments(t)
	for _, f := range run.failures {
		t.Run(f.name, func(t *testing.T) {
			address := "kt_compute." + f.name
			if f.recovers {
				first.ExpectNoDiagnostic(t, address)
				run.check(t, f, created, inState{ready: true})
				return
			}
			if f.timesOut { // no error: an error would taint it
				acctest.ExpectDiagnostic(t, first.Diagnostics("warning", address), true, run.texts(f)...)
				run.check(t, f, created, inState{})
				return
			}
			first.ExpectError(t, address, false, run.texts(f)...)
			run.check(t, f, created, inState{absent: f.noNamespace, tainted: true})
		})
	}
	if !strings.Contains(strings.Join(first.Diagnostics("warning", "kt_compute.no-namespace"), ""), "does not exist") {
		t.Error("the plan does not warn about a missing namespace")
	}

	for _, f := range run.failures {
		if f.fixObjects != "" {
			cluster.Apply(t, run.expand(f, f.fixObjects), "-n", run.namespaces[f.name])
		}
	}
	run.mustRun(t, "apply", func(f failure) string { return f.fixed })
	corrected := run.deployments(t)
	for _, f := range run.failures {
		run.check(t, f, corrected, inState{ready: true})
	}
	run.cli.MustRun(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
}

// A failed update does not taint the compute, and its earlier pods continue to run.
//
//nolint:tparallel // the subtests check one run, which continues after them
func TestAccFailuresOfUpdate(t *testing.T) {
	t.Parallel()
	run := newScenario(t, failuresOfUpdate(t))
	good := func(failure) string { return "" }
	bad := func(f failure) string { return f.broken }

	run.mustRun(t, "apply", good)
	before := run.deployments(t)
	pods := map[string]string{}
	for _, f := range run.failures {
		pods[f.name] = cluster.Kubectl(t, "get", "pods", "-n", run.namespaces[f.name], "-o", "name")
	}
	failed := run.run(t, "apply", bad)
	after := run.deployments(t)
	again := run.run(t, "plan", bad)
	for _, f := range run.failures {
		t.Run(f.name, func(t *testing.T) {
			address := "kt_compute." + f.name
			failed.ExpectError(t, address, false, run.texts(f)...)
			run.check(t, f, after, inState{ready: f.rejected})
			if before[f.name].uid != after[f.name].uid {
				t.Error("the Deployment was replaced")
			}
			old := cluster.Kubectl(t, "get", pods[f.name], "-n", run.namespaces[f.name], "-o",
				"jsonpath={.status.phase}")
			if name := strings.TrimPrefix(pods[f.name], "pod/"); old != "Running" ||
				strings.Contains(failed.Output, name) {
				t.Errorf("the previous pod %s is %s, and must be running and not be reported", name, old)
			}
			if action := again.Planned[address]; action != "update" {
				t.Errorf("the next plan has the action %q, want an update that waits again", action)
			}
		})
	}
	run.mustRun(t, "apply", good)
	corrected := run.deployments(t)
	for _, f := range run.failures {
		run.check(t, f, corrected, inState{ready: true})
	}
	run.cli.MustRun(t, "plan", "-detailed-exitcode")
}

// What the API server refuses at once is an error of the plan.
func TestAccFailuresOfPlan(t *testing.T) { //nolint:tparallel // the subtests check one run, which continues after them
	t.Parallel()
	run := newScenario(t, []failure{
		{
			name: "policy",
			exists: policy("few-replicas", "apps", "v1", "deployments",
				"object.spec.replicas <= 2", "at most 2 replicas in a team's namespace"),
			broken: `replicas = 3`,
			texts: []string{"The API server rejected Deployment <ns>/policy",
				"at most 2 replicas in a team's namespace",
				"kubectl describe validatingadmissionpolicy few-replicas.<ns>"},
			fixed: `replicas = 2`,
		},
		{
			name: "quota",
			exists: "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\nspec: {hard: {count/services: " +
				"\"0\"}}\n",
			texts: []string{"The API server rejected Service <ns>/quota", "exceeded quota: team",
				"kubectl -n <ns> describe resourcequota team"},
			fixed: `endpoint = { url = "http://elsewhere.example.com" }`,
		},
	})
	first := run.run(t, "apply", func(f failure) string { return f.broken })
	created := run.deployments(t)
	for _, f := range run.failures {
		t.Run(f.name, func(t *testing.T) {
			first.ExpectError(t, "kt_compute."+f.name, false, run.texts(f)...)
			run.check(t, f, created, inState{absent: true})
		})
	}
	fixed := func(f failure) string { return f.fixed }
	run.mustRun(t, "apply", fixed)
	run.cli.MustRun(t, "plan", "-detailed-exitcode")

	second := run.run(t, "apply", func(f failure) string { return f.broken })
	kept := run.deployments(t)
	for _, f := range run.failures {
		t.Run(f.name+"-on-update", func(t *testing.T) {
			second.ExpectError(t, "kt_compute."+f.name, false, run.texts(f)...)
			run.check(t, f, kept, inState{ready: true})
		})
	}
	run.mustRun(t, "apply", fixed)
}

func TestAccFailuresThatOnNotReadyAllows(t *testing.T) {
	t.Parallel()
	run := newScenario(t, []failure{
		{name: "warns", broken: "gpus = 9\non_not_ready = \"warn\"",
			texts: []string{"not ready: unschedulable", "9 nvidia.com/gpu", "kubectl -n <ns> describe pod warns-",
				"on_not_ready = \"warn\"", "The next apply waits for it again"}},
		{name: "ignores", broken: "image = \"broken.invalid/pull:1\"\non_not_ready = \"ignore\""},
	})
	broken := func(f failure) string { return f.broken }
	first := run.mustRun(t, "apply", broken)
	created := run.deployments(t)
	for _, f := range run.failures {
		run.check(t, f, created, inState{})
	}
	acctest.ExpectDiagnostic(t, first.Diagnostics("warning", "kt_compute.warns"), false, run.texts(run.failures[0])...)
	first.ExpectNoDiagnostic(t, "kt_compute.ignores")

	again := run.run(t, "plan", broken)
	if got := again.Planned["kt_compute.warns"]; got != "update" {
		t.Errorf("the next plan has the action %q for the compute with a warning", got)
	}
	if got, ok := again.Planned["kt_compute.ignores"]; ok {
		t.Errorf("the next plan has the action %q for the compute that ignores failures", got)
	}
	run.mustRun(t, "apply", func(failure) string { return "gpus = 1" })
	run.cli.MustRun(t, "plan", "-detailed-exitcode")
}

//nolint:tparallel // the subtests check one run, which continues after them
func TestAccFailuresOfDeletion(t *testing.T) {
	t.Parallel()
	run := newScenario(t, []failure{
		{name: "held",
			texts: []string{"Deployment <ns>/held is still being deleted", "held by finalizer example.com/backup",
				acctest.TimedOut + " " + acctest.ShortTimeout + " (`timeouts.delete`)",
				"kubectl -n <ns> get deployments held"}},
		{name: "held-pod",
			texts: []string{"Deployment <ns>/held-pod is still being deleted", "its pods remain: held-pod-",
				"held by finalizer example.com/drain", "kubectl -n <ns> get pod held-pod-"}},
	})
	config := func(failure) string { return `timeouts = { delete = "` + acctest.ShortTimeout + `" }` }
	run.mustRun(t, "apply", config)
	ns, podNS := run.namespaces["held"], run.namespaces["held-pod"]
	pod := cluster.Kubectl(t, "get", "pods", "-n", podNS, "-o", "name")
	hold := func(finalizers string, args ...string) {
		cluster.Kubectl(t,
			append([]string{"patch", "--type=merge", "-p", `{"metadata":{"finalizers":` + finalizers + `}}`},
				args...)...)
	}
	t.Cleanup(func() { // else the namespaces would never go
		for _, object := range [][]string{{"deployment", "held", "-n", ns}, {pod, "-n", podNS}} {
			_, _ = cluster.TryKubectl(t,
				append([]string{"patch", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`}, object...)...)
		}
	})
	hold(`["example.com/backup"]`, "deployment", "held", "-n", ns)
	hold(`["example.com/drain"]`, pod, "-n", podNS)

	failed := run.run(t, "destroy", config)
	kept := run.deployments(t)
	for _, f := range run.failures {
		t.Run(f.name, func(t *testing.T) {
			acctest.ExpectDiagnostic(t, failed.Diagnostics("error", ""), true, run.texts(f)...)
			if _, ok := kept[f.name]; !ok || !run.state(t)[f.name].exists {
				t.Error("the compute must stay in state as long as it exists in the cluster")
			}
		})
	}
	hold(`null`, pod, "-n", podNS)
	hold(`null`, "deployment", "held", "-n", ns)
	run.mustRun(t, "destroy", config)
	for _, f := range run.failures {
		run.check(t, f, run.deployments(t), inState{absent: true})
	}
}

// Without the right to list or watch anything, waits go by gets; a quota shows
// in the Deployment itself.
func TestAccFailuresWithPermissionToGetOnly(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t,
		"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team}\nspec: {hard: {requests.nvidia.com/gpu: "+
			"\"2\"}}\n", "-n", ns)
	cluster.Kubectl(t, "create", "role", "getter", "-n", ns, "--verb=get,create,patch,delete",
		"--resource=deployments.apps,services")
	cluster.Kubectl(t, "create", "serviceaccount", "getter", "-n", ns)
	cluster.Kubectl(t, "create", "rolebinding", "getter", "-n", ns, "--role=getter", "--serviceaccount="+ns+":getter")
	token := cluster.Kubectl(t, "create", "token", "getter", "-n", ns)
	cli := acctest.NewAttachedCLI(t)
	configure := func(gpus int) {
		cli.Write(t,
			"provider \"kt\" {\n  username = \"alice\"\n"+cluster.TokenAttributes(t, ns, token)+"\n}\n"+
				waiting("getter", ns, fmt.Sprintf("gpus = %d", gpus)))
	}
	configure(1)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	configure(4)
	cli.RunJSON(t, "apply", "-auto-approve").ExpectError(t, "kt_compute.getter", false,
		"Quota team of namespace "+ns, "4 requests.nvidia.com/gpu requested", "kubectl -n "+ns+
			" describe resourcequota team")
	configure(1)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// A workload that the user may not get cannot be told from one that does not exist, so the error names its kind.
func TestAccFailuresImportWithoutPermission(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: tune}\nspec: {template: {spec: {containers: "+
		"[{name: x, image: x}], restartPolicy: Never}}}\n", "-n", ns)
	cluster.Kubectl(t, "create", "role", "getter", "-n", ns, "--verb=get", "--resource=deployments.apps,services")
	cluster.Kubectl(t, "create", "serviceaccount", "getter", "-n", ns)
	cluster.Kubectl(t, "create", "rolebinding", "getter", "-n", ns, "--role=getter", "--serviceaccount="+ns+":getter")
	token := cluster.Kubectl(t, "create", "token", "getter", "-n", ns)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, "provider \"kt\" {\n"+cluster.TokenAttributes(t, ns, token)+"\n}\n"+
		waiting("tune", ns, "")+"import {\n  to = kt_compute.tune\n  id = \""+ns+"/tune\"\n}\n")
	acctest.ExpectDiagnostic(t, cli.RunJSON(t, "plan").Diagnostics("error", ""), false, "Nothing to import",
		"No workload "+ns+"/tune", "Kinds that the user of the provider may not get: jobs, ", "cronjobs.")
}

// Rights that end after the creation leave everything as it is.
func TestAccFailuresAfterPermissionsWereRevoked(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	configure := func(token, attributes string) {
		cli.Write(t,
			"provider \"kt\" {\n  username = \"alice\"\n"+cluster.TokenAttributes(t, ns, token)+"\n}\n"+
				waiting("trainer", ns, attributes))
	}
	writer, reader := cluster.ServiceAccount(t, ns, "writer", "admin"), cluster.ServiceAccount(t, ns, "reader", "view")
	configure(writer, "")
	cli.MustRun(t, "apply", "-auto-approve")
	configure(reader, `cpus = "2"`)
	cli.RunJSON(t, "apply", "-auto-approve").ExpectError(t, acctest.Trainer, false,
		"No permission to apply Deployment "+ns+
			"/trainer", `cannot patch resource "deployments"`, "kubectl auth can-i --list -n "+ns)
	acctest.ExpectDiagnostic(t, cli.RunJSON(t, "destroy", "-auto-approve").Diagnostics("error", ""), false,
		"No permission to delete Deployment "+ns+"/trainer", `cannot delete resource "deployments"`)
	configure(cluster.ServiceAccount(t, ns, "nobody", "system:discovery"), "")
	cli.RunJSON(t, "plan").ExpectError(t, acctest.Trainer, false, // an empty plan would hide changes
		"No permission to read Deployment "+ns+"/trainer", `cannot get resource "deployments"`)
	configure(writer, "")
	cli.MustRun(t, "plan", "-detailed-exitcode") // as if nothing had been tried
	configure(writer, `cpus = "2"`)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
}
