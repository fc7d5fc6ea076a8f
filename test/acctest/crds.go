package acctest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Go modules of other projects. Their versions are in ecosystem/crds/go.mod.
const (
	gatewayModule    = "sigs.k8s.io/gateway-api"
	inferenceModule  = "sigs.k8s.io/gateway-api-inference-extension"
	jobSetModule     = "sigs.k8s.io/jobset"
	karpenterModule  = "sigs.k8s.io/karpenter"
	kedaModule       = "github.com/kedacore/keda/v2"
	knativeModule    = "knative.dev/serving"
	kubeRayModule    = "github.com/ray-project/kuberay/ray-operator"
	kueueModule      = "sigs.k8s.io/kueue"
	lwsModule        = "sigs.k8s.io/lws"
	prometheusModule = "github.com/prometheus-operator/prometheus-operator"
	trainingModule   = "github.com/kubeflow/training-operator"
)

// moduleFile is a file or directory in a Go module.
type moduleFile struct{ module, path string }

// computeCRDs returns the CRDs of the kinds of a compute.
func computeCRDs() []moduleFile {
	return []moduleFile{
		{jobSetModule, "config/components/crd/bases"},
		{kubeRayModule, "config/crd/bases/ray.io_rayclusters.yaml"},
		{kubeRayModule, "config/crd/bases/ray.io_rayjobs.yaml"},
		{lwsModule, "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"},
		{trainingModule, "manifests/base/crds/kubeflow.org_pytorchjobs.yaml"},
		{trainingModule, "manifests/base/crds/kubeflow.org_tfjobs.yaml"},
		{trainingModule, "manifests/base/crds/kubeflow.org_xgboostjobs.yaml"},
	}
}

// uncontrolledCRDs returns the CRDs of kinds whose controllers are not in ecosystem/.
func uncontrolledCRDs() []moduleFile {
	return []moduleFile{
		{gatewayModule, "config/crd/standard/gateway.networking.k8s.io_gateways.yaml"},
		{gatewayModule, "config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml"},
		{gatewayModule, "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"},
		knativeCRD(),
		{trainingModule, "manifests/base/crds/kubeflow.org_mxjobs.yaml"},
	}
}

func knativeCRD() moduleFile {
	return moduleFile{knativeModule, "config/core/300-resources/service.yaml"}
}

// recipeCRDs returns the CRDs of objects that the guides show next to a compute.
func recipeCRDs() []moduleFile {
	return []moduleFile{
		{inferenceModule, "config/crd/bases/inference.networking.k8s.io_inferencepools.yaml"},
		{prometheusModule, "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"},
	}
}

// queueCRDs returns the CRDs of Kueue that the provider reads.
func queueCRDs() []moduleFile {
	const bases = "config/components/crd/bases/"
	return []moduleFile{
		{kueueModule, bases + "kueue.x-k8s.io_clusterqueues.yaml"},
		{kueueModule, bases + "kueue.x-k8s.io_localqueues.yaml"},
		{kueueModule, bases + "kueue.x-k8s.io_resourceflavors.yaml"},
		{kueueModule, bases + "kueue.x-k8s.io_workloads.yaml"},
	}
}

// SharedClusterWithCRDs is SharedCluster with the kinds of Knative Serving,
// KubeRay, JobSet, LeaderWorkerSet, the training operator and Kueue, and
// KubetorchWorkload, which other shared clusters lack, and those of recipeCRDs. No controller acts on them.
func SharedClusterWithCRDs() *Cluster {
	return newCluster("TF_ACC", func() (*running, error) {
		if c := startedBefore(SharedWithCRDsVariable); c != nil {
			return c, nil
		}
		crds, err := crdArgs(slices.Concat(computeCRDs(), uncontrolledCRDs(), recipeCRDs(), queueCRDs()))
		if err != nil {
			return nil, err
		}
		crds = append(crds, "--crds", Testdata("kubetorchworkload-crd.yaml"))
		return startDevCluster(append(manyNodes(), crds...)...)
	})
}

