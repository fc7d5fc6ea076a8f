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

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

func TestAccVolumeThatIsNotBoundReportsTheCause(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class, pv  string // YAML of what is made for it
		attributes string // CLASS and PV stand for these
		says       string
		warns      bool // it ends without an error
	}{
		"no such class": {attributes: `storage_class = "CLASS"`,
			says: `cannot be bound:\s+StorageClass\s+"\S+"\s+does not exist`},
		"a silent provisioner": {
			class:      "provisioner: silent.example.com",
			attributes: "storage_class = \"CLASS\"\n timeouts = { create = \"3s\" }",
			warns:      true,
			says: `provisioner\s+silent.example.com\s+has\s+not\s+reported\s+any\s+event.*` +
				`after\s+3s\s+\(.timeouts.create.\)`,
		},
		"a class without a provisioner": {
			class: "provisioner: kubernetes.io/no-provisioner", attributes: `storage_class = "CLASS"`,
			says: `does\s+not\s+provision\s+volumes.*no\s+PersistentVolume\s+matches`,
		},
		"a PersistentVolume that is too small": {pv: "\n", attributes: "volume_name = \"PV\"\n size = \"200Gi\"",
			says: `has\s+a\s+capacity\s+of\s+100Gi,\s+less\s+than\s+the\s+requested\s+200Gi`},
		"a PersistentVolume of another class": {pv: "  storageClassName: slow", attributes: `volume_name = "PV"`,
			says: `has\s+the\s+class\s+"slow"`},
		"a PersistentVolume that is not shared": {
			pv: "\n", attributes: "volume_name = \"PV\"\n access_mode = \"ReadWriteOnce\"",
			says: `does\s+not\s+support\s+ReadWriteOnce,\s+only\s+ReadWriteMany`,
		},
		"no such PersistentVolume": {attributes: `volume_name = "PV"`,
			says: `PersistentVolume\s+"\S+"\s+does not exist`},
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
			says := regexp.MustCompile(`(?s)PersistentVolumeClaim\s+\S+/data\s+is\s+not\s+ready.*` + c.says)
			first := resource.TestStep{Config: cluster.Config(ns, acctest.Volume(attributes)), ExpectError: says}
			if c.warns {
				first.ExpectError, first.ExpectNonEmptyPlan = nil, true
				first.Check = func(*terraform.State) error {
					if text := seen.Text(); !says.MatchString(text) {
						return fmt.Errorf("no warning matches %s: %s", says, text)
					}
					return nil
				}
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
				CheckDestroy:             noClaims(t, ns),
				Steps: []resource.TestStep{
					first,
					// What failed holds nothing, so it gives way to what is right.
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

func TestAccVolumeWithoutWaitForBoundIsCreatedAtOnce(t *testing.T) {
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

// A creation that failed leaves a tainted volume, which Terraform replaces. One
// that was bound meanwhile may hold data.
func TestAccVolumeThatIsTaintedIsKeptOnceItIsBound(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cluster.PersistentVolume(t, ns, "")
	cli.Write(t, cluster.Config(ns, acctest.Volume(fmt.Sprintf("size = \"200Gi\"\n volume_name = %q", "pv-"+ns))))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("a volume whose PersistentVolume is too small is created:\n%s", out)
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
	cli.MustRun(t, "destroy", "-auto-approve") // which asks for its end
}

func TestAccVolumeIsReplacedOnRequest(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	uid := func() string {
		return cluster.Kubectl(t, "get", "persistentvolumeclaim/data", "-n", ns, "-o", "jsonpath={.metadata.uid}")
	}
	cli.Write(t, cluster.Config(ns, acctest.Volume(acctest.SmallVolume)))
	cli.MustRun(t, "apply", "-auto-approve")
	first := uid()
	cli.MustRun(t, "apply", "-auto-approve", "-replace="+acctest.DataVolume)
	if uid() == first {
		t.Error("-replace replaced nothing")
	}

	cli.Write(t, cluster.Config(ns, acctest.Volume(acctest.SmallVolume+"deletion_protection = true")))
	cli.MustRun(t, "apply", "-auto-approve")
	for _, args := range [][]string{{"plan", "-replace=" + acctest.DataVolume}, {"plan", "-destroy"}} {
		out, err := cli.Run(t, args...)
		if err == nil {
			t.Errorf("%v goes through under deletion_protection", args)
		}
		acctest.ExpectText(t, out, "The volume is protected from deletion", "deletion_protection = true")
	}
	cli.Write(t, cluster.Config(ns, acctest.Volume(acctest.SmallVolume)))
	cli.MustRun(t, "apply", "-auto-approve")

	// Where a change is refused, this is what the error says to do.
	cli.Write(t, cluster.Config(ns, acctest.Volume("size = \"1Gi\"\n access_mode = \"ReadWriteOncePod\"")))
	if out, err := cli.Run(t, "plan"); err == nil {
		t.Errorf("a change of the access mode is planned:\n%s", out)
	}
	cli.MustRun(t, "destroy", "-auto-approve", "-refresh=false", "-target="+acctest.DataVolume)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// stranger uses the claim without Terraform's knowledge.
const stranger = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: stranger}
spec:
  selector: {matchLabels: {app: stranger}}
  template:
    metadata: {labels: {app: stranger}}
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
					cluster.Apply(t, stranger, "-n", ns)
					cluster.Kubectl(t, "wait", "deployment/stranger", "-n", ns, "--for=condition=Available",
						"--timeout=60s")
				},
				Config: config, Destroy: true,
				ExpectError: regexp.MustCompile(`(?s)PersistentVolumeClaim\s+\S+/data\s+is\s+in\s+use.*` +
					`Pod\s+stranger-\S+\s+\(of\s+Deployment\s+stranger\).*Nothing\s+was\s+deleted`),
			},
			{
				Config: config, ConfigPlanChecks: acctest.ExpectEmptyPlan(),
				Check: claimIs(t, ns, "{.metadata.deletionTimestamp}", ""),
			},
			{
				// Pods that are on their way out are waited for.
				PreConfig: func() { cluster.Kubectl(t, "delete", "deployment/stranger", "-n", ns, "--wait=false") },
				Config:    config, Destroy: true,
			},
		},
	})
}

