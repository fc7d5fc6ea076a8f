package e2e_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const registryUser = "ci"

// privateImage pushes the server of one's own to a registry that requires a password, [acctest.Canary], and returns the
// name of the image. containerd uses HTTP for registries on loopback addresses.
func privateImage(t *testing.T) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "httpserver.tar")
	if err := pack("./test/e2e/httpserver", serverOfOnesOwn, archive); err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(archive, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Since 1.35, a kubelet that pulled an image with a password pulls it again for each other name
	// (KubeletEnsureSecretPulledImages). With another creation time, the image differs from that of the other tests.
	if image, err = mutate.CreatedAt(image, v1.Time{Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != registryUser || password != acctest.Canary {
			w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			http.Error(w, "password required", http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	reference, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/team/httpserver:1")
	if err != nil {
		t.Fatal(err)
	}
	login := remote.WithAuth(&authn.Basic{Username: registryUser, Password: acctest.Canary})
	if err := remote.Write(reference, image, login); err != nil {
		t.Fatal(err)
	}
	return reference.Name()
}

func TestE2EImageOfAPrivateRegistryRequiresItsPullSecret(t *testing.T) {
	t.Parallel()
	cli, ns := terraform(t)
	image := privateImage(t)
	host, _, _ := strings.Cut(image, "/")
	config := func(more string) string {
		return `
provider "kt" {}
resource "kt_compute" "private" {
  name        = "private"
  image       = "` + image + `"
  args        = ["-port", "8080"]
  port        = 8080
  health_path = "/health"
` + more + onRealNode + `
}
`
	}
	cli.Write(t, config(""))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the image was pulled without a password:\n%s", out)
	}
	for _, want := range []string{"image pull failed", "cannot be pulled", "`image_pull_secrets`"} {
		if !strings.Contains(unwrapped(out), want) {
			t.Errorf("the error does not contain %q:\n%s", want, out)
		}
	}
	cluster.Kubectl(t, "create", "secret", "docker-registry", "team-registry", "-n", ns, "--docker-server="+host,
		"--docker-username="+registryUser, "--docker-password="+acctest.Canary)
	cli.Write(t, config(`  image_pull_secrets = ["team-registry"]`))
	cli.MustRun(t, "apply", "-auto-approve")
	if out := cli.MustRun(t, "plan"); !strings.Contains(out, "No changes.") {
		t.Errorf("the second plan is not empty:\n%s", out)
	}
}
