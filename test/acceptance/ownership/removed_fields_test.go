package ownership_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// ownedObjects are the objects of removalConfig, as another client creates them.
const ownedObjects = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: same, labels: {team: ml}}
spec:
  selector: {matchLabels: {kubetorch.com/service: same}}
  template:
    metadata: {labels: {kubetorch.com/service: same, team: ml}}
    spec:
      containers:
      - {name: kubetorch, image: "main:1", workingDir: /srv, resources: {requests: {memory: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: same, labels: {team: ml}}
spec: {accessModes: [ReadWriteOnce], storageClassName: standard, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Secret
metadata: {name: same, labels: {team: ml}}
data: {KEY: dmFsdWU=}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kt-image-same, labels: {team: ml}}
`

// removalConfig returns one resource of each type. All have the attributes in
// settings; the compute also has those in container.
func removalConfig(settings, container string) string {
	return fmt.Sprintf(`
resource "kt_compute" "same" {
  name         = "same"
  image        = "main:1"
  on_not_ready = "ignore"
  %[1]s
  %[2]s
}
resource "kt_volume" "same" {
  name           = "same"
  size           = "1Gi"
  access_mode    = "ReadWriteOnce"
  storage_class  = "standard"
  wait_for_bound = false
  %[1]s
}
resource "kt_secret" "same" {
  name   = "same"
  values = { KEY = "value" }
  %[1]s
}
resource "kt_image" "same" {
  name     = "same"
  image_id = "main:1"
  %[1]s
}`, settings, container)
}

// removalRun is a working directory with a separate namespace.
type removalRun struct {
	*acctest.CLI
	t  *testing.T
	ns string
}

func newRemovalRun(t *testing.T) removalRun {
	t.Helper()
	run := removalRun{acctest.NewAttachedCLI(t), t, cluster.Namespace(t)}
	run.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	run.Setenv("KT_NAMESPACE", run.ns)
	return run
}

func (r removalRun) apply(settings, container string) string {
	r.t.Helper()
	r.Write(r.t, removalConfig(settings, container))
	return r.MustRun(r.t, "apply", "-auto-approve")
}

// teamLabels returns the label team of the four objects and of the pod template.
func (r removalRun) teamLabels() string {
	r.t.Helper()
	return cluster.Kubectl(r.t, "get", "deployment/same", "pvc/same", "secret/same", "configmap/kt-image-same", "-n",
		r.ns,
		"-o", "jsonpath={.items[*].metadata.labels.team} {.items[0].spec.template.metadata.labels.team}")
}

// containerFields returns the fields of the container that inPod sets.
func (r removalRun) containerFields() string {
	r.t.Helper()
	return cluster.Kubectl(r.t, "get", "deployment/same", "-n", r.ns,
		"-o", "jsonpath={.spec.template.spec.containers[0].workingDir} "+
			"{.spec.template.spec.containers[0].resources.requests.memory}")
}

// edit changes the memory of the container, and the labels of all objects.
func (r removalRun) edit() {
	r.t.Helper()
	for _, object := range []string{"deployment/same", "pvc/same", "secret/same", "configmap/kt-image-same"} {
		cluster.Kubectl(r.t, "label", "--overwrite", object, "team=edited", "-n", r.ns)
	}
	cluster.Kubectl(r.t, "set", "resources", "deployment/same", "--requests=memory=2Gi", "-n", r.ns)
	r.expect("edited", r.containerFields(), "/srv 2Gi")
}

func (r removalRun) expect(what, got, want string) {
	r.t.Helper()
	if strings.TrimSpace(got) != want {
		r.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// expectLeft checks the labels and the fields of the container. Then it checks that the
// plan is empty, and destroys all resources.
func (r removalRun) expectLeft(labels, container string) {
	r.t.Helper()
	r.expect("labels", r.teamLabels(), labels)
	r.expect("container", r.containerFields(), container)
	if out := r.MustRun(r.t, "plan"); !strings.Contains(out, "No changes") {
		r.t.Errorf("the last plan is not empty:\n%s", out)
	}
	r.MustRun(r.t, "destroy", "-auto-approve")
}

const (
	labelled = `labels = { team = "ml" }`
	inPod    = "working_dir = \"/srv\"\n memory = \"1Gi\""
	adopt    = "\n adopt_existing = true"
)

// allLabelled is the value of teamLabels if all five labels are set.
func allLabelled() string { return strings.TrimSpace(strings.Repeat("ml ", 5)) }

func TestAccFieldsOfAnAdoptedObjectAreRemovedWithTheirAttributes(t *testing.T) {
	t.Parallel()
	for name, how := range map[string][]string{
		"created by kubectl apply":               nil,
		"created by kubectl apply --server-side": {"--server-side", "--field-manager=by-hand"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRemovalRun(t)
			cluster.Apply(t, ownedObjects, append([]string{"-n", run.ns}, how...)...)
			run.apply(labelled+adopt, inPod)
			run.expect("adopted", run.teamLabels(), allLabelled())
			run.apply(adopt, "")
			run.expectLeft("", "")
		})
	}
}

func TestAccFieldsOfAnImportedObjectAreRemovedWithTheirAttributes(t *testing.T) {
	t.Parallel()
	run := newRemovalRun(t)
	cluster.Apply(t, ownedObjects, "-n", run.ns)
	imports := ""
	for _, kind := range []string{"kt_compute", "kt_volume", "kt_secret", "kt_image"} {
		imports += fmt.Sprintf("\nimport {\n to = %s.same\n id = \"%s/same\"\n}", kind, run.ns)
	}
	run.Write(t, removalConfig(labelled, inPod)+imports)
	run.MustRun(t, "apply", "-auto-approve")
	run.expect("imported", run.teamLabels(), allLabelled())
	run.apply("", "")
	run.expectLeft("", "")
}

func TestAccEditsAddedToAndRemovedFromTheConfigurationAreRemoved(t *testing.T) {
	t.Parallel()
	run := newRemovalRun(t)
	run.apply(labelled, inPod)
	run.edit()
	// The configuration adds the edited fields, except the pods' label, and removes them again.
	run.apply(`labels = { team = "edited" }`, "working_dir = \"/srv\"\n memory = \"2Gi\"")
	run.apply("", "working_dir = \"/srv\"")
	run.expectLeft("", "/srv")
}

func TestAccEditedFieldsAreRemovedWithTheirAttributes(t *testing.T) {
	t.Parallel()
	run := newRemovalRun(t)
	run.apply(labelled, inPod)
	run.edit()
	run.apply("", "")
	run.expectLeft("", "")
}

func TestAccFieldsThatAnotherManagerAppliesAreKeptAndReported(t *testing.T) {
	t.Parallel()
	run := newRemovalRun(t)
	run.apply(labelled, inPod)
	cluster.Apply(t, ownedObjects, "-n", run.ns, "--server-side", "--field-manager=other", "--force-conflicts")
	run.Write(t, removalConfig("", ""))
	out := run.MustRun(t, "plan")
	for _, object := range []string{"Deployment", "PersistentVolumeClaim", "Secret", "ConfigMap"} {
		if !strings.Contains(acctest.Unwrap(out), object+" "+run.ns) {
			t.Errorf("the plan does not report the kept fields of the %s:\n%s", object, out)
		}
	}
	acctest.ExpectText(t, acctest.Unwrap(out), "keeps fields that the plan removes",
		`metadata.labels.team: managed by other`, `workingDir: managed by other`)
	run.apply("", "")
	run.expectLeft(allLabelled(), "/srv 1Gi")
}