func TestAccVolumeReportsTheFinalizerThatBlocksItsDeletion(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Volume(acctest.SmallVolume+`timeouts = { delete = "3s" }`))
	hold := func(finalizers string) {
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
				PreConfig: func() { hold(`["example.com/hold"]`) },
				Config:    config, Destroy: true,
				ExpectError: regexp.MustCompile(`(?s)held\s+by\s+finalizers?\s.*example\.com/hold.*` +
					`after\s+3s\s+\(.timeouts.delete.\)`),
			},
			{
				// It is still there, and nothing but its end can come of it.
				Config: config,
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectEmptyPlan(),
					volumeWarns(seen, ns, "PersistentVolumeClaim ID is being deleted",
						`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`),
				),
			},
			{PreConfig: func() { hold("null") }, Config: config, ConfigPlanChecks: acctest.PreApply(
				plancheck.ExpectResourceAction(acctest.DataVolume, plancheck.ResourceActionCreate),
			)},
		},
	})
}

// volumeWarns checks that the warnings about the volume of a namespace contain
// every part, in which ID is replaced by namespace/name.
func volumeWarns(seen *acctest.Warnings, ns string, parts ...string) plancheck.PlanCheck {
	return volumePlan(func(acctest.Plan) error { return seen.ExpectAbout(ns+"/data", parts...) })
}

const byHandClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  annotations: {made-by: hand}
spec: {accessModes: [ReadWriteOnce], storageClassName: standard, resources: {requests: {storage: 2Gi}}}
`

func TestAccVolumeOfAnotherClientIsAdoptedOnlyOnRequest(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, byHandClaim, "-n", ns)
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	adopting := func(attributes string) string {
		return cluster.Config(ns, acctest.Volume("adopt_existing = true\n"+attributes))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{
				Config: cluster.Config(ns, acctest.Volume(acctest.ReadWriteOnce+`size = "2Gi"`)),
				ExpectError: regexp.MustCompile(`(?s)was not created by this provider.*kubectl-client-side-apply.*` +
					`adopt_existing`),
			},
			{
				Config: adopting("size = \"2Gi\"\n access_mode = \"ReadWriteMany\""), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)The data of the volume would be lost.*has the access ` +
					`mode\s+"ReadWriteOnce"`),
			},
			{
				Config: adopting(`size = "1Gi"`), PlanOnly: true,
				ExpectError: regexp.MustCompile(`A volume cannot shrink`),
			},
			{
				// What the configuration leaves out is as the claim has it.
				Config:           adopting(`size = "2Gi"`),
				ConfigPlanChecks: acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionCreate),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("access_mode", "ReadWriteOnce"),
					volumeHas("storage_class", "standard"), volumeLacks("volume_name")},
				Check: claimIs(t, ns, "{.metadata.annotations.made-by}", "hand"),
			},
		},
	})
}

func TestAccVolumeImportOfAClaimOfAnotherClientChangesOnlyOwnership(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, byHandClaim, "-n", ns)
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	config := cluster.Config(ns,
		"resource \"kt_volume\" \"data\" {\n name = \"data\"\n size = \"2Gi\"\n labels = { team = \"ml\" }\n}")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config, ResourceName: acctest.DataVolume, ImportState: true, ImportStateId: ns + "/data",
				ImportStatePersist: true},
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(acctest.DataVolume,
						plancheck.ResourceActionUpdate), volumePlan(func(p acctest.Plan) error {
						return p.ChangesOnly("labels")
					})},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				Check: claimIs(t, ns, `{.metadata.annotations.made-by} {.metadata.labels.kubetorch\.com/volume}`,
					"hand data"),
			},
			{Config: config, ResourceName: acctest.DataVolume, ImportState: true, ImportStateId: ns + "/none",
				ExpectError: regexp.MustCompile(`(?s)There is no PersistentVolumeClaim \S+/none.*kubectl get ` +
					`persistentvolumeclaims`)},
			{Config: config, ResourceName: acctest.DataVolume, ImportState: true, ImportStateId: "data",
				ExpectError: regexp.MustCompile(`must have the format namespace/name`)},
		},
	})
}

func TestAccVolumeDriftShowsByAttributeAndManager(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns, "provisioner: kubernetes.io/host-path\nallowVolumeExpansion: true")
	config := func(more string) string {
		return cluster.Config(ns,
			acctest.Volume(fmt.Sprintf("%s size = \"1Gi\"\n storage_class = %q\n labels = { team = \"ml\" }\n "+
				"annotations = { owner = \"alice\" }\n %s", acctest.ReadWriteOnce, class, more)))
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
				// What others add is theirs.
				PreConfig: kubectl("label"+claim+"theirs=yes", "annotate"+claim+"theirs=yes"),
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

func TestAccVolumeThatWasDeletedIsRecreated(t *testing.T) {
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

func TestAccVolumeThatLostItsPersistentVolumeIsKeptInState(t *testing.T) {
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

// A claim that no state has any more needs an import, or adopt_existing.
func TestAccVolumeThatWasRemovedFromStateIsImported(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Volume(acctest.SmallVolume))
	importing := fmt.Sprintf("import {\n to = kt_volume.data\n id = %q\n}\n", ns+"/data")
	forget := cluster.Config(ns, "removed {\n from = kt_volume.data\n lifecycle {\n destroy = false\n }\n}")
	var uid string
	same := resource.TestCheckResourceAttrWith(acctest.DataVolume, "uid",
		func(value string) error { return sameText("uid", value, uid) })
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: config, Check: func(*terraform.State) error {
				uid = cluster.Kubectl(t, "get", "persistentvolumeclaim/data", "-n", ns, "-o",
					"jsonpath={.metadata.uid}")
				return nil
			}},
			{Config: forget},
			{Config: config, ExpectError: regexp.MustCompile(`(?s)belongs to another resource.*import \{`)},
			{Config: config + "\n" + importing, Check: same},
			{Config: forget},
			{
				Config:           cluster.Config(ns, acctest.Volume(acctest.SmallVolume+"adopt_existing = true")),
				ConfigPlanChecks: acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionCreate), Check: same,
			},
		},
	})
}
