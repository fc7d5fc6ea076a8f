package provider_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// requestCount counts the requests that reach the API server, by verb and resource.
type requestCount struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *requestCount) add(request *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[verbOf(request)+" "+resourceOf(request.URL.Path)]++
}

// take returns the counts since the last call.
func (c *requestCount) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = map[string]int{}
	return seen
}

// verbOf returns the RBAC verb of a request, and for patches also their type.
func verbOf(request *http.Request) string {
	query := request.URL.Query()
	switch {
	case query.Get("watch") != "":
		return "watch"
	case request.Method == http.MethodGet && namesObject(request.URL.Path):
		return "get"
	case request.Method == http.MethodGet:
		return "list"
	case request.Method == http.MethodPatch && query.Get("dryRun") != "":
		return "dry run"
	case request.Method == http.MethodPatch && strings.Contains(request.Header.Get("Content-Type"), "apply"):
		return "apply"
	default:
		return strings.ToLower(request.Method)
	}
}

// steps splits the path of a request, without its group, version and namespace.
func steps(path string) []string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch skip := map[string]int{"api": 2, "apis": 3}[parts[0]]; {
	case skip == 0 || len(parts) <= skip:
		return []string{path}
	case len(parts) > skip+2 && parts[skip] == "namespaces":
		return parts[skip+2:]
	default:
		return parts[skip:]
	}
}

func namesObject(path string) bool { return len(steps(path)) > 1 }

func resourceOf(path string) string { return steps(path)[0] }

// table formats counts of requests, with the average per resource at the end of each line.
func table(title string, seen map[string]int, resources int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d requests, %.2f a resource\n", title, total(seen), float64(total(seen))/float64(resources))
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		fmt.Fprintf(&out, "  %5d  %s\n", seen[what], what)
	}
	return out.String()
}

func total(seen map[string]int) int {
	sum := 0
	for _, n := range seen {
		sum += n
	}
	return sum
}

// pool returns resources of a kind, of which the first ones are changed.
func pool(kind, attributes string, resources, changed int) string {
	value := fmt.Sprintf(`(count.index < %d ? "yes" : "no")`, changed)
	return fmt.Sprintf(`
resource %q "pool" {
  count = %d
  name  = "pool-${count.index}"
  %s
}`, kind, resources, strings.ReplaceAll(attributes, "VALUE", value))
}

// TestAccRequestsOfARun counts all requests of runs with twenty resources of a type,
// including shared requests such as lists and watches.
func TestAccRequestsOfARun(t *testing.T) {
	t.Parallel()
	const resources, parallelism = 20, 10 // of Terraform by default
	for name, test := range map[string]struct {
		// Type and attributes of the resources. VALUE is "yes" for changed ones and "no" for the others.
		kind, attributes string
		// Resource of the objects.
		objects string
		// Maximum number of requests per resource. The plan includes all resources; the
		// updates change one or all of them.
		create, plan, updateOne, updateAll, destroy float64
	}{
		"computes": {
			kind: "kt_compute", objects: "deployments",
			attributes: `
  image    = "python:3.12"
  cpus     = "10m"
  memory   = "16Mi"
  env_vars = { CHANGED = VALUE }`,
			create: 6, plan: 0.5, updateOne: 2, updateAll: 3.5, destroy: 3,
		},
		"volumes": {
			kind: "kt_volume", objects: "persistentvolumeclaims",
			attributes: acctest.ReadWriteOnce + `
  size   = "1Gi"
  labels = { changed = VALUE }`,
			create: 4, plan: 0.5, updateOne: 2, updateAll: 3, destroy: 4,
		},
		"secrets": {
			kind: "kt_secret", objects: "secrets", attributes: "values = { TOKEN = VALUE }",
			create: 4, plan: 1.5, updateOne: 2, updateAll: 5.5, destroy: 4.5,
		},
		"images": {
			kind: "kt_image", objects: "configmaps",
			attributes: `
  base  = "python:3.12"
  steps = [{ run_bash = "echo ${VALUE}" }]`,
			create: 4, plan: 0.5, updateOne: 2, updateAll: 3, destroy: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			count := &requestCount{seen: map[string]int{}}
			proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
				count.add(request)
				return false
			})
			cli := acctest.NewCLI(t)
			run := func(title string, most float64, changed int, args ...string) {
				cli.Write(t, proxy.Config(ns, pool(test.kind, test.attributes, resources, changed)))
				count.take()
				out := cli.MustRun(t, args...)
				seen := count.take()
				t.Log(table(title, seen, resources))
				// Every three seconds, the provider checks whether Kubetorch's CRD was installed.
				// These requests depend on the duration of the run, not on its resources.
				repeated := max(0, seen["list /apis/kubetorch.com/v1alpha1"]-2)
				// Terraform gives a provider two seconds to end. On a busy machine, the next plan
				// completes the remaining creations.
				late := 0
				if args[0] == "plan" {
					late = min(resources, seen["patch "+test.objects])
				}
				// The resources that Terraform plans before it applies the first one are previewed a second time.
				second := 0
				for what, n := range seen {
					if !strings.HasPrefix(what, "dry run ") {
						continue
					}
					again := max(0, n-resources)
					if second += again; again > parallelism {
						t.Errorf("%s: %s %d times", title, what, n)
					}
				}
				if used := float64(total(seen)-repeated-late-second) / resources; used > most || total(seen) == 0 {
					t.Errorf("%s: %.2f requests per resource, want at most %.2f\n%s", title, used, most, out)
				}
			}
			run("creation", test.create, 0, "apply", "-auto-approve")
			run("plan after a creation", test.plan, 0, "plan", "-detailed-exitcode")
			run("update of one", test.updateOne, 1, "apply", "-auto-approve")
			run("plan after an apply", 0.5, 1, "plan", "-detailed-exitcode")
			run("update of all", test.updateAll, resources, "apply", "-auto-approve")
			run("destruction", test.destroy, resources, "destroy", "-auto-approve")
		})
	}
}
