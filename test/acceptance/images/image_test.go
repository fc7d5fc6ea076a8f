package images_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccImageAttributesAreSetImportedChangedAndRemoved(t *testing.T) {
	t.Parallel()
	ns, cases := cluster.Namespace(t), imageCases(localFiles(t))
	created := imageConfig(ns, cases, func(c imageCase) string { return c.created })
	var removed, imported strings.Builder
	imports := acctest.PlanChecks{}
	var updates []plancheck.PlanCheck
	for _, c := range cases {
		fmt.Fprintf(&removed, "removed {\n from = kt_image.%s\n lifecycle {\n destroy = false\n }\n}\n", c.name)
		fmt.Fprintf(&imported, "import {\n to = kt_image.%[1]s\n id = \"%[2]s/%[1]s\"\n}\n", c.name, ns)
		imports["kt_image."+c.name] = imageChanges("no-op")
		updates = append(updates, plancheck.ExpectResourceAction("kt_image."+c.name, plancheck.ResourceActionUpdate))
	}
	// These attributes are not stored in the cluster.
	imports["kt_image.life-cycle"] = imageChanges("update", "adopt_existing", "deletion_protection", "timeouts")
	imports["kt_image.hidden"] = imageChanges("update", "dockerfile", "manifests", "rendered_dockerfile",
		"sensitive_fields", "sensitive_values")
	updates = append(updates, plancheck.ExpectResourceAction("kt_image.plain", plancheck.ResourceActionNoop))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noImageLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: created},
			{Config: imageConfig(ns, nil, nil) + removed.String()},
			{Config: created + imported.String(), ConfigPlanChecks: acctest.PreApply(imports)},
			{
				Config:           imageConfig(ns, cases, func(c imageCase) string { return c.changed }),
				ConfigPlanChecks: acctest.PreApply(updates...),
			},
			{
				Config: imageConfig(ns, cases, func(imageCase) string { return plainImage }),
				Check:  func(*terraform.State) error { return checkFieldsRemoved(t, ns) },
			},
		},
	})
}

// checkFieldsRemoved checks that no ConfigMap contains fields of removed attributes.
func checkFieldsRemoved(t *testing.T, ns string) error {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name                string
				Labels, Annotations map[string]string
			}
			Data, BinaryData map[string]string
		}
	}
	if err := json.Unmarshal([]byte(cluster.Kubectl(t, "get", "configmaps", "-l", "kubetorch.com/image", "-n", ns, "-o",
		"json")), &list); err != nil {
		return err
	}
	var errs []error
	for i, item := range list.Items {
		delete(item.Metadata.Labels, "kubetorch.com/image")
		delete(item.Metadata.Annotations, "kt.dev/creation")
		item.Metadata.Name = ""
		list.Items[i] = item
		if !reflect.DeepEqual(item, list.Items[0]) {
			errs = append(errs, fmt.Errorf("fields were not removed: %v\nwant %v", item, list.Items[0]))
		}
	}
	if len(list.Items) < 2 {
		errs = append(errs, fmt.Errorf("the namespace has %d ConfigMaps", len(list.Items)))
	}
	return errors.Join(errs...)
}

func noImageLeft(t *testing.T, ns string) resource.TestCheckFunc {
	t.Helper()
	return func(*terraform.State) error {
		if left := cluster.Kubectl(t, "get", "configmaps", "-l", "kubetorch.com/image", "-n", ns, "-o",
			"name"); left != "" {
			return fmt.Errorf("left behind: %s", left)
		}
		return nil
	}
}

func TestAccEveryImageAttributeHasATestCase(t *testing.T) {
	t.Parallel()
	server, err := acctest.Factories(t)["kt"]()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, c := range imageCases("x") {
		all.WriteString(c.created + "\n" + c.changed + "\n")
	}
	for _, attribute := range schema.ResourceSchemas["kt_image"].Block.Attributes {
		if attribute.Name == "name" || attribute.Name == "namespace" || (attribute.Computed && !attribute.Optional) {
			continue // covered by every test, or read-only
		}
		if !regexp.MustCompile(`(?m)^\s*` + attribute.Name + `\s+= `).MatchString(all.String()) {
			t.Errorf("no test case sets the attribute %s", attribute.Name)
		}
	}
}

// torchImage is the address of the image in torchConfig.
const torchImage = "kt_image.torch"

func torchConfig(ns, attributes string) string {
	return cluster.Config(ns, "resource \"kt_image\" \"torch\" {\n name = \"torch\"\n"+attributes+"\n}")
}

