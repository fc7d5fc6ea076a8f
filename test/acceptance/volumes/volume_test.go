package volumes_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccVolumeIsBoundUsedImportedAndDeleted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Volume(acctest.ReadWriteOnce+`size = "1Gi"`)+`
resource "kt_compute" "trainer" {
  name           = "trainer"
  launch_timeout = "1m"
  volumes        = [kt_volume.data.ref]
}`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             resource.ComposeTestCheckFunc(noClaims(t, ns), cluster.NothingLeft(t, ns)),
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						// selected at apply
						plancheck.ExpectUnknownValue(acctest.DataVolume, tfjsonpath.New("storage_class")),
						plancheck.ExpectKnownValue(acctest.DataVolume, tfjsonpath.New("ref"),
							knownvalue.ObjectExact(map[string]knownvalue.Check{
								"claim_name": knownvalue.StringExact("data"),
								"mount_path": knownvalue.StringExact("/data"), "read_only": knownvalue.Null(),
							})),
						// known in the plan
						plancheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("manifests"),
							knownvalue.MapSizeExact(2)),
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				ConfigStateChecks: []statecheck.StateCheck{
					volumeHas("id", ns+"/data"), volumeHas("namespace", ns), volumeHas("phase", "Bound"),
					volumeHas("capacity", "1Gi"),
					statecheck.ExpectKnownValue(acctest.DataVolume, tfjsonpath.New("bound_volume_name"),
						knownvalue.StringRegexp(regexp.MustCompile(`^pvc-`))),
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("ready"), knownvalue.Bool(true)),
				},
				Check: claimIs(t, ns,
					`{.metadata.labels} {.metadata.annotations.kubetorch\.com/mount-path} {.spec.accessModes} `+
						`{.spec.storageClassName}`,
					`{"app":"kubetorch","app.kubernetes.io/managed-by":"terraform-provider-kt",`+
						`"kubetorch.com/volume":"data"} /data ["ReadWriteOnce"] standard`),
			},
			{Config: strings.Replace(config, "1Gi", "1024Mi", 1), ConfigPlanChecks: acctest.ExpectEmptyPlan()},
			{ResourceName: acctest.DataVolume, ImportState: true, ImportStateVerify: true},
		},
	})
}

func TestAccVolumeAttributesAreSetImportedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns, "provisioner: kubernetes.io/host-path")
	fixed := fmt.Sprintf("size = \"1Gi\"\n storage_class = %q\n access_mode = \"ReadOnlyMany\"\n", class)
	config := func(attributes string) string {
		return cluster.ConfigWith(ns, "default_labels = { org = \"x\" }\n default_annotations = { cost = \"1\" }",
			fmt.Sprintf("resource \"kt_volume\" \"data\" {\n name = \"data\"\n %s\n}", attributes))
	}
	created := config(fixed + `
	  mount_path          = "/data"
	  labels              = { team = "ml", tier = "" }
	  annotations         = { owner = "alice" }
	  wait_for_bound      = true
	  adopt_existing      = true
	  deletion_protection = true
	  timeouts            = { create = "2m", delete = "3m" }`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{
				Config: created,
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(acctest.DataVolume,
					tfjsonpath.New("ref").AtMapKey("read_only"), knownvalue.Bool(true))},
			},
			{Config: cluster.Config(ns, "removed {\n from = kt_volume.data\n lifecycle {\n destroy = false\n }\n}")},
			{
				Config: created + fmt.Sprintf("\nimport {\n to = kt_volume.data\n id = \"%s/data\"\n}", ns),
				ConfigPlanChecks: acctest.PreApply(
					volumePlan(acctest.PlanShows([]string{"wait_for_bound", "adopt_existing", "deletion_protection",
						"timeouts"}, nil)),
				),
			},
			{
				Config: config(fixed + `
				  mount_path     = "/mnt"
				  labels         = { team = "web" }
				  annotations    = { owner = "bob", "example.com/cost" = "" }
				  wait_for_bound = false
				  timeouts       = { update = "2m" }`),
				ConfigPlanChecks: volumeChanges(
					[]string{"mount_path", "ref", "labels", "annotations", "wait_for_bound", "adopt_existing",
						"deletion_protection", "timeouts"},
					[]string{"metadata.annotations.example.com/cost", "metadata.annotations.kubetorch.com/mount-path",
						"metadata.annotations.owner", "metadata.labels.team", "metadata.labels.tier"}),
			},
			{
				// Removing the attribute of an immutable field keeps its value.
				Config: config(`size = "1Gi"`),
				ConfigPlanChecks: volumeChanges(
					[]string{"mount_path", "ref", "labels", "annotations", "wait_for_bound", "timeouts"},
					[]string{"metadata.annotations.example.com/cost", "metadata.annotations.kubetorch.com/mount-path",
						"metadata.annotations.owner", "metadata.labels.team"}),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("storage_class", class),
					volumeHas("access_mode", "ReadOnlyMany")},
				Check: claimIs(t, ns, `{.metadata.labels.team}{.metadata.annotations.owner}{.metadata.labels.org}`,
					"x"),
			},
		},
	})
}

