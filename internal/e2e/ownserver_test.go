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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// ownServer is a server of one's own with two pods, of which one at a time is replaced.
func ownServer() string {
	return `
provider "kt" {}
variable "release" { default = "one" }
resource "kt_compute" "server" {
  name     = "server"
  replicas = 2
  strategy = "RollingUpdate"
  image    = "` + serverOfOnesOwn + `"
  args     = ["-port", "8080", "-start", "3s", "-drain", "5s"]
  port     = 8080
  env_vars = { VERSION = var.release }
  limits   = { memory = "64Mi" }

  health_path              = "/health"
  launch_timeout           = "5m"
  termination_grace_period = "30s"
  pod_disruption_budget    = { min_available = 1 }
` + onRealNode + `
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
	answers, failures := client.stop()
	if len(failures) > 0 {
		t.Errorf("%d requests failed, first: %v", len(failures), failures[0])
	}
	if got := slices.Sorted(maps.Keys(answers)); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("answers are %v, want those of both releases", answers)
	}
}

func TestE2EServerOfOnesOwnThatNeverListensIsExplained(t *testing.T) {
	t.Parallel()
	cli, _ := terraform(t)
	cli.Write(t, strings.NewReplacer(`"-start", "3s"`, `"-start", "1h"`,
		`launch_timeout           = "5m"`, "launch_timeout = \"10s\"\n wait_timeout = \"4m\"").Replace(ownServer()))
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

// loadBalancer sends requests to the pods of a Service that are ready, like an ingress controller.
type loadBalancer struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu        sync.Mutex
	addresses []string

	// Only for send, until it has ended.
	answers  map[string]int
	failures []error
}

func newLoadBalancer(t *testing.T, namespace, service string) *loadBalancer {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.RESTConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b := &loadBalancer{cancel: cancel, answers: map[string]int{}}
	changes, err := client.DiscoveryV1().EndpointSlices(namespace).Watch(ctx,
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + service})
	if err != nil {
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
		answer, err := get(ctx, client, "http://"+addresses[i%len(addresses)]+"/version")
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

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
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
