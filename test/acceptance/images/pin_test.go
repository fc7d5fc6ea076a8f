package images_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// imageRegistry is a registry in memory, on a loopback address, which can be made unreachable.
type imageRegistry struct {
	t        *testing.T
	host     string
	password string // empty for anonymous access
	down     atomic.Bool
	requests atomic.Int64 // requests of the provider for manifests
}

// serveRegistry starts a registry that requires a password, or none if it is empty.
func serveRegistry(t *testing.T, password string) *imageRegistry {
	t.Helper()
	r := &imageRegistry{t: t, password: password}
	served := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, password, _ := req.BasicAuth(); password != r.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.down.Load() {
			panic(http.ErrAbortHandler) // closes the connection without a response
		}
		if strings.Contains(req.URL.Path, "/manifests/") && strings.Contains(req.UserAgent(), "terraform-provider-kt") {
			r.requests.Add(1)
		}
		served.ServeHTTP(w, req)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(server.Close)
	r.host = strings.TrimPrefix(server.URL, "http://")
	return r
}

// push moves a tag to a new image and returns its digest.
func (r *imageRegistry) push(tag string) string {
	r.t.Helper()
	img, err := random.Image(64, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	ref, err := name.ParseReference(r.host + "/" + tag)
	if err != nil {
		r.t.Fatal(err)
	}
	auth := authn.Anonymous
	if r.password != "" {
		auth = &authn.Basic{Username: "ci", Password: r.password}
	}
	if err := remote.Write(ref, img, remote.WithAuth(auth)); err != nil {
		r.t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		r.t.Fatal(err)
	}
	return digest.String()
}

func TestAccPinnedImageFollowsTheTagAndKeepsItsDigestWithoutTheRegistry(t *testing.T) {
	t.Parallel()
	ns, served := cluster.Namespace(t), serveRegistry(t, "")
	first := served.push("team/torch:2.5")
	second := "" // set when the tag is moved
	config := torchConfig(ns,
		fmt.Sprintf("dockerfile = \"FROM %s/team/torch:2.5\\nRUN echo\\n\"\n pin_digest = true", served.host))
	seen := &acctest.Warnings{}
	pinned := func(digest *string) resource.TestCheckFunc {
		return func(s *terraform.State) error {
			got := s.RootModule().Resources[torchImage].Primary.Attributes
			image := served.host + "/team/torch@" + *digest
			dockerfile := cluster.Kubectl(t, "get", "configmap/kt-image-torch", "-n", ns, "-o",
				"jsonpath={.data.Dockerfile}")
			if got["digest"] != *digest || got["image"] != image || got["image_id"] != image ||
				dockerfile != "FROM "+image+"\nRUN echo" {
				return fmt.Errorf("digest %s, image %s, image_id %s, Dockerfile %q; want %s", got["digest"],
					got["image"], got["image_id"], dockerfile, *digest)
			}
			return nil
		}
	}
	noChange := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
		PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             noImageLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: config, Check: pinned(&first)},
			{ResourceName: torchImage, ImportState: true, ImportStateVerify: true},
			{
				PreConfig:        func() { served.down.Store(true) },
				Config:           config,
				ConfigPlanChecks: noChange,
				Check: func(s *terraform.State) error {
					if text := seen.Text(); !strings.Contains(text, "Cannot reach the registry") ||
						!strings.Contains(text, "The last known digest remains in use: "+first) {
						return fmt.Errorf("the warnings are: %s", text)
					}
					return pinned(&first)(s)
				},
			},
			{
				PreConfig: func() {
					served.down.Store(false)
					second = served.push("team/torch:2.5")
				},
				Config: config,
				ConfigPlanChecks: acctest.PreApply(
					acctest.PlanChecks{torchImage: imageChanges("update", "digest", "image", "image_id",
						"ref", "rendered_dockerfile", "manifests")},
					acctest.PlanChecks{torchImage: func(acctest.Plan) error {
						if text := seen.Text(); !strings.Contains(text, "was "+first+", and is now "+second) {
							return fmt.Errorf("the warnings are: %s", text)
						}
						return nil
					}},
				),
				Check: func(s *terraform.State) error { return pinned(&second)(s) },
			},
			{Config: strings.Replace(config, "pin_digest = true", "pin_digest = false", 1),
				ConfigPlanChecks: acctest.ExpectEmptyPlanAfterApply()},
			{Config: config, Check: func(s *terraform.State) error { return pinned(&second)(s) }},
		},
	})
}