func TestAccVolumeWithWaitForFirstConsumerIsNotAwaited(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns,
		"provisioner: kubernetes.io/host-path\nvolumeBindingMode: WaitForFirstConsumer\nallowVolumeExpansion: true")
	unbound := func(size string) string {
		return acctest.Volume(fmt.Sprintf("%s size = %q\n storage_class = %q", acctest.ReadWriteOnce, size, class))
	}
	compute := `
resource "kt_compute" "trainer" {
  name           = "trainer"
  launch_timeout = "1m"
  volumes        = [kt_volume.data.ref]
}`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             resource.ComposeTestCheckFunc(noClaims(t, ns), cluster.NothingLeft(t, ns)),
		Steps: []resource.TestStep{
			{
				Config:           cluster.Config(ns, unbound("1Gi")),
				ConfigPlanChecks: acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionCreate),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("phase", "Pending"), volumeLacks("capacity"),
					volumeLacks("bound_volume_name")},
			},
			{
				// The claim was never bound, so replacing it loses no data.
				Config:           cluster.Config(ns, unbound("2Gi")),
				ConfigPlanChecks: acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionReplace),
			},
			{Config: cluster.Config(ns, unbound("1Gi"))},
			{Config: cluster.Config(ns, unbound("1Gi")+compute)},
			{
				Config:            cluster.Config(ns, unbound("1Gi")+compute),
				ConfigPlanChecks:  acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionNoop),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("phase", "Bound"), volumeHas("capacity", "1Gi")},
			},
		},
	})
}

// The plan contains the phase of the last refresh, from which the applied state must not differ.
func TestAccVolumeThatIsBoundAfterTheRefreshIsUpdated(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns,
		"provisioner: kubernetes.io/host-path\nvolumeBindingMode: WaitForFirstConsumer")
	config := func(labels string) string {
		return cluster.Config(ns, acctest.Volume(fmt.Sprintf("%s size = \"1Gi\"\n storage_class = %q\n %s",
			acctest.ReadWriteOnce, class, labels)))
	}
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, config(""))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Apply(t, otherDeployment, "-n", ns)
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	cli.Write(t, config(`labels = { team = "ml" }`))
	cli.MustRun(t, "apply", "-auto-approve", "-refresh=false")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cluster.Kubectl(t, "delete", "deployment/other-client", "-n", ns)
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccVolumeBindsAStaticPersistentVolume(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	pv := cluster.PersistentVolume(t, ns, "")
	config := cluster.Config(ns, acctest.Volume(fmt.Sprintf("size = \"10Gi\"\n volume_name = %q", pv)))
	withoutVolumeName := cluster.Config(ns, acctest.Volume(`size = "10Gi"`))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{
				Config: config,
				// The volume has 100Gi, although 10Gi are requested. This is not drift.
				ConfigPlanChecks: acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionCreate),
				ConfigStateChecks: []statecheck.StateCheck{
					volumeHas("storage_class", ""), volumeHas("bound_volume_name", pv), volumeHas("capacity", "100Gi"),
					volumeHas("size", "10Gi"), volumeHas("phase", "Bound"),
				},
			},
			{ResourceName: acctest.DataVolume, ImportState: true, ImportStateVerify: true},
			{Config: withoutVolumeName, ConfigPlanChecks: acctest.ExpectEmptyPlan()},
			{
				Config: cluster.Config(ns, acctest.Volume(`size = "20Gi"`)), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)The volume cannot grow.*no storage class`),
			},
		},
	})
}

func TestAccVolumeGrowsInPlace(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns, "provisioner: kubernetes.io/host-path\nallowVolumeExpansion: true")
	sized := func(size, attributes string) string {
		return cluster.Config(ns,
			acctest.Volume(fmt.Sprintf("%s storage_class = %q\n size = %q\n %s", acctest.ReadWriteOnce, class, size,
				attributes)))
	}
	status := func(status string) plancheck.PlanCheck { return patchStatus(t, ns, status) }
	seen := &acctest.Warnings{}
	growing := func(resizer plancheck.PlanCheck) resource.ConfigPlanChecks {
		checks := acctest.ExpectAction(acctest.DataVolume, plancheck.ResourceActionUpdate)
		checks.PreApply = append(checks.PreApply,
			plancheck.ExpectUnknownValue(acctest.DataVolume, tfjsonpath.New("capacity")), resizer)
		return checks
	}
	var uid string
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{
				Config: sized("1Gi", ""),
				Check: resource.TestCheckResourceAttrWith(acctest.DataVolume, "uid", func(value string) error {
					uid = value
					return nil
				}),
			},
			{
				Config:            sized("2Gi", ""),
				ConfigPlanChecks:  growing(status(`{"capacity": {"storage": "2Gi"}}`)),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("capacity", "2Gi")},
				Check: resource.TestCheckResourceAttrWith(acctest.DataVolume, "uid",
					func(value string) error { return sameText("uid", value, uid) }),
			},
			{
				Config: sized("1Gi", ""), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)A volume cannot shrink.*requests 2Gi and has 2Gi.*size = "2Gi"`),
			},
			{
				Config: sized("3Gi", ""),
				ConfigPlanChecks: growing(status(`{"conditions": [{"type": "FileSystemResizePending", "status": ` +
					`"True"}]}`)),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("capacity", "2Gi"), volumeHas("size", "3Gi")},
				Check: func(*terraform.State) error {
					return seen.ExpectText("is expanded by the next mount in a pod")
				},
			},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "patch", "persistentvolumeclaim/data", "-n", ns, "--subresource=status", "-p",
						`{"status": {"conditions": [{"type": "FileSystemResizePending", "status": "False"}]}}`)
				},
				Config:             sized("4Gi", `timeouts = { update = "`+acctest.ShortTimeout+`" }`),
				ExpectNonEmptyPlan: true,
				Check: func(*terraform.State) error {
					message := regexp.MustCompile(`(?s)has 2Gi, and not yet the requested 4Gi.*after ` +
						acctest.ShortTimeout + ` \(.timeouts.update.\)`)
					if text := seen.Text(); !message.MatchString(text) {
						return fmt.Errorf("no warning matches %s: %s", message, text)
					}
					return nil
				},
			},
			{
				// The claim already requests the size: the next apply continues to wait.
				Config:            sized("4Gi", ""),
				ConfigPlanChecks:  growing(status(`{"capacity": {"storage": "4Gi"}}`)),
				ConfigStateChecks: []statecheck.StateCheck{volumeHas("capacity", "4Gi")},
			},
		},
	})
}

