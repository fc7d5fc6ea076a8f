package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// Namespace creates a namespace with Kubetorch's service account until the test
// ends, and returns its name. Almost every test calls it, so it does not start
// kubectl.
func (c *Cluster) Namespace(t *testing.T) string {
	t.Helper()
	c.Started(t)
	name := fmt.Sprintf("acc-%d-%d", os.Getpid(), c.namespaces.Add(1))
	client, err := corev1client.NewForConfig(c.RESTConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // t.Context has ended
		err := client.Namespaces().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "kubetorch-service-account"}}
	if _, err := client.ServiceAccounts(name).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// NoneLeft returns an error if a namespace has an object of a compute: one of any kind that the provider has applied,
// or a pod or its owner, whose end a destroy waits for. The claims of a StatefulSet stay, as Kubernetes decided.
func (c *Cluster) NoneLeft(t *testing.T, ns string) error {
	t.Helper()
	config := c.RESTConfig(t)
	config.WarningHandler = rest.NoWarnings{} // about kinds that are deprecated
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	var lists []*metav1.APIResourceList
	WaitUntil(t, "the discovery of all kinds", func() bool { // it is incomplete while an APIService is new
		lists, err = served.ServerPreferredNamespacedResources()
		return err == nil
	})
	var left []string
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, kind := range list.APIResources {
			objects, err := client.Resource(version.WithResource(kind.Name)).Namespace(ns).
				List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // another test has deleted the definition
			}
			if err != nil {
				return fmt.Errorf("%s: %w", kind.Name, err)
			}
			for _, object := range objects.Items {
				if isApplied(&object) || runsPods(kind.Kind) && object.Labels["kubetorch.com/service"] != "" {
					left = append(left, kind.Kind+"/"+object.Name)
				}
			}
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("left behind: %q", left)
	}
	return nil
}

// isApplied reports whether the provider manages fields of an object.
func isApplied(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(entry.Manager, kube.Manager)
	})
}

func runsPods(kind string) bool { return slices.Contains([]string{"Pod", "ReplicaSet", "Job"}, kind) }

// StorageClass creates a storage class until the test ends, and returns its name.
// It must not be a default class, because other tests share the cluster.
func (c *Cluster) StorageClass(t *testing.T, ns, more string) string {
	t.Helper()
	name := "class-" + ns
	c.Apply(t, "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: "+name+"}\n"+more)
	t.Cleanup(func() { c.Kubectl(t, "delete", "storageclass", name, "--ignore-not-found") })
	return name
}

// PersistentVolume creates a PersistentVolume of 100Gi until the test ends, and
// returns its name.
func (c *Cluster) PersistentVolume(t *testing.T, ns, more string) string {
	t.Helper()
	name := "pv-" + ns
	c.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  capacity: {storage: 100Gi}
  accessModes: [ReadWriteMany]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /nowhere}
%s`, name, more))
	t.Cleanup(func() { c.Kubectl(t, "delete", "persistentvolume", name, "--ignore-not-found", "--wait=false") })
	return name
}

// LiveObjects returns the Deployments and Services of a namespace as JSON, by
// name, without the fields that only the server writes. NAME replaces the name.
func (c *Cluster) LiveObjects(t *testing.T, ns string) map[string]string {
	t.Helper()
	var list struct {
		Items []map[string]any `json:"items"`
	}
	text := c.Kubectl(t, "get", "deployments,services", "-n", ns, "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, item := range list.Items {
		metadata, _ := item["metadata"].(map[string]any)
		name := fmt.Sprint(metadata["name"])
		RemoveServerFields(item)
		out, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		all[name] += strings.ReplaceAll(string(out), name, "NAME") + "\n"
	}
	return all
}

// RemoveServerFields removes the fields of an object that only the server writes, and those that differ by creation.
func RemoveServerFields(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	for _, field := range []string{"resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"} {
		delete(metadata, field)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "deployment.kubernetes.io/revision")
		delete(annotations, kube.CreationAnnotation) // differs by creation
		delete(annotations, kube.UnfinishedAnnotation)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	spec, _ := object["spec"].(map[string]any)
	for _, allocated := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		delete(spec, allocated)
	}
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if port, ok := port.(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
	delete(object, "status")
}

// ConfigWith is Config with more attributes in the provider block.
func (c *Cluster) ConfigWith(ns, block, config string) string {
	return strings.Replace(c.Config(ns, config), "provider \"kt\" {", "provider \"kt\" {\n"+block, 1)
}

// ClosedPort returns an address on which nothing listens.
func ClosedPort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// RESTConfig returns the connection of a cluster admin, with the contents of files.
func (c *Cluster) RESTConfig(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err == nil {
		err = rest.LoadTLSFiles(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// ServiceAccount creates a service account with a cluster role in its namespace,
// and returns a token.
func (c *Cluster) ServiceAccount(t *testing.T, ns, name, role string) string {
	t.Helper()
	c.Kubectl(t, "create", "serviceaccount", name, "-n", ns)
	c.Kubectl(t, "create", "rolebinding", name, "-n", ns, "--clusterrole="+role, "--serviceaccount="+ns+":"+name)
	return c.Kubectl(t, "create", "token", name, "-n", ns)
}

// TokenAttributes returns the attributes of a provider block that uses a token.
func (c *Cluster) TokenAttributes(t *testing.T, ns, token string) string {
	t.Helper()
	config := c.RESTConfig(t)
	return fmt.Sprintf("  host = %q\n  cluster_ca_certificate = %q\n  token = %q\n  namespace = %q\n",
		config.Host, config.CAData, token, ns)
}

// NothingLeft is [Cluster.NoneLeft] as a check.
func (c *Cluster) NothingLeft(t *testing.T, ns string) resource.TestCheckFunc {
	t.Helper()
	return func(*terraform.State) error { return c.NoneLeft(t, ns) }
}