func TestAccPinnedImageIsResolvedInTheApplyIfThePlanCannot(t *testing.T) {
	t.Parallel()
	ns, served := cluster.Namespace(t), serveRegistry(t, "")
	served.push("torch:1")
	cli := imageCLI(t, ns, fmt.Sprintf("image_id = \"%s/torch:1\"\n pin_digest = true", served.host))

	// If the tag is moved between the plan of the creation and its apply, the plan has promised no digest.
	cli.MustRun(t, "plan", "-out=plan")
	digest := served.push("torch:1")
	cli.MustRun(t, "apply", "plan")
	if shown := cli.MustRun(t, "state", "show", torchImage); !strings.Contains(shown, "torch@"+digest) {
		t.Errorf("the new image is not pinned:\n%s", shown)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")

	served.down.Store(true)
	out := cli.MustRun(t, "plan", "-out=plan")
	if !strings.Contains(out, "Warning: Cannot reach the registry") ||
		!regexp.MustCompile(`\+ digest +=\s\(known after apply\)`).MatchString(out) ||
		!regexp.MustCompile(`\+ digest +=\s"sha256:`).MatchString(out) {
		t.Errorf("want a warning, an unknown digest of the image and a known digest of the setup: %s", out)
	}
	out, err := cli.Run(t, "apply", "plan")
	if err == nil || !strings.Contains(out, "Error: Cannot reach the registry") ||
		!strings.Contains(out, "pin_digest") {
		t.Errorf("apply without the registry: %v\n%s", err, out)
	}
	if left := cluster.Kubectl(t, "get", "configmaps", "-l", "kubetorch.com/image", "-n", ns, "-o",
		"name"); left != "" {
		t.Errorf("the failed apply created %s", left)
	}
	cli.MustRun(t, "plan", "-out=plan")
	served.down.Store(false)
	if out := cli.MustRun(t, "apply", "plan"); !strings.Contains(cli.MustRun(t, "state", "show", torchImage),
		served.host+"/torch@"+digest) {
		t.Errorf("the image is not pinned: %s", out)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")

	// If the tag is moved between plan and apply, the planned digest is applied.
	served.push("torch:1")
	cli.MustRun(t, "plan", "-out=plan")
	planned := regexp.MustCompile(`-> "(sha256:[0-9a-f]{64})"`).FindStringSubmatch(cli.MustRun(t, "show", "plan"))
	served.push("torch:1")
	cli.MustRun(t, "apply", "plan")
	if shown := cli.MustRun(t, "state", "show", torchImage); len(planned) == 0 ||
		!strings.Contains(shown, "torch@"+planned[1]) {
		t.Errorf("planned %v, applied:\n%s", planned, shown)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

// imageCLI returns a working directory with the configuration of an image.
func imageCLI(t *testing.T, ns, attributes string) *acctest.CLI {
	t.Helper()
	cli := acctest.NewCLI(t) // the credentials are in the environment of the process
	cli.Write(t, torchConfig(ns, attributes))
	return cli
}

func TestAccPinnedImageUsesTheCredentialsOfDocker(t *testing.T) {
	t.Parallel()
	const password = "canary-of-the-registry"
	ns, served := cluster.Namespace(t), serveRegistry(t, password)
	digest := served.push("private/torch:1")
	cli := imageCLI(t, ns, fmt.Sprintf("image_id = \"%s/private/torch:1\"\n pin_digest = true", served.host))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil || !strings.Contains(out, "Error: Registry access denied") || !strings.Contains(out, "docker login") {
		t.Errorf("without credentials: %v\n%s", err, out)
	}

	dockerConfig := t.TempDir()
	writeFile(t, filepath.Join(dockerConfig, "config.json"),
		fmt.Sprintf(`{"auths": {%q: {"username": "ci", "password": %q}}}`, served.host, password))
	cli.Setenv("DOCKER_CONFIG", dockerConfig)
	cli.Setenv("TF_LOG", "TRACE")
	out = cli.MustRun(t, "apply", "-auto-approve")
	state := cli.MustRun(t, "show", "-json")
	if !strings.Contains(state, "private/torch@"+digest) {
		t.Errorf("the image is not pinned: %s", state)
	}
	acctest.ExpectText(t, out, "[TRACE]")
	for _, form := range []string{password, base64.StdEncoding.EncodeToString([]byte("ci:" + password))} {
		if strings.Contains(out+state, form) {
			t.Errorf("the log or the state contains the password as %s", form)
		}
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccPinnedImagesResolveEachReferenceOnce(t *testing.T) {
	t.Parallel()
	ns, served := cluster.Namespace(t), serveRegistry(t, "")
	served.push("torch:1")
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t,
		cluster.Config(ns,
			fmt.Sprintf("resource \"kt_image\" \"torch\" {\n count = 12\n name = \"torch-${count.index}\"\n "+
				"image_id = \"%s/torch:1\"\n pin_digest = true\n}", served.host)))
	cli.MustRun(t, "apply", "-auto-approve")
	served.requests.Store(0)
	cli.MustRun(t, "plan", "-detailed-exitcode")
	if requests := served.requests.Load(); requests != 1 {
		t.Errorf("a plan of 12 images with the same tag sends %d requests, want 1", requests)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}
