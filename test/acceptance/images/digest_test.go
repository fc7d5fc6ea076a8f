package images_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const digestAddress = "data.kt_image_digest.torch"

// digestConfig configures a cluster that does not exist, because the data source needs none.
func digestConfig(image string) string {
	return fmt.Sprintf("provider \"kt\" {\n host = \"https://127.0.0.1:1\"\n}\n"+
		"data \"kt_image_digest\" \"torch\" {\n image = %q\n}\n", image)
}

func TestAccImageDigestIsThatOfTheTag(t *testing.T) {
	t.Parallel()
	served := serveRegistry(t, "")
	first := served.push("team/torch:2.5")
	second := ""
	is := func(digest *string) resource.TestCheckFunc {
		return resource.ComposeAggregateTestCheckFunc(
			resource.TestCheckResourceAttrPtr(digestAddress, "digest", digest),
			resource.TestCheckResourceAttrWith(digestAddress, "pinned_image", func(got string) error {
				if want := served.host + "/team/torch@" + *digest; got != want {
					return fmt.Errorf("got %s, want %s", got, want)
				}
				return nil
			}))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: digestConfig(served.host + "/team/torch:2.5"), Check: is(&first)},
			{
				PreConfig: func() { second = served.push("team/torch:2.5") },
				Config:    digestConfig(served.host + "/team/torch:2.5"), Check: is(&second),
			},
			{Config: digestConfig("Torch:2.5"), ExpectError: regexp.MustCompile(
				`which\s+is\s+not\s+a\s+valid\s+image\s+reference`)},
			{ // a digest causes no request
				PreConfig: func() { served.down.Store(true) },
				Config:    digestConfig(served.host + "/team/torch@" + first), Check: is(&first),
			},
			{
				Config:      digestConfig(served.host + "/team/torch:2.5"),
				ExpectError: regexp.MustCompile(`(?s)Cannot reach the registry.*set\s+the\s+image\s+by\s+its\s+digest`),
			},
			{
				PreConfig:   func() { served.down.Store(false) },
				Config:      digestConfig(served.host + "/team/torch:3.0"),
				ExpectError: regexp.MustCompile(`Image not found in the registry`),
			},
		},
	})
}

func TestAccImageDigestNeedsTheCredentialsOfTheRegistry(t *testing.T) {
	t.Parallel()
	served := serveRegistry(t, "secret")
	served.push("team/torch:2.5")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config:      digestConfig(served.host + "/team/torch:2.5"),
			ExpectError: regexp.MustCompile(`(?s)Registry access denied.*docker\s+login`),
		}},
	})
}

// A tag that moves between a plan and its apply does not change what is applied.
func TestAccSavedPlanRunsTheImageThatWasPlanned(t *testing.T) {
	t.Parallel()
	ns, served := cluster.Namespace(t), serveRegistry(t, "")
	planned := served.push("team/torch:2.5")
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, fmt.Sprintf(`
data "kt_image_digest" "torch" {
	image = "%s/team/torch:2.5"
}
resource "kt_compute" "trainer" {
	name     = "trainer"
	image    = data.kt_image_digest.torch.pinned_image
	replicas = 0
}`, served.host)))
	cli.MustRun(t, "plan", "-out", "tfplan")
	served.push("team/torch:2.5")
	served.down.Store(true)
	cli.MustRun(t, "apply", "tfplan")
	image := cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o",
		"jsonpath={.spec.template.spec.containers[0].image}")
	if !strings.HasSuffix(image, "@"+planned) {
		t.Errorf("the image is %s, want that of the plan, %s", image, planned)
	}
	served.down.Store(false)
	cli.MustRun(t, "destroy", "-auto-approve")
}