func TestAccImageExportsItsReferenceAndSetup(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	known := func(name string, value knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(torchImage, tfjsonpath.New(name), value)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noImageLeft(t, ns),
		Steps: []resource.TestStep{
			{
				Config: torchConfig(ns,
					"base = \"pytorch\"\n python_path = \"/usr/bin/python3\"\n steps = [{ pip_install = [\"a\"] }]"),
				// All values are known in the plan.
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectKnownValue(torchImage, tfjsonpath.New("ref").AtMapKey("setup").AtMapKey("digest"),
						knownvalue.StringRegexp(regexp.MustCompile("^sha256:[0-9a-f]{64}$"))),
					plancheck.ExpectKnownValue(torchImage, tfjsonpath.New("manifests"), knownvalue.MapSizeExact(1)),
				),
				ConfigStateChecks: []statecheck.StateCheck{
					known("id", knownvalue.StringExact(ns+"/torch")),
					known("image", knownvalue.StringExact("nvcr.io/nvidia/pytorch:23.12-py3")),
					known("image_id", knownvalue.StringExact("nvcr.io/nvidia/pytorch:23.12-py3")),
					known("digest", knownvalue.Null()),
					known("rendered_dockerfile",
						knownvalue.StringExact("FROM nvcr.io/nvidia/pytorch:23.12-py3\nRUN [\"pip\", \"install\", "+
							"\"a\"]\n")),
					known("ref", knownvalue.ObjectPartial(map[string]knownvalue.Check{
						"setup": knownvalue.ObjectPartial(map[string]knownvalue.Check{
							"config_map":  knownvalue.StringExact("kt-image-torch"),
							"python_path": knownvalue.StringExact("/usr/bin/python3"), "install_cmd": knownvalue.Null(),
						}),
					})),
				},
				Check: func(*terraform.State) error {
					got := cluster.Kubectl(t, "get", "configmap/kt-image-torch", "-n", ns, "-o",
						`jsonpath={.metadata.labels} {.data}`)
					for _, part := range []string{`"app.kubernetes.io/managed-by":"terraform-provider-kt"`,
						`"kubetorch.com/username":"alice"`, `"Dockerfile":"FROM nvcr.io`, `"setup.sh":"# `} {
						if !strings.Contains(got, part) {
							return fmt.Errorf("%s is not in %s", part, got)
						}
					}
					return nil
				},
			},
			{ResourceName: torchImage, ImportState: true, ImportStateVerify: true},
		},
	})
}

func TestAccImageWithDeletionProtectionIsNotDeletedOrRenamed(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	protected := torchConfig(ns, plainImage+"\ndeletion_protection = true")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noImageLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: protected},
			{Config: cluster.Config(ns, ""), ExpectError: regexp.MustCompile("protected from deletion")},
			{Config: strings.Replace(protected, `name = "torch"`, `name = "other"`, 1),
				ExpectError: regexp.MustCompile("protected from deletion")},
			{Config: torchConfig(ns, plainImage)},
			{
				Config: strings.Replace(torchConfig(ns, plainImage), `name = "torch"`, `name = "other"`, 1),
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction(torchImage,
					plancheck.ResourceActionDestroyBeforeCreate)),
			},
		},
	})
}

func TestAccImageDeletionFailsAfterItsTimeout(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := torchConfig(ns, plainImage+"\ntimeouts = { delete = \""+acctest.ShortTimeout+"\" }")
	setFinalizers := func(finalizers string) {
		cluster.Kubectl(t, "patch", "configmap/kt-image-torch", "-n", ns,
			"-p", `{"metadata": {"finalizers": `+finalizers+`}}`)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noImageLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() { setFinalizers(`["example.com/hold"]`) },
				Config:    config, Destroy: true,
				ExpectError: regexp.MustCompile(`(?s)example\.com/hold.*after\s+` + acctest.ShortTimeout +
					`\s+\(.timeouts.delete.\)`),
			},
			{PreConfig: func() { setFinalizers("null") }, Config: config},
		},
	})
}

func TestAccImageAcceptsValuesThatAreUnknownInThePlan(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             noImageLeft(t, ns),
		Steps: []resource.TestStep{{
			Config: cluster.Config(ns, `
resource "terraform_data" "tag" {
  input = "3.12"
}
resource "kt_image" "torch" {
  name   = "torch"
  base   = "python${terraform_data.tag.output}"
  labels = { tag = terraform_data.tag.output }
  steps  = [
    { run_bash = "echo ${terraform_data.tag.output}" },
    { set_env_vars = { TAG = terraform_data.tag.output } },
    terraform_data.tag.output == "" ? { run_bash = "true" } : { run_bash = "false" },
  ]
}`),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(torchImage, tfjsonpath.New("image"),
					knownvalue.StringExact("python:3.12-slim")),
			},
			ConfigPlanChecks: acctest.ExpectEmptyPlanAfterApply(),
		}},
	})
}

