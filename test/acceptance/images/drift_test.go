package images_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccChangedFilesOfAnImageAreShownByDigest(t *testing.T) {
	t.Parallel()
	ns, dir := cluster.Namespace(t), localFiles(t)
	config := torchConfig(ns,
		fmt.Sprintf("image_id = \"debian:12\"\n steps = [{ copy = { source = %q, dest = \"/app/\" } }, "+
			"{ sync_package = %q }]", filepath.Join(dir, "a.txt"), filepath.Join(dir, "package")))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noImageLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig:        func() { writeFile(t, filepath.Join(dir, "package", "__pycache__", "x"), "cached") },
				Config:           config,
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan()),
			},
			{
				PreConfig: func() { writeFile(t, filepath.Join(dir, "a.txt"), "a canary in the content") },
				Config:    config,
				ConfigPlanChecks: acctest.PreApply(
					acctest.PlanChecks{torchImage: func(p acctest.Plan) error {
						if strings.Contains(fmt.Sprint(p.After), "canary") {
							return fmt.Errorf("the plan contains the content: %v", p.After)
						}
						return errors.Join(imageChanges("update", "ref", "manifests")(p),
							acctest.SameElements("fields", p.Fields(), []string{
								"ConfigMap data.1-a.txt", "ConfigMap data.setup.sh",
								"ConfigMap metadata.annotations.kubetorch.com/image-setup-digest",
							}))
					}},
				),
			},
			{
				PreConfig:   func() { writeFile(t, filepath.Join(dir, "a.txt"), strings.Repeat("x", 1<<20)) },
				Config:      config,
				ExpectError: regexp.MustCompile(`(?s)too large for a ConfigMap.*1-a.txt: 1024 KiB`),
			},
			{
				PreConfig: func() {
					if err := os.Remove(filepath.Join(dir, "a.txt")); err != nil {
						t.Fatal(err)
					}
				},
				Config:      config,
				ExpectError: regexp.MustCompile(`(?s)steps\[0\].copy:\s+\S+\s+does\s+not\s+exist`),
			},
			{PreConfig: func() { writeFile(t, filepath.Join(dir, "a.txt"), "restored") }, Config: config},
		},
	})
}

func TestAccImageDriftIsReportedByFieldAndManager(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := torchConfig(ns,
		"image_id = \"debian:12\"\n labels = { team = \"ml\" }\n steps = [{ run_bash = \"echo original\" }]")
	seen := &acctest.Warnings{}
	expectWarning := func(parts ...string) acctest.PlanChecks {
		return acctest.PlanChecks{torchImage: func(acctest.Plan) error {
			return seen.ExpectAbout(ns+"/kt-image-torch", parts...)
		}}
	}
	steps := []resource.TestStep{{Config: config}}
	for _, drift := range []struct {
		kubectl    []string
		action     string
		attributes []string
		message    string
	}{
		{[]string{"patch", "configmap/kt-image-torch", "-p", `{"data": {"setup.sh": "echo edited"}}`}, "update",
			[]string{"manifests"}, `data["setup.sh"]: changed by kubectl-patch at `},
		{[]string{"patch", "configmap/kt-image-torch", "--type=json", "-p",
			`[{"op": "remove", "path": "/data/Dockerfile"}]`}, "update", []string{"manifests"},
			`data.Dockerfile: removed`},
		{[]string{"label", "configmap/kt-image-torch", "--overwrite", "team=web"}, "update",
			[]string{"labels", "manifests"}, `metadata.labels.team: changed by kubectl-label at `},
		{[]string{"label", "configmap/kt-image-torch", "app.kubernetes.io/managed-by-"}, "update",
			[]string{"manifests"}, `metadata.labels["app.kubernetes.io/managed-by"]: removed`},
		{[]string{"patch", "configmap/kt-image-torch", "-p",
			`{"data": {"other": "x"}, "metadata": {"labels": {"other": "x"}}}`}, "no-op", nil, ""},
	} {
		steps = append(steps, resource.TestStep{
			PreConfig: func() { cluster.Kubectl(t, append(drift.kubectl, "-n", ns)...) },
			Config:    config,
			ConfigPlanChecks: resource.ConfigPlanChecks{
				PreApply: []plancheck.PlanCheck{acctest.PlanChecks{torchImage: imageChanges(drift.action,
					drift.attributes...)}, expectWarning(drift.message)},
				PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
			},
		})
	}
	steps = append(steps,
		resource.TestStep{
			PreConfig: func() { cluster.Kubectl(t, "delete", "configmap/kt-image-torch", "-n", ns) },
			Config:    config,
			ConfigPlanChecks: acctest.PreApply(
				plancheck.ExpectResourceAction(torchImage, plancheck.ResourceActionCreate),
				expectWarning("no longer exists")),
		},
		resource.TestStep{
			PreConfig: func() {
				cluster.Kubectl(t, "delete", "configmap/kt-image-torch", "-n", ns)
				cluster.Kubectl(t, "create", "configmap", "kt-image-torch", "-n", ns, "--from-literal=own=1")
			},
			Config:      config,
			ExpectError: regexp.MustCompile(`(?s)was not created by this provider.*kubectl-create`),
		},
		resource.TestStep{
			PreConfig: func() { cluster.Kubectl(t, "delete", "configmap/kt-image-torch", "-n", ns) },
			Config:    config,
		},
		resource.TestStep{ // an immutable ConfigMap is replaced
			PreConfig: func() {
				cluster.Kubectl(t, "patch", "configmap/kt-image-torch", "-n", ns, "-p", `{"immutable": true}`)
			},
			Config: strings.Replace(config, "original", "another", 1),
			ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction(torchImage,
				plancheck.ResourceActionDestroyBeforeCreate)),
		},
	)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             noImageLeft(t, ns),
		Steps:                    steps,
	})
}

func TestAccImageOfAnotherClientIsAdoptedOrImported(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Kubectl(t, "create", "configmap", "kt-image-torch", "-n", ns, "--from-literal=own=1")
	adopted := torchConfig(ns, plainImage+"\nadopt_existing = true")
	keepsForeignKey := func(*terraform.State) error {
		if got := cluster.Kubectl(t, "get", "configmap/kt-image-torch", "-n", ns, "-o",
			"jsonpath={.data.own}"); got != "1" {
			return fmt.Errorf("the key of another client is %q", got)
		}
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noImageLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: torchConfig(ns, plainImage),
				ExpectError: regexp.MustCompile(`(?s)ConfigMap \S+/kt-image-torch already exists.*kubectl-create`)},
			{Config: adopted, Check: keepsForeignKey},
			{Config: cluster.Config(ns, ""), Check: noImageLeft(t, ns)},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "create", "configmap", "kt-image-torch", "-n", ns, "--from-literal=own=1")
				},
				Config:       torchConfig(ns, plainImage),
				ResourceName: torchImage, ImportState: true, ImportStateId: ns + "/torch", ImportStatePersist: true,
			},
			{
				Config: torchConfig(ns, plainImage),
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction(torchImage,
					plancheck.ResourceActionUpdate)),
				Check: keepsForeignKey,
			},
			{
				Config:       torchConfig(ns, plainImage),
				ResourceName: torchImage, ImportState: true, ImportStateId: ns + "/kt-image-torch",
				ExpectError: regexp.MustCompile(`(?s)Import\s+the\s+name\s+of\s+the\s+image`),
			},
			{
				Config:       torchConfig(ns, plainImage),
				ResourceName: torchImage, ImportState: true, ImportStateId: "torch",
				ExpectError: regexp.MustCompile(`must have the format\s+namespace/name`),
			},
		},
	})
}
