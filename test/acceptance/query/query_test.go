package query_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// computes are workloads of several clients.
const computes = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: python, labels: {kubetorch.com/template: deployment, kubetorch.com/username: bob, team: ml}}
spec:
  replicas: 0
  selector: {matchLabels: {kubetorch.com/service: python}}
  template:
    metadata: {labels: {kubetorch.com/service: python}}
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}
      containers: [{name: kubetorch, image: "a:1", resources: {limits: {nvidia.com/gpu: 2}}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: amd}
spec:
  serviceName: amd
  selector: {matchLabels: {app: amd}}
  template:
    metadata: {labels: {app: amd}}
    spec: {containers: [{name: a, image: "a:1", resources: {limits: {amd.com/gpu: 1}}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
`

// existing is a compute for existing pods.
const existing = `
resource "kt_compute" "existing" {
  name     = "existing"
  selector = { app = "web" }

  on_not_ready = "ignore"
}`

func TestAccQueryListsTheComputesThatTheFiltersAdmit(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	block := cluster.Config(ns, "")
	q := newQueries(t, block)
	cluster.Apply(t, computes, "-n", ns)
	q.Write(t, block+acctest.BareCompute(`cpus = "10m"`)+existing)
	q.MustRun(t, "apply", "-auto-approve")
	defer q.MustRun(t, "destroy", "-auto-approve")
	cluster.WaitForOutput(t, "1/1", true, "get", "deployment/web", "-n", ns)

	id := func(name string) string { return ns + "/" + name }
	const python, amd, web, trainer, selected = "python", "amd", "web", "trainer", "existing"
	for _, test := range []struct {
		name, filter string
		want         []string
	}{
		{"none", "", []string{python, amd, trainer, selected}},
		{"all", "all = true", []string{python, amd, web, trainer, selected}},
		{"another namespace", `namespace = "default"`, nil},
		{"a label selector", `label_selector = "team in (ml, ops)"`, []string{python}},
		{"a username", `username = "bob"`, []string{python}},
		{"another username", `username = "alice"`, []string{trainer, selected}},
		{"a GPU product", `gpu_type = "NVIDIA-L4"`, []string{python}},
		{"a label of nodes", `gpu_type = "nvidia.com/gpu.product: NVIDIA-L4"`, []string{python}},
		{"of this provider", "managed = true", []string{trainer, selected}},
		{"of others", "managed = false", []string{python, amd}},
		{"idle", "idle = true", []string{python, amd}},
		{"not idle", "idle = false\nall = true", []string{web, trainer}},
		{"several", "managed = false\nidle = true\n" + `label_selector = "!team"`, []string{amd}},
	} {
		found, out := q.found(t, "kt_compute", "config {\n"+test.filter+"\n}")
		var got []string
		for _, display := range found {
			words := strings.Fields(strings.Split(display, ",")[0])
			got = append(got, words[len(words)-1])
		}
		var want []string
		for _, name := range test.want {
			want = append(want, id(name))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("with the filter %s, the query finds %v, want %v:\n%s", test.name, got, want, out)
		}
	}
	q.Write(t, cluster.ConfigWith(ns, `gpu_type_label = "example.com/gpu"`, ""))
	if found, out := q.found(t, "kt_compute", "config {\ngpu_type = \"NVIDIA-L4\"\n}"); len(found) > 0 {
		t.Errorf("with another label in the provider block, the query finds %v:\n%s", found, out)
	}
	found, out := q.found(t, "kt_compute", "config {\nusername = \"bob\"\n}")
	if want := fmt.Sprintf("Deployment %s/python, suspended, username bob", ns); len(found) != 1 || found[0] != want {
		t.Errorf("the display names are %v, want %q:\n%s", found, want, out)
	}
}

func TestAccQueryListsOtherResources(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	block := withCRDs.Config(ns, "")
	q := newQueries(t, block)
	q.Write(t, block+existing+`
resource "kt_compute" "elsewhere" {
  name     = "elsewhere"
  selector = { app = "web" }
  endpoint = { url = "http://gateway.example:8080" }

  on_not_ready = "ignore"
}`)
	q.MustRun(t, "apply", "-auto-approve")
	defer q.MustRun(t, "destroy", "-auto-approve")
	withCRDs.Apply(t, `
apiVersion: v1
kind: Secret
metadata: {name: hf, labels: {kubetorch.com/secret-name: hf, kubetorch.com/provider: huggingface}}
data: {HF_TOKEN: aGlkZGVu}
---
apiVersion: v1
kind: Secret
metadata: {name: other}
stringData: {KEY: hidden}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kt-image-torch, labels: {kubetorch.com/image: torch}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: `+ns+`}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: `+ns+`}
spec: {clusterQueue: `+ns+`}
`, "-n", ns)
	defer withCRDs.Kubectl(t, "delete", "clusterqueue", ns)
	for _, test := range []struct{ resourceType, arguments, want string }{
		{"kt_secret", "", "[Secret " + ns + "/hf, provider huggingface]"},
		{"kt_secret", "include_resource = true\nconfig {\nall = true\n}",
			"[Secret " + ns + "/hf, provider huggingface Secret " + ns + "/other]"},
		{"kt_compute", "include_resource = true",
			"[Service " + ns + "/existing KubetorchWorkload " + ns + "/elsewhere]"},
		{"kt_image", "include_resource = true", "[ConfigMap " + ns + "/kt-image-torch]"},
		{"kt_queue", "include_resource = true\nconfig {\nlabel_selector = \"!a\"\n}", "ClusterQueue " + ns},
	} {
		found, out := q.found(t, test.resourceType, test.arguments)
		if got := fmt.Sprint(found); !strings.Contains(got, test.want) {
			t.Errorf("%s finds %s, want %s:\n%s", test.resourceType, got, test.want, out)
		}
	}
	q.list(t, "kt_secret", "include_resource = true\nconfig {\nall = true\n}")
	out := q.MustRun(t, "query", "-json")
	for _, value := range []string{"hidden", "aGlkZGVu"} {
		if strings.Contains(out, value) {
			t.Errorf("the output contains the value of a Secret:\n%s", out)
		}
	}
}

// applyDeployments applies Deployments without pods as Kubetorch, ten at a time: kubectl applies one after the other,
// which takes minutes on an overloaded machine.
func applyDeployments(t *testing.T, ns string, number int) {
	t.Helper()
	config := cluster.RESTConfig(t)
	config.QPS = -1
	client, err := appsv1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(10)
	for i := range number {
		name := fmt.Sprintf("c-%d", i)
		text := fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": %[1]q},
"spec": {"replicas": 0, "selector": {"matchLabels": {"app": %[1]q}}, "template": {"metadata": {"labels":
{"app": %[1]q}}, "spec": {"containers": [{"name": "a", "image": "a:1", "resources": {"limits":
{"nvidia.com/gpu": 1}}}]}}}}`, name)
		group.Go(func() error {
			_, err := client.Deployments(ns).Patch(ctx, name, types.ApplyPatchType, []byte(text),
				metav1.PatchOptions{FieldManager: "kubetorch"})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// A proxy counts the lists of each kind, and every other request.
func TestAccQueryOfAThousandComputesNeedsTwoRequestsAKind(t *testing.T) {
	t.Parallel()
	const number = 1000
	ns := cluster.Namespace(t)
	acctest.RequireTerraform(t, "1.14")
	applyDeployments(t, ns, number)

	var mu sync.Mutex
	requests := map[string]int{}
	proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		requests[request.Method+" "+request.URL.Path]++
		return false
	})
	q := newQueries(t, proxy.Config(ns, ""))
	for _, test := range []struct {
		arguments string
		want      int
		pages     int
	}{
		{"limit = 2000", number, 2},
		{"limit = 2000\nconfig {\nidle = true\n}", number, 2},
		{"limit = 10", 10, 1},
		{"limit = 2000\ninclude_resource = true", number, 2},
	} {
		mu.Lock()
		clear(requests)
		mu.Unlock()
		found, _ := q.found(t, "kt_compute", test.arguments)
		if len(found) != test.want {
			t.Errorf("%s: the query finds %d computes, want %d", test.arguments, len(found), test.want)
		}
		mu.Lock()
		for request, n := range requests {
			if n > 2 || strings.Contains(request, "deployments/") {
				t.Errorf("%s: %d requests %s, want at most 2 a kind, and none for one object", test.arguments, n,
					request)
			}
		}
		if n := requests["GET /apis/apps/v1/namespaces/"+ns+"/deployments"]; n != test.pages {
			t.Errorf("%s: %d lists of Deployments, want %d", test.arguments, n, test.pages)
		}
		mu.Unlock()
	}
}

func TestAccQueryNamesKindsWithoutPermission(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	acctest.RequireTerraform(t, "1.14")
	cluster.Apply(t, computes, "-n", ns)
	cluster.Kubectl(t, "create", "serviceaccount", "reader", "-n", ns)
	cluster.Kubectl(t, "create", "role", "reader", "-n", ns, "--verb=list", "--resource=deployments.apps")
	cluster.Kubectl(t, "create", "rolebinding", "reader", "-n", ns, "--role=reader", "--serviceaccount="+ns+":reader")
	token := cluster.Kubectl(t, "create", "token", "reader", "-n", ns)
	q := newQueries(t, "provider \"kt\" {\n"+cluster.TokenAttributes(t, ns, token)+"}\n")
	found, out := q.found(t, "kt_compute", "")
	if len(found) != 1 || !strings.Contains(found[0], ns+"/python") {
		t.Errorf("the query finds %v, want the Deployment:\n%s", found, out)
	}
	acctest.ExpectText(t, out, "statefulsets", "The list lacks the objects for which the permission is missing: ")
	if n := strings.Count(out, "Warning: No permission"); n != 1 {
		t.Errorf("%d warnings about permissions:\n%s", n, out)
	}
	found, out = q.found(t, "kt_compute", "config {\nidle = true\n}")
	if len(found) != 0 {
		t.Errorf("the query finds %v as idle, although it must not list pods:\n%s", found, out)
	}
	acctest.ExpectText(t, out, "`idle` cannot be evaluated")
}

func TestAccQueryRejectsInvalidFilters(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	q := newQueries(t, cluster.Config(ns, ""))
	for _, test := range []struct{ resourceType, filter, want string }{
		{"kt_compute", `label_selector = "a in b"`, "Invalid label selector"},
		{"kt_compute", `label_selector = ""`, "is empty"},
		{"kt_volume", "namespace = \"ml\"\nall_namespaces = true",
			"`namespace` and `all_namespaces` cannot both be set"},
		{"kt_secret", `namespace = "Not_A_Namespace"`, "the name of a namespace"},
		{"kt_compute", `gpu_type = ""`, "is empty"},
		{"kt_image", `username = "a b"`, "Invalid label value"},
		{"kt_queue", `namespace = "ml"`, "Unsupported argument"},
	} {
		q.list(t, test.resourceType, "config {\n"+test.filter+"\n}")
		out, err := q.Run(t, "query")
		if err == nil {
			t.Errorf("%s with %s is accepted:\n%s", test.resourceType, test.filter, out)
		}
		name, _, _ := strings.Cut(test.filter, " ")
		acctest.ExpectText(t, out, test.want, name)
	}
	q.Write(t, "resource \"terraform_data\" \"cluster\" {\n}\nprovider \"kt\" {\n  host = "+
		"\"https://${terraform_data.cluster.id}\"\n}\n")
	q.list(t, "kt_compute", "")
	out, err := q.Run(t, "query")
	if err == nil {
		t.Errorf("a query of an unknown cluster is accepted:\n%s", out)
	}
	acctest.ExpectText(t, out, "The configuration of the provider is not known")
}
