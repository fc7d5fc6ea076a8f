package e2e_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// ownHost is the host by which clients reach ownServer.
const ownHost = "server.example.com"

// ownServer is a server of one's own with two pods, of which one at a time is replaced. Its affinity selects the real
// node: on a fake node, nothing answers.
func ownServer() string {
	return `
provider "kt" {}
variable "release" { default = "one" }
resource "kt_compute" "server" {
  name     = "server"
  replicas = 2
  strategy = "RollingUpdate"
  image    = "` + serverOfOnesOwn + `"
  command  = ["/tensor-server"] # the path of the program in every image of these tests
  args     = ["-port", "8080", "-start", "3s", "-drain", "5s"]
  port     = 8080
  env_vars = { VERSION = var.release }
  limits   = { memory = "64Mi" }

  health_path              = "/health"
  launch_timeout           = "5m"
  termination_grace_period = "30s"
  pod_disruption_budget    = { min_available = 1 }
  expose                   = { hosts = ["` + ownHost + `"], ingress_class_name = "test" }

  affinity = jsonencode({ nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms = [
    { matchExpressions = [{ key = "kt.dev/real", operator = "In", values = ["true"] }] }
  ] } } })
  tolerations = [{ key = "kt.dev/real", operator = "Exists" }]
}
`
}

func TestE2EServerOfOnesOwnIsUpdatedWithoutAFailedRequest(t *testing.T) {
	t.Parallel()
	cli, ns := terraform(t)
	cli.Write(t, ownServer())
	cli.MustRun(t, "apply", "-auto-approve")
	if out := cli.MustRun(t, "plan"); !strings.Contains(out, "No changes.") {
		t.Errorf("the second plan is not empty:\n%s", out)
	}
	client := newLoadBalancer(t, ns, "server")
	cli.MustRun(t, "apply", "-auto-approve", "-var", "release=two")
	evictOneAtATime(t, ns)
	if out := cli.MustRun(t, "plan", "-var", "release=two"); !strings.Contains(out, "No changes.") {
		t.Errorf("the plan after the eviction is not empty:\n%s", out)
	}
	answers, failures := client.stop()
	if len(failures) > 0 {
		t.Errorf("%d requests failed, first: %v", len(failures), failures[0])
	}
	if got := slices.Sorted(maps.Keys(answers)); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("answers are %v, want those of both releases", answers)
	}
}

// evictOneAtATime evicts a pod, as the drain of a node does, and expects that the PodDisruptionBudget protects the
// other one.
func evictOneAtATime(t *testing.T, ns string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.RESTConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	cluster.WaitForOutput(t, "1", true, "get", "poddisruptionbudget/server", "-n", ns, "-o",
		"jsonpath={.status.disruptionsAllowed}")
	all, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var running []string
	var results []error
	for _, pod := range all.Items {
		if pod.DeletionTimestamp == nil { // the pods of the old release may still answer requests
			running = append(running, pod.Name)
			results = append(results, client.PolicyV1().Evictions(ns).Evict(t.Context(),
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: ns}}))
		}
	}
	if len(running) != 2 {
		t.Fatalf("the pods are %v, want two", running)
	}
	if results[0] != nil || !apierrors.IsTooManyRequests(results[1]) {
		t.Errorf("the evictions of two pods ended with %v, want only the second to be refused", results)
	}
	cluster.Await(t, ns, "pod/"+running[0], "delete")
	cluster.Await(t, ns, "deployment/server", "jsonpath={.status.readyReplicas}=2")
}

func TestE2EServerOfOnesOwnThatNeverListensIsExplained(t *testing.T) {
	t.Parallel()
	cli, _ := terraform(t)
	cli.Write(t, strings.NewReplacer(`"-start", "3s"`, `"-start", "1h"`,
		`launch_timeout           = "5m"`, "launch_timeout = \"10s\"\n timeouts = { create = \"4m\" }").
		Replace(ownServer()))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the apply succeeded:\n%s", out)
	}
	for _, want := range []string{"Startup probe failed", "8080", "launch_timeout"} {
		if !strings.Contains(unwrapped(out), want) {
			t.Errorf("the error does not contain %q:\n%s", want, out)
		}
	}
}

// loadBalancer sends requests to the pods of an Ingress that are ready, like an ingress controller.
type loadBalancer struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	host   string

	mu        sync.Mutex
	addresses []string

	// Only for send, until it has ended.
	answers  map[string]int
	failures []error
}

func newLoadBalancer(t *testing.T, namespace, ingress string) *loadBalancer {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.RESTConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.NetworkingV1().Ingresses(namespace).Get(t.Context(), ingress, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rule := found.Spec.Rules[0]
	service := rule.HTTP.Paths[0].Backend.Service
	if rule.Host != ownHost || service.Port.Number != 80 {
		t.Errorf("the Ingress has the rule %+v", rule)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b := &loadBalancer{cancel: cancel, host: rule.Host, answers: map[string]int{}}
	changes, err := client.DiscoveryV1().EndpointSlices(namespace).Watch(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	b.done.Go(func() { b.follow(changes) })
	b.done.Go(func() { b.send(ctx) })
	return b
}

// stop returns the number of requests by answer, and the errors.
func (b *loadBalancer) stop() (answers map[string]int, failures []error) {
	b.cancel()
	b.done.Wait()
	return b.answers, b.failures
}

// follow keeps the addresses of the pods that are ready. Deployments of this size have one EndpointSlice.
func (b *loadBalancer) follow(changes watch.Interface) {
	defer changes.Stop()
	for change := range changes.ResultChan() {
		slice, ok := change.Object.(*discoveryv1.EndpointSlice)
		if !ok {
			continue
		}
		var addresses []string
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready && len(slice.Ports) > 0 {
				addresses = append(addresses, net.JoinHostPort(endpoint.Addresses[0], fmt.Sprint(*slice.Ports[0].Port)))
			}
		}
		b.mu.Lock()
		b.addresses = addresses
		b.mu.Unlock()
	}
}

// send sends one request after the other, on new connections.
func (b *loadBalancer) send(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		b.mu.Lock()
		addresses := b.addresses
		b.mu.Unlock()
		if len(addresses) == 0 {
			continue // the watch has not started yet
		}
		answer, err := get(ctx, client, b.host, "http://"+addresses[i%len(addresses)]+"/version")
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			b.failures = append(b.failures, err)
		default:
			b.answers[answer]++
		}
	}
}

func get(ctx context.Context, client *http.Client, host, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Host = host
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return string(text), err
}
