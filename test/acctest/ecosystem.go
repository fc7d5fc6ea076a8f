package acctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// controllers returns the programs of ecosystem/. Those with webhooks are last,
// because the API server calls webhooks for the objects that the others create.
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

// SharedEcosystem is SharedCluster with the real controllers of KubeRay, JobSet,
// LeaderWorkerSet, the training operator and Kueue. Their binaries are in
// KT_ECOSYSTEM_DIR, or in bin/. Without KT_ECOSYSTEM, the tests that use it are
// skipped.
func SharedEcosystem() *Cluster {
	return newCluster("KT_ECOSYSTEM", func() (*running, error) { return startEcosystem(manyNodes()...) })
}

// StartEcosystem is StartCluster with the controllers of SharedEcosystem.
func StartEcosystem(args ...string) (*Cluster, error) {
	c := newCluster("", func() (*running, error) { return startEcosystem(args...) })
	return c, c.Start()
}

// SharedKarpenter is a cluster with Karpenter's controllers and KWOK provider, and without the other controllers: it
// creates nodes for pods that wait, as other tests expect.
func SharedKarpenter() *Cluster { return newCluster("KT_ECOSYSTEM", startKarpenter) }

func startKarpenter() (*running, error) {
	return startWith(controller{name: "karpenter"}, []moduleFile{
		{karpenterModule, "pkg/apis/crds"}, {karpenterModule, "kwok/apis/crds"},
	}, "name=cpu-0")
}

// SharedKEDA is a cluster with KEDA's controllers, webhooks and external metrics, and without the other controllers.
func SharedKEDA() *Cluster {
	return newCluster("KT_ECOSYSTEM", func() (*running, error) {
		return startWith(controller{"keda", moduleFile{kedaModule, "config/webhooks/validation_webhooks.yaml"}},
			[]moduleFile{{kedaModule, "config/crd/bases"}}, "name=gpu-0,gpus=8,product=NVIDIA-L4")
	})
}

// startWith starts a cluster of one node with a controller and its CRDs.
func startWith(c controller, files []moduleFile, node string) (*running, error) {
	dirs, err := moduleDirs()
	if err != nil {
		return nil, err
	}
	crds, err := crdArgs(files)
	if err != nil {
		return nil, err
	}
	cluster, err := startDevCluster(append([]string{"--node", node}, crds...)...)
	if err != nil {
		return nil, err
	}
	stop, err := c.run(cluster.kubeconfig, dirs)
	if err != nil {
		return nil, errors.Join(err, cluster.stop())
	}
	return &running{cluster.kubeconfig, cluster.cache, func() error { return errors.Join(stop(), cluster.stop()) }}, nil
}

func startEcosystem(args ...string) (*running, error) {
	dirs, err := moduleDirs()
	if err != nil {
		return nil, err
	}
	crds, err := crdArgs(append(computeCRDs(), moduleFile{kueueModule, "config/components/crd/bases"}))
	if err != nil {
		return nil, err
	}
	cluster, err := startDevCluster(append(args, crds...)...)
	if err != nil {
		return nil, err
	}
	if err := addKueueConfig(cluster.kubeconfig); err != nil {
		return nil, errors.Join(err, cluster.stop())
	}
	var stops []func() error
	all := &running{cluster.kubeconfig, cluster.cache, func() error { // the controllers first
		errs := make([]error, len(stops))
		var stopping sync.WaitGroup
		for i, stop := range stops {
			stopping.Go(func() { errs[i] = stop() })
		}
		stopping.Wait()
		return errors.Join(errors.Join(errs...), cluster.stop())
	}}
	for _, c := range controllers() {
		stop, err := c.run(cluster.kubeconfig, dirs)
		if err != nil {
			return nil, errors.Join(err, all.stop())
		}
		stops = append(stops, stop)
	}
	return all, nil
}

// addKueueConfig creates the ConfigMap from which Kueue reads its configuration where it runs in pods.
func addKueueConfig(kubeconfig string) error {
	text, err := os.ReadFile(filepath.Join(Root(), "ecosystem", "kueue", "controller_manager_config.yaml"))
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	const ns = "kueue-system"
	ctx := context.Background()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	if _, err := client.Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err = client.ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kueue-manager-config"},
		Data:       map[string]string{"controller_manager_config.yaml": string(text)},
	}, metav1.CreateOptions{})
	return err
}

func (c controller) run(kubeconfig string, dirs map[string][]string) (stop func() error, err error) {
	args := []string{"--kubeconfig", kubeconfig}
	if c.webhooks.module != "" {
		file, err := locate(dirs, c.webhooks)
		if err != nil {
			return nil, err
		}
		args = append(args, "--webhooks", file)
	}
	dir := programPath("KT_ECOSYSTEM_DIR", "")
	_, stop, err = startUntilReady(filepath.Join(dir, c.name), args...)
	return stop, err
}

// Queue creates a Kueue queue in a namespace until the test ends, with a quota of
// GPUs and any CPU and memory. It returns the name of the LocalQueue. The
// ClusterQueue and its flavor have the name of the namespace. Kueue adds the
// toleration of the flavor to the pods.
func (c *Cluster) Queue(t *testing.T, namespace string, gpus int) string {
	t.Helper()
	const local = "team"
	c.Apply(t, fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: %[1]s}
spec: {tolerations: [{key: spot, operator: Exists}]}
---
%[3]s
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: %[2]s, namespace: %[1]s}
spec: {clusterQueue: %[1]s}
`, namespace, local, clusterQueue(namespace, gpus)))
	t.Cleanup(func() {
		c.Kubectl(t, "delete", "clusterqueue/"+namespace, "resourceflavor/"+namespace, "--wait=false")
	})
	c.Kubectl(t, "wait", "--for=condition=Active", "clusterqueue/"+namespace, "--timeout=2m")
	return local
}

// SetQuota changes the quota of GPUs of the queue of a namespace.
func (c *Cluster) SetQuota(t *testing.T, namespace string, gpus int) {
	t.Helper()
	c.Apply(t, clusterQueue(namespace, gpus))
}

// clusterQueue returns a ClusterQueue with the name of the namespace. Its quota of
// other resources is large, because Kueue admits no workload that requests a
// resource without quota.
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

// Await waits for a condition of an object in a namespace, as kubectl wait does:
// "condition=Ready" or "jsonpath={.status.state}=ready". If it times out, it fails
// the test and prints the object and the events of the namespace.
func (c *Cluster) Await(t *testing.T, namespace, object, condition string) {
	t.Helper()
	out, err := c.TryKubectl(t, "wait", "-n", namespace, object, "--for="+condition, "--timeout=100s")
	if err == nil {
		return
	}
	found, _ := c.TryKubectl(t, "get", "-n", namespace, object, "-o", "yaml")
	events, _ := c.TryKubectl(t, "events", "-n", namespace)
	t.Fatalf("timed out while waiting for %s to have %s: %s\n%s\n%s", object, condition, out, found, events)
}
