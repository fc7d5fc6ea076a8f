package acctest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Ecosystem is a dev cluster on which the real controllers of KubeRay, JobSet,
// LeaderWorkerSet, the training operator and Kueue run.
type Ecosystem struct {
	*Cluster

	stops []func() error // of the controllers
}

// controllers are the programs of ecosystem/. Those with webhooks come last:
// the API server calls these for what the others create.
func controllers() []controller {
	const webhooks = "config/components/webhook/manifests.yaml"
	return []controller{
		{name: "kuberay"},
		{name: "training"},
		{name: "jobset", webhooks: moduleFile{jobSetModule, webhooks}},
		{name: "lws", webhooks: moduleFile{lwsModule, "config/webhook/manifests.yaml"}},
		{name: "kueue", webhooks: moduleFile{kueueModule, webhooks}},
	}
}

type controller struct {
	name     string     // of the binary
	webhooks moduleFile // none if empty
}

// StartEcosystem starts the cluster and the controllers, and returns when they
// reconcile. The binaries are in KT_ECOSYSTEM_DIR, else in bin/. More
// arguments of the dev cluster may be given.
func StartEcosystem(args ...string) (*Ecosystem, error) {
	folders, err := moduleFolders()
	if err != nil {
		return nil, err
	}
	crds, err := crdArgs(append(computeCRDs(), moduleFile{kueueModule, "config/components/crd/bases"}))
	if err != nil {
		return nil, err
	}
	cluster, err := StartCluster(append(append(roomForAll(), crds...), args...)...)
	if err != nil {
		return nil, err
	}
	e := &Ecosystem{Cluster: cluster}
	for _, controller := range controllers() {
		if err := e.run(controller, folders); err != nil {
			return nil, errors.Join(err, e.Stop())
		}
	}
	return e, nil
}

func (e *Ecosystem) run(c controller, folders map[string][]string) error {
	dir := os.Getenv("KT_ECOSYSTEM_DIR")
	if dir == "" {
		dir = filepath.Join(Root(), "bin")
	}
	args := []string{"--kubeconfig", e.Kubeconfig}
	if c.webhooks.module != "" {
		file, err := locate(folders, c.webhooks)
		if err != nil {
			return err
		}
		args = append(args, "--webhooks", file)
	}
	_, stop, err := startUntilReady(filepath.Join(dir, c.name), args...)
	if err != nil {
		return err
	}
	e.stops = append(e.stops, stop)
	return nil
}

// Stop stops the controllers, then the cluster, and waits until they are gone.
func (e *Ecosystem) Stop() error {
	errs := make([]error, len(e.stops))
	var stopping sync.WaitGroup
	for i, stop := range e.stops {
		stopping.Go(func() { errs[i] = stop() })
	}
	stopping.Wait()
	return errors.Join(errors.Join(errs...), e.Cluster.Stop())
}

// Queue makes a Kueue queue in a namespace, of a ClusterQueue of its own that
// admits so many GPUs at a time, with any CPU and memory. It returns the name
// of the LocalQueue; the ClusterQueue and its flavor are named as the
// namespace. It goes with the test.
func (e *Ecosystem) Queue(t *testing.T, namespace string, gpus int) string {
	t.Helper()
	const local = "team"
	e.Apply(t, fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: %[1]s}
---
%[3]s
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: %[2]s, namespace: %[1]s}
spec: {clusterQueue: %[1]s}
`, namespace, local, clusterQueue(namespace, gpus)))
	t.Cleanup(func() {
		e.Kubectl(t, "delete", "clusterqueue/"+namespace, "resourceflavor/"+namespace, "--wait=false")
	})
	e.Kubectl(t, "wait", "--for=condition=Active", "clusterqueue/"+namespace, "--timeout=2m")
	return local
}

// SetQuota changes how many GPUs the queue of a namespace admits at a time.
func (e *Ecosystem) SetQuota(t *testing.T, namespace string, gpus int) {
	t.Helper()
	e.Apply(t, clusterQueue(namespace, gpus))
}

// clusterQueue has the namespace's name. Kueue admits nothing that asks for a
// resource which the queue does not have, so there is plenty of the others.
func clusterQueue(namespace string, gpus int) string {
	return fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s}
spec:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu, cpu, memory, ephemeral-storage]
    flavors:
    - name: %[1]s
      resources:
      - {name: nvidia.com/gpu, nominalQuota: %[2]d}
      - {name: cpu, nominalQuota: 100k}
      - {name: memory, nominalQuota: 100Ti}
      - {name: ephemeral-storage, nominalQuota: 100Ti}
`, namespace, gpus)
}

// Await waits until kubectl sees a condition on an object of a namespace, as
// in "condition=Ready" or "jsonpath={.status.state}=ready". Where it does not
// come, the test ends with the object and the namespace's events.
func (c *Cluster) Await(t *testing.T, namespace, object, condition string) {
	t.Helper()
	out, err := c.TryKubectl(t, "wait", "-n", namespace, object, "--for="+condition, "--timeout=100s")
	if err == nil {
		return
	}
	found, _ := c.TryKubectl(t, "get", "-n", namespace, object, "-o", "yaml")
	events, _ := c.TryKubectl(t, "events", "-n", namespace)
	t.Fatalf("%s did not come to %s: %s\n%s\n%s", object, condition, out, found, events)
}