// CRDArgs returns the arguments of the dev cluster that install the CRDs of all kinds of
// a compute.
func CRDArgs() ([]string, error) { return crdArgs(append(computeCRDs(), uncontrolledCRDs()...)) }

// KnativeAndKueueCRDArgs returns the arguments of the dev cluster that install the CRDs of Knative Services and of
// Kueue.
func KnativeAndKueueCRDArgs() ([]string, error) { return crdArgs(append(queueCRDs(), knativeCRD())) }

// ScaledObjectCRDArgs returns the arguments of the dev cluster that install the CRD of KEDA's ScaledObjects.
func ScaledObjectCRDArgs() ([]string, error) {
	return crdArgs([]moduleFile{{kedaModule, "config/crd/bases/keda.sh_scaledobjects.yaml"}})
}

// crdArgs returns the arguments of the dev cluster that install CRDs.
func crdArgs(files []moduleFile) ([]string, error) {
	dirs, err := moduleDirs()
	if err != nil {
		return nil, err
	}
	var args []string
	for _, file := range files {
		path, err := locate(dirs, file)
		if err != nil {
			return nil, err
		}
		args = append(args, "--crds", path)
	}
	return args, nil
}

// moduleDirs returns the directories of the modules in ecosystem/crds/go.mod,
// and downloads missing ones. A module can have several, in the order of that file.
func moduleDirs() (map[string][]string, error) {
	command := exec.Command("go", "mod", "download", "-json")
	command.Dir = filepath.Join(Root(), "ecosystem", "crds")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	dirs, decoded := decodeDirs(bytes.NewReader(out))
	if err := errors.Join(decoded, err); err != nil {
		return nil, fmt.Errorf("go mod download in %s: %w\n%s", command.Dir, err, stderr.String())
	}
	return dirs, nil
}

// decodeDirs reads the output of `go mod download -json`.
func decodeDirs(out io.Reader) (map[string][]string, error) {
	dirs := map[string][]string{}
	decoder := json.NewDecoder(out)
	for {
		var module struct{ Path, Version, Dir, Error string }
		switch err := decoder.Decode(&module); {
		case errors.Is(err, io.EOF):
			return dirs, nil
		case err != nil:
			return nil, err
		case module.Error != "":
			return nil, fmt.Errorf("%s@%s: %s", module.Path, module.Version, module.Error)
		}
		dirs[module.Path] = append(dirs[module.Path], module.Dir)
	}
}

// locate finds a file in the first directory of its module that contains it.
func locate(dirs map[string][]string, file moduleFile) (string, error) {
	for _, dir := range dirs[file.module] {
		path := filepath.Join(dir, filepath.FromSlash(file.path))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not in module %s of ecosystem/crds/go.mod, whose directories are %q", file.path,
		file.module, dirs[file.module])
}

// InstallRayCluster installs the CRD of KubeRay's RayCluster in a running cluster.
func (c *Cluster) InstallRayCluster(t *testing.T) {
	t.Helper()
	dirs, err := moduleDirs()
	if err != nil {
		t.Fatal(err)
	}
	file, err := locate(dirs, moduleFile{kubeRayModule, "config/crd/bases/ray.io_rayclusters.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	c.InstallCRD(t, file, "rayclusters.ray.io")
}

// InstallCRD installs the CRD of a file, and returns when it is served.
func (c *Cluster) InstallCRD(t *testing.T, file, name string) {
	t.Helper()
	c.Kubectl(t, "create", "-f", file) // apply would keep a copy that is too long for an annotation
	c.Established(t, name)
}

// Established waits until definitions are served. kubectl wait fails at once while one has no conditions at all.
func (c *Cluster) Established(t *testing.T, crds ...string) {
	t.Helper()
	WaitUntil(t, fmt.Sprintf("the definitions %q to be served", crds), func() bool {
		_, err := c.TryKubectl(t, append([]string{"wait", "--for=condition=Established", "--timeout=60s", "crd"},
			crds...)...)
		return err == nil
	})
}
