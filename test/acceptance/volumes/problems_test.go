package volumes_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccVolumeThatIsNotBoundReportsTheCause(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class, pv  string // YAML of the objects to create
		attributes string // CLASS and PV are replaced by their names
		message    string
		warning    bool // the apply reports a warning instead of an error
	}{
		"a missing class": {attributes: `storage_class = "CLASS"`,
			message: `cannot be bound:\s+StorageClass\s+"\S+"\s+does not exist`},
		"a provisioner without events": {
			class:      "provisioner: silent.example.com",
			attributes: "storage_class = \"CLASS\"\n timeouts = { create = \"" + acctest.ShortTimeout + "\" }",
			warning:    true,
			message: `provisioner\s+silent.example.com\s+has\s+not\s+reported\s+any\s+event.*` +
				`after\s+` + acctest.ShortTimeout + `\s+\(.timeouts.create.\)`,
		},
		"a class without a provisioner": {
			class: "provisioner: kubernetes.io/no-provisioner", attributes: `storage_class = "CLASS"`,
			message: `does\s+not\s+provision\s+volumes.*no\s+PersistentVolume\s+matches`,
		},
		"a PersistentVolume that is too small": {pv: "\n", attributes: "volume_name = \"PV\"\n size = \"200Gi\"",
			message: `has\s+a\s+capacity\s+of\s+100Gi,\s+less\s+than\s+the\s+requested\s+200Gi`},
		"a PersistentVolume of another class": {pv: "  storageClassName: slow", attributes: `volume_name = "PV"`,
			message: `has\s+the\s+class\s+"slow"`},
		"a PersistentVolume with another access mode": {
			pv: "\n", attributes: "volume_name = \"PV\"\n access_mode = \"ReadWriteOnce\"",
			message: `does\s+not\s+support\s+ReadWriteOnce,\s+only\s+ReadWriteMany`,
		},
		"a missing PersistentVolume": {attributes: `volume_name = "PV"`,
			message: `PersistentVolume\s+"\S+"\s+does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			if c.class != "" {
				cluster.StorageClass(t, ns, c.class)
			}
			if c.pv != "" {
				cluster.PersistentVolume(t, ns, c.pv)
			}
			attributes := strings.NewReplacer("CLASS", "class-"+ns, "PV", "pv-"+ns).Replace(c.attributes)
			if !strings.Contains(attributes, "size") {
				attributes += "\n size = \"1Gi\""
			}
			seen := &acctest.Warnings{}
			message := regexp.MustCompile(`(?s)PersistentVolumeClaim\s+\S+/data\s+is\s+not\s+ready.*` + c.message)
			first := resource.TestStep{Config: cluster.Config(ns, acctest.Volume(attributes)), ExpectError: message}
			if c.warning {
				first.ExpectError, first.ExpectNonEmptyPlan = nil, true
				first.Check = func(*terraform.State) error {
					if text := seen.Text(); !message.MatchString(text) {
						return fmt.Errorf("no warning matches %s: %s", message, text)
					}
					return nil
				}
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
				CheckDestroy:             noClaims(t, ns),
				Steps: []resource.TestStep{
					first,
					// The failed volume contains no data, so a correct one replaces it.
					{
						Config: cluster.Config(ns,
							acctest.Volume(acctest.SmallVolume+`storage_class = "standard"`)),
						ConfigPlanChecks: acctest.ExpectEmptyPlanAfterApply(),
						ConfigStateChecks: []statecheck.StateCheck{volumeHas("phase", "Bound"),
							volumeHas("storage_class", "standard")},
					},
				},
			})
		})
	}
}

func TestAccVolumeWithoutWaitForBoundIsNotAwaited(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns, "provisioner: silent.example.com")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{{
			Config: cluster.Config(ns,
				acctest.Volume(fmt.Sprintf("size = \"1Gi\"\n storage_class = %q\n wait_for_bound = false", class))),
			ConfigPlanChecks:  acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionCreate),
			ConfigStateChecks: []statecheck.StateCheck{volumeHas("phase", "Pending")},
		}},
	})
}

// A failed creation leaves a tainted volume, which Terraform replaces. If it was bound in the meantime, it may contain
// data.
func TestAccTaintedVolumeIsNotReplacedOnceItIsBound(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cluster.PersistentVolume(t, ns, "")
	cli.Write(t, cluster.Config(ns, acctest.Volume(fmt.Sprintf("size = \"200Gi\"\n volume_name = %q", "pv-"+ns))))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the creation succeeded, although the PersistentVolume is too small:\n%s", out)
	}
	cluster.Kubectl(t, "patch", "persistentvolume", "pv-"+ns, "-p", `{"spec": {"capacity": {"storage": "200Gi"}}}`)
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	out, err = cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Errorf("a volume that may contain data was replaced:\n%s", out)
	}
	acctest.ExpectText(t, out, "Replacement of a bound volume was not requested", "terraform untaint ADDRESS")
	cli.MustRun(t, "untaint", acctest.DataVolume)
	cli.MustRun(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
	cli.MustRun(t, "taint", acctest.DataVolume)
	cli.MustRun(t, "destroy", "-auto-approve") // a destroy is an explicit request
}

func TestAccVolumeIsReplacedOnRequestUnlessProtected(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	uid := func() string {
		return cluster.Kubectl(t, "get", "persistentvolumeclaim/data", "-n", ns, "-o", "jsonpath={.metadata.uid}")
	}
	cli.Write(t, cluster.Config(ns, acctest.Volume(acctest.SmallVolume)))
	cli.MustRun(t, "apply", "-auto-approve")
	first := uid()
	cli.MustRun(t, "apply", "-auto-approve", "-replace="+acctest.DataVolume)
	if uid() == first {
		t.Error("-replace did not replace the volume")
	}

	cli.Write(t, cluster.Config(ns, acctest.Volume(acctest.SmallVolume+"deletion_protection = true")))
	cli.MustRun(t, "apply", "-auto-approve")
	for _, args := range [][]string{{"plan", "-replace=" + acctest.DataVolume}, {"plan", "-destroy"}} {
		out, err := cli.Run(t, args...)
		if err == nil {
			t.Errorf("%v succeeded, although deletion_protection is set", args)
		}
		acctest.ExpectText(t, out, "The volume is protected from deletion", "deletion_protection = true")
	}
	cli.Write(t, cluster.Config(ns, acctest.Volume(acctest.SmallVolume)))
	cli.MustRun(t, "apply", "-auto-approve")

	// The error of a rejected change states this as the next step.
	cli.Write(t, cluster.Config(ns, acctest.Volume("size = \"1Gi\"\n access_mode = \"ReadWriteOncePod\"")))
	if out, err := cli.Run(t, "plan"); err == nil {
		t.Errorf("the plan changes the access mode:\n%s", out)
	}
	cli.MustRun(t, "destroy", "-auto-approve", "-refresh=false", "-target="+acctest.DataVolume)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// otherDeployment mounts the claim and is not managed by Terraform.
const otherDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: other-client}
spec:
  selector: {matchLabels: {app: other-client}}
  template:
    metadata: {labels: {app: other-client}}
    spec:
      containers: [{name: main, image: "main:1", volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

func TestAccVolumeInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Volume(acctest.SmallVolume))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() {
					cluster.Apply(t, otherDeployment, "-n", ns)
					cluster.Kubectl(t, "wait", "deployment/other-client", "-n", ns, "--for=condition=Available",
						"--timeout=60s")
				},
				Config: config, Destroy: true,
				ExpectError: regexp.MustCompile(`(?s)PersistentVolumeClaim\s+\S+/data\s+is\s+in\s+use.*` +
					`Pod\s+other-client-\S+\s+\(of\s+Deployment\s+other-client\).*Nothing\s+was\s+deleted`),
			},
			{
				Config: config, ConfigPlanChecks: acctest.ExpectEmptyPlan(),
				Check: claimIs(t, ns, "{.metadata.deletionTimestamp}", ""),
			},
			{
				// The deletion waits for terminating pods.
				PreConfig: func() { cluster.Kubectl(t, "delete", "deployment/other-client", "-n", ns, "--wait=false") },
				Config:    config, Destroy: true,
			},
		},
	})
}

func TestAccVolumeReportsTheFinalizerThatBlocksItsDeletion(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns,
		acctest.Volume(acctest.SmallVolume+`timeouts = { delete = "`+acctest.ShortTimeout+`" }`))
	setFinalizers := func(finalizers string) {
		cluster.Kubectl(t, "patch", "persistentvolumeclaim/data", "-n", ns, "-p",
			`{"metadata": {"finalizers": `+finalizers+`}}`)
	}
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() { setFinalizers(`["example.com/hold"]`) },
				Config:    config, Destroy: true,
				ExpectError: regexp.MustCompile(`(?s)held\s+by\s+finalizers?\s.*example\.com/hold.*` +
					`after\s+` + acctest.ShortTimeout + `\s+\(.timeouts.delete.\)`),
			},
			{
				// The claim still exists, and its deletion cannot be undone.
				Config: config,
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectEmptyPlan(),
					volumeWarns(seen, ns, "PersistentVolumeClaim ID is being deleted",
						`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`),
				),
			},
			{PreConfig: func() { setFinalizers("null") }, Config: config, ConfigPlanChecks: acctest.PreApply(
				plancheck.ExpectResourceAction(acctest.DataVolume, plancheck.ResourceActionCreate),
			)},
		},
	})
}

// volumeWarns checks that the warnings about the volume of a namespace contain every part, in which ID is replaced by
// namespace/name.
func volumeWarns(seen *acctest.Warnings, ns string, parts ...string) plancheck.PlanCheck {
	return volumePlan(func(acctest.Plan) error { return seen.ExpectAbout(ns+"/data", parts...) })
}

func TestAccVolumeDriftIsReportedByAttributeAndManager(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns, "provisioner: kubernetes.io/host-path\nallowVolumeExpansion: true")
	config := func(attributes string) string {
		return cluster.Config(ns,
			acctest.Volume(fmt.Sprintf("%s size = \"1Gi\"\n storage_class = %q\n labels = { team = \"ml\" }\n "+
				"annotations = { owner = \"alice\" }\n %s", acctest.ReadWriteOnce, class, attributes)))
	}
	kubectl := func(commands ...string) func() {
		return func() {
			for _, command := range commands {
				cluster.Kubectl(t, append(strings.Fields(command), "-n", ns)...)
			}
		}
	}
	const claim = " persistentvolumeclaim/data "
	seen := &acctest.Warnings{}
	drift := func(attributes, fields []string, warnings ...string) resource.ConfigPlanChecks {
		checks := volumeChanges(attributes, fields)
		checks.PreApply = append(checks.PreApply,
			volumeWarns(seen, ns, append(warnings, "PersistentVolumeClaim ID was changed outside of Terraform")...))
		return checks
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config("")},
			{
				PreConfig: kubectl("label"+claim+"--overwrite team=web",
					"annotate"+claim+"--overwrite owner=bob kubetorch.com/mount-path=/mnt",
					"label"+claim+"app.kubernetes.io/managed-by-"),
				Config: config(""),
				ConfigPlanChecks: drift([]string{"labels", "annotations", "mount_path", "ref"},
					[]string{"metadata.labels.team", "metadata.labels.app.kubernetes.io/managed-by",
						"metadata.annotations.owner", "metadata.annotations.kubetorch.com/mount-path"},
					"metadata.labels.team: changed by kubectl-label at ",
					"metadata.annotations.owner: changed by kubectl-annotate at ",
					`metadata.labels["app.kubernetes.io/managed-by"]: removed (`),
			},
			{
				// Labels and annotations that other clients add are not drift.
				PreConfig: kubectl("label"+claim+"other=yes", "annotate"+claim+"other=yes"),
				Config:    config(""), ConfigPlanChecks: acctest.ExpectEmptyPlan(),
			},
			{
				PreConfig:        kubectl("label" + claim + "--overwrite team=web"),
				Config:           config("lifecycle {\n ignore_changes = [labels]\n}"),
				ConfigPlanChecks: acctest.ExpectEmptyPlan(),
			},
			{Config: config("")},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "patch", "persistentvolumeclaim/data", "-n", ns, "-p",
						`{"spec": {"resources": {"requests": {"storage": "5Gi"}}}}`)
					cluster.Kubectl(t, "patch", "persistentvolumeclaim/data", "-n", ns, "--subresource=status", "-p",
						`{"status": {"capacity": {"storage": "5Gi"}}}`)
				},
				Config: config(""), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)A volume cannot shrink.*requests 5Gi and has 5Gi.*Set\s+size ` +
					`= "5Gi"`),
			},
			{Config: config("lifecycle {\n ignore_changes = [size]\n}"), ConfigPlanChecks: acctest.ExpectEmptyPlan()},
			{Config: strings.Replace(config(""), `size = "1Gi"`, `size = "5Gi"`, 1),
				ConfigPlanChecks: acctest.ExpectEmptyPlan()},
		},
	})
}

func TestAccDeletedVolumeIsRecreated(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Volume(acctest.SmallVolume))
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() { cluster.Kubectl(t, "delete", "persistentvolumeclaim/data", "-n", ns) },
				Config:    config,
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.DataVolume, plancheck.ResourceActionCreate),
					volumeWarns(seen, ns, "PersistentVolumeClaim ID no longer exists"),
				),
			},
		},
	})
}

func TestAccVolumeWithALostPersistentVolumeIsKeptInState(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	pv := cluster.PersistentVolume(t, ns, "")
	config := cluster.Config(ns, acctest.Volume(fmt.Sprintf("size = \"10Gi\"\n volume_name = %q", pv)))
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "delete", "persistentvolume", pv, "--wait=false")
					cluster.Kubectl(t, "patch", "persistentvolume", pv, "-p", `{"metadata": {"finalizers": null}}`)
					cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns,
						"--for=jsonpath={.status.phase}=Lost", "--timeout=60s")
				},
				Config: config,
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectEmptyPlan(),
					volumeWarns(seen, ns, "PersistentVolumeClaim ID has lost its volume", pv, "The state is kept"),
				),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("phase", "Lost")},
			},
		},
	})
}
