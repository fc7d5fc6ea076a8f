// Package e2e_test runs computes whose pods really run, on the real node of a dev cluster: `make e2e`, which needs root
// and containerd.
package e2e_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/operator"
)

// allocateImage contains the program in allocate/.
const allocateImage = "localhost/allocate:e2e"

// serverOfOnesOwn contains the program in httpserver/.
const serverOfOnesOwn = "localhost/httpserver:e2e"

// serverImage is the name of the image that `make tensor-image` builds.
var serverImage string

// cluster is shared by the tests of the package. It is nil without KT_E2E.
var cluster *acctest.Cluster

func TestMain(m *testing.M) {
	if address := os.Getenv(callVariable); address != "" {
		os.Exit(call(address, os.Getenv(resultVariable)))
	}
	if os.Getenv("KT_E2E") == "" {
		os.Exit(m.Run())
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "kt-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	arguments := []string{"--node", "name=cpu-0", "--crds", acctest.Testdata("skytorch-compute-crd.yaml")}
	server := filepath.Join(acctest.Root(), "bin", "tensor-server.tar")
	if serverImage, err = imageIn(server); err != nil {
		return 1, fmt.Errorf("%w; build it with: make tensor-image", err)
	}
	arguments = append(arguments, "--image", server)
	for _, image := range []string{allocateImage, serverOfOnesOwn} {
		program := strings.TrimSuffix(strings.TrimPrefix(image, "localhost/"), ":e2e")
		archive := filepath.Join(dir, program+".tar")
		if err := pack("./test/e2e/"+program, image, archive); err != nil {
			return 1, err
		}
		arguments = append(arguments, "--image", archive)
	}
	start, nodes := acctest.StartCluster, "--kubelet"
	if os.Getenv("KT_ECOSYSTEM") != "" {
		start, nodes = acctest.StartEcosystem, "--kubelet=2"
		// KubeRay's init container of workers runs ray in a shell, which the images do not contain.
		if err := os.Setenv("ENABLE_INIT_CONTAINER_INJECTION", "false"); err != nil {
			return 1, err
		}
	}
	if cluster, err = start(append(arguments, nodes)...); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	o, err := operator.New(context.Background(), cluster.Kubeconfig(),
		operator.Options{Release: operator.SkyTorch(), Place: operator.OnRealNodes})
	if err != nil {
		return 1, err
	}
	ctx, stop := context.WithCancel(context.Background())
	done, log := make(chan struct{}), os.Stderr
	go func() { defer close(done); o.Run(ctx, log) }()
	defer func() { stop(); <-done }()
	return m.Run(), nil
}

// pack builds a static binary of a program of this repository, and writes an image of it.
func pack(program, image, archive string) error {
	binary := archive + ".bin"
	name, tag, _ := strings.Cut(image, ":")
	for _, args := range [][]string{
		{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", binary, program},
		{"run", "./tools/tensorimage", "-binary", binary, "-name", name, "-version", tag, "-o", archive},
	} {
		command := exec.Command("go", args...)
		command.Dir, command.Env = acctest.Root(), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	return nil
}

// imageIn reads the name of the image in an archive.
func imageIn(archive string) (string, error) {
	file, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for content := tar.NewReader(file); ; {
		header, err := content.Next()
		if err != nil {
			return "", fmt.Errorf("%s has no manifest.json: %w", archive, err)
		}
		if header.Name != "manifest.json" {
			continue
		}
		var images []struct{ RepoTags []string }
		if err := json.NewDecoder(content).Decode(&images); err != nil {
			return "", fmt.Errorf("manifest.json in %s: %w", archive, err)
		}
		return images[0].RepoTags[0], nil
	}
}