func TestAccImageSetsUpACompute(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	// The image is unknown in the plan of terraform_data, but the setup is known.
	config := func(command, attributes string) string {
		return torchConfig(ns, "base = \"python${terraform_data.version.output}\"\n"+
			"steps = [{ run_bash = \""+command+"\" }]") +
			"\nresource \"terraform_data\" \"version\" {\n input = \"3.12\"\n}\n" + acctest.Compute(attributes)
	}
	image, manifests := tfjsonpath.New("image"), tfjsonpath.New("manifests")
	setup := tfjsonpath.New("image_ref").AtMapKey("setup")
	const byRef = "image_ref = kt_image.torch.ref"
	applied := knownvalue.MapPartial(map[string]knownvalue.Check{
		"Deployment/" + ns + "/trainer": knownvalue.NotNull(), "Service/" + ns + "/trainer": knownvalue.NotNull(),
	})
	digests := statecheck.CompareValue(digestInPods{t, ns})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             resource.ComposeTestCheckFunc(noImageLeft(t, ns), cluster.NothingLeft(t, ns)),
		Steps: []resource.TestStep{
			{
				Config: config("echo one", byRef),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectUnknownValue(acctest.Trainer, image),
						plancheck.ExpectUnknownValue(acctest.Trainer, manifests),
						plancheck.ExpectUnknownValue(acctest.Trainer, setup.AtMapKey("digest")),
						plancheck.ExpectKnownValue(acctest.Trainer, setup.AtMapKey("config_map"),
							knownvalue.StringExact("kt-image-torch")),
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				ConfigStateChecks: []statecheck.StateCheck{
					digests.AddStateValue(acctest.Trainer, setup.AtMapKey("digest")),
					statecheck.ExpectKnownValue(acctest.Trainer, image, knownvalue.StringExact("python:3.12-slim")),
				},
			},
			{
				Config: config("echo two", byRef),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
						plancheck.ExpectKnownValue(acctest.Trainer, image, knownvalue.StringExact("python:3.12-slim")),
						plancheck.ExpectKnownValue(acctest.Trainer, manifests, applied),
					},
				},
				ConfigStateChecks: []statecheck.StateCheck{
					digests.AddStateValue(acctest.Trainer, setup.AtMapKey("digest")),
				},
			},
			{
				Config: config("echo two", ""),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("image_ref"), knownvalue.Null()),
				},
			},
		},
	})
}

// digestInPods checks that the pod template contains the last digest of the setup, and that the first two digests
// differ.
type digestInPods struct {
	t  *testing.T
	ns string
}

func (d digestInPods) CompareValues(values ...any) error {
	last := fmt.Sprint(values[len(values)-1])
	template := cluster.Kubectl(d.t, "get", "deployment/trainer", "-n", d.ns, "-o", "jsonpath={.spec.template}")
	if !strings.Contains(template, last) || !strings.Contains(template, "kt-image-torch") ||
		!strings.Contains(template, "python:3.12-slim") {
		return fmt.Errorf("the pod template does not contain %s, kt-image-torch and python:3.12-slim: %s",
			last, template)
	}
	if len(values) > 1 && values[0] == values[1] {
		return errors.New("different setups have the same digest")
	}
	return nil
}

// Terraform imports by identity since 1.12, OpenTofu not yet. Therefore the test calls the provider directly.
func TestAccImageIsImportedByIdentity(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Kubectl(t, "create", "configmap", "kt-image-torch", "-n", ns, "--from-literal=own=1")
	server := acctest.ConfiguredProvider(t, map[string]string{"config_path": cluster.Kubeconfig(), "namespace": ns})
	for _, namespace := range []any{ns, nil} {
		identityType := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"namespace": tftypes.String,
			"name": tftypes.String}}
		imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
			TypeName: "kt_image",
			Identity: &tfprotov6.ResourceIdentityData{IdentityData: acctest.DynamicValue(t, identityType,
				map[string]tftypes.Value{
					"namespace": tftypes.NewValue(tftypes.String, namespace),
					"name":      tftypes.NewValue(tftypes.String, "torch"),
				})},
		})
		if err != nil || len(imported.Diagnostics) > 0 || len(imported.ImportedResources) != 1 {
			t.Fatalf("%v %v", err, imported)
		}
		got := imported.ImportedResources[0]
		read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
			TypeName: "kt_image", CurrentState: got.State, Private: got.Private, CurrentIdentity: got.Identity,
		})
		if err != nil || len(read.Diagnostics) > 0 || read.NewState == nil {
			t.Fatalf("%v %v", err, read)
		}
	}
}
