package query_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// forget removes all resources from the state, and keeps their objects.
func (q queries) forget(t *testing.T, provider string) {
	t.Helper()
	q.Write(t, provider)
	if err := os.Remove(filepath.Join(q.Dir, "terraform.tfstate")); err != nil {
		t.Fatal(err)
	}
}

// expectImported generates the configuration of all resources of a type, and checks that it plans to import this
// number of resources, and nothing else.
func (q queries) expectImported(t *testing.T, resourceType, arguments string, resources int) {
	t.Helper()
	q.list(t, resourceType, "include_resource = true\n"+arguments)
	q.MustRun(t, "query", "-generate-config-out=generated.tf")
	want := fmt.Sprintf("Plan: %d to import, 0 to add, 0 to change, 0 to destroy.", resources)
	if out, err := q.Run(t, "plan"); err != nil || !strings.Contains(out, want) {
		text, _ := os.ReadFile(filepath.Join(q.Dir, "generated.tf"))
		t.Errorf("no %q: %v\n%s\nwith the configuration\n%s", want, err, out, text)
	}
}

// image_id and dockerfile have values in every state, but exclude each other in most configurations.
func TestAccGeneratedImagesAreThoseOfTheirConfiguration(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	q := newQueries(t, "")
	const steps = "\nsteps = [{ pip_install = [\"torch\"] }, { set_env_vars = { A = \"1\" } }]"
	forms := []string{
		`image_id = "debian:12"`,
		`image_id = "debian:12"` + steps,
		`base = "pytorch"`,
		`base = "pytorch"` + steps,
		`dockerfile = "FROM debian:12\nRUN echo one\n"`,
		`dockerfile = "FROM debian:12"` + steps,
		`dockerfile = "# syntax\nFROM debian:12\nENV A=1"` + steps,
		"image_id = \"debian:12\"\n dockerfile = \"RUN echo one\\n\"" + steps,
		"base = \"debian\"\n dockerfile = \"RUN echo one\\n\"",
		`image_id = "127.0.0.1:1/a@sha256:` + strings.Repeat("a", 64) + "\"\n pin_digest = true",
	}
	var config strings.Builder
	for i, form := range forms {
		fmt.Fprintf(&config, "resource \"kt_image\" \"i%d\" {\n name = \"i%[1]d\"\n %s\n}\n", i, form)
	}
	q.Write(t, cluster.Config(ns, config.String()))
	q.MustRun(t, "apply", "-auto-approve")
	q.forget(t, cluster.Config(ns, ""))
	q.expectImported(t, "kt_image", "", len(forms))
}

// A Job that its configuration renders differently is replaced: it is deleted, and runs again.
func TestAccGeneratedJobsAreThoseOfTheirConfiguration(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	q := newQueries(t, "")
	forms := []string{
		"job = {}",
		"job = {}\nwait_for_completion = true",
		"job = {}\nreplicas = 2\nservice_account_name = \"default\"",
		"job = { ttl = \"1h\" }\nport = 8000\nhealth_path = \"/health\"",
		"job = {}\nsuspend = true",
		"job = {}\nenv_vars = { KT_LOG_LEVEL = \"DEBUG\", A = \"\" }",
		`replicas = 2
		job = { completions = 4, backoff_limit = 0, active_deadline = "12h", ttl = "1h", pod_failure_policy = [
			{ action = "FailJob", on_exit_codes = { operator = "In", values = [42] } },
			{ action = "Ignore", on_pod_conditions = [{ type = "DisruptionTarget" }] }] }`,
		`job = {}
		init_containers = [{ name = "fetch", image = "a:1", env_vars = { A = "b" } }]
		sidecars = [{ name = "proxy", image = "a:1", ports = [{ container_port = 81 }] }]
		volumes = [{ empty_dir = {}, mount_path = "/a" }]
		security_context = { run_as_user = 0, capabilities = { drop = ["NET_RAW"] } }`,
	}
	var config strings.Builder
	for i, form := range forms {
		fmt.Fprintf(&config, "resource \"kt_compute\" \"j%d\" {\nname = \"j%[1]d\"\nimage = \"trainer:1\"\n"+
			"command = [\"python\", \"train.py\"]\n%s\n}\n", i, form)
	}
	q.Write(t, cluster.Config(ns, config.String()))
	q.MustRun(t, "apply", "-auto-approve")
	q.forget(t, cluster.Config(ns, ""))
	q.expectImported(t, "kt_compute", "", len(forms))
}

func TestAccGeneratedQueuesAreValid(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	q := newQueries(t, "")
	q.Write(t, withCRDs.Config(ns, fmt.Sprintf(`
resource "kt_queue" "own" {
  name            = %[1]q
  labels          = { team = %[1]q }
  cohort          = "research"
  preemption      = { reclaim_within_cohort = "Any" }
  wait_for_active = false
  flavors = [{
    name        = %[1]q
    node_labels = { pool = "a" }
    quotas      = { "nvidia.com/gpu" = { nominal = "8", borrowing_limit = "2" } }
  }]
}`, ns)))
	q.MustRun(t, "apply", "-auto-approve")
	q.forget(t, withCRDs.Config(ns, ""))
	foreign := ns + "-foreign"
	withCRDs.Apply(t, fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s, labels: {team: %[2]s}}
spec:
  cohortName: research
  stopPolicy: Hold
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: %[2]s, resources: [{name: cpu, nominalQuota: 4, borrowingLimit: 2}]}]
`, foreign, ns))
	defer withCRDs.Kubectl(t, "delete", "clusterqueue", ns, foreign)
	q.list(t, "kt_queue", "include_resource = true\nconfig {\nlabel_selector = \"team="+ns+"\"\n}")
	q.MustRun(t, "query", "-generate-config-out=generated.tf")
	// The LocalQueue of the other queue does not exist.
	out := q.expectPlan(t, "Plan: 2 to import, 0 to add, 1 to change, 0 to destroy.")
	acctest.ExpectText(t, out, "stop_policy")
}