// volumePlan checks the plan for the volume.
func volumePlan(check acctest.PlanCheck) plancheck.PlanCheck {
	return acctest.PlanChecks{acctest.DataVolume: check}
}

// patchStatus acts as the resizer of a CSI driver: it patches the status of the claim while the apply after the plan
// waits.
func patchStatus(t *testing.T, ns, status string) plancheck.PlanCheck {
	t.Helper()
	return volumePlan(func(acctest.Plan) error {
		time.AfterFunc(2*time.Second, func() {
			_, _ = cluster.TryKubectl(t, "patch", "persistentvolumeclaim/data", "-n", ns,
				"--subresource=status", "-p", `{"status": `+status+`}`)
		})
		return nil
	})
}

func sameText(what, got, want string) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s is %q, want %q", what, got, want)
}

func TestAccVolumeThatCannotGrowFailsThePlan(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	class := cluster.StorageClass(t, ns, "provisioner: kubernetes.io/host-path")
	sized := func(size string) string {
		return cluster.Config(ns,
			acctest.Volume(fmt.Sprintf("%s storage_class = %q\n size = %q", acctest.ReadWriteOnce, class, size)))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: []resource.TestStep{
			{Config: sized("1Gi")},
			{
				Config: sized("2Gi"), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)The volume cannot grow.*does not have\s+allowVolumeExpansion.*` +
					`kubectl patch storageclass ` + class),
			},
			{
				PreConfig: func() { cluster.Kubectl(t, "delete", "storageclass", class) },
				Config:    sized("2Gi"), PlanOnly: true,
				ExpectError: regexp.MustCompile(`(?s)The volume cannot grow.*no\s+longer\s+exists`),
			},
			{Config: sized("1Gi"), ConfigPlanChecks: acctest.ExpectEmptyPlan()},
		},
	})
}

func TestAccVolumeRejectsChangesThatWouldLoseItsData(t *testing.T) {
	t.Parallel()
	ns, other := cluster.Namespace(t), cluster.Namespace(t)
	config := func(name, attributes string) string {
		return cluster.Config(ns,
			fmt.Sprintf("resource \"kt_volume\" \"data\" {\n name = %q\n size = \"1Gi\"\n mount_path = "+
				"\"/data\"\n %s\n}", name, attributes))
	}
	steps := []resource.TestStep{{Config: config("data", acctest.ReadWriteOnce)}}
	for _, change := range []struct{ name, attributes, message string }{
		{"other", acctest.ReadWriteOnce, `has the name "data"`},
		{"data", acctest.ReadWriteOnce + fmt.Sprintf("namespace = %q", other), `has the\s+namespace "` + ns + `"`},
		{"data", "access_mode = \"ReadWriteMany\"", `has the access mode\s+"ReadWriteOnce"`},
		{"data", acctest.ReadWriteOnce + "storage_class = \"fast\"", `has the storage\s+class "standard"`},
		{"data", acctest.ReadWriteOnce + "storage_class = \"\"", `immutable\s+and\s+cannot\s+be\s+changed\s+to\s+""`},
		{"data", acctest.ReadWriteOnce + "volume_name = \"pv\"", `has the\s+PersistentVolume\s+\(none\)`},
	} {
		steps = append(steps, resource.TestStep{
			Config: config(change.name, change.attributes), PlanOnly: true,
			ExpectError: regexp.MustCompile(`(?s)The data of the volume would be lost.*` + change.message +
				`.*terraform destroy -refresh=false -target=ADDRESS`),
		})
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noClaims(t, ns),
		Steps: append(steps,
			resource.TestStep{Config: config("data", acctest.ReadWriteOnce),
				ConfigPlanChecks: acctest.ExpectEmptyPlan()}),
	})
}
