package manifest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// registrationOf returns the KubetorchWorkload of a compute.
func registrationOf(t *testing.T, c manifest.Compute) *unstructured.Unstructured {
	t.Helper()
	c.Registered = true
	for _, object := range render(t, c) {
		if object.GetKind() == kind.KubetorchWorkload().Kind {
			return object
		}
	}
	t.Fatal("there is no registration")
	return nil
}

func TestRegistrationIsReadBack(t *testing.T) {
	t.Parallel()
	no, grace, quorum := false, 5*time.Second, int64(2)
	for name, set := range map[string]func(c *manifest.Compute){
		"nothing": func(*manifest.Compute) {},
		"logging": func(c *manifest.Compute) {
			c.Logging = manifest.Logging{StreamLogs: &no, IncludeEvents: &no, GracePeriod: &grace}
		},
		"an endpoint elsewhere": func(c *manifest.Compute) {
			c.Endpoint = &manifest.Endpoint{URL: "http://gateway:8080"}
		},
		"workers": func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{
				Type: "jax", Workers: 3, QuorumWorkers: &quorum, QuorumTimeout: "5m0s", MonitorMembers: &no,
				Args: map[string]any{"port": int64(0), "name": ""},
			}
		},
		"workers with defaults": func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{Type: "pytorch", Workers: 3}
		},
	} {
		c := manifest.Compute{Name: "svc", Namespace: "ml", Username: "alice", LaunchTimeout: 10 * time.Minute}
		set(&c)
		seen := manifest.Compute{LaunchTimeout: c.LaunchTimeout, Replicas: 1}
		if c.Distribute != nil {
			seen.Replicas = c.Distribute.Workers
		} else {
			c.Replicas = 1
		}
		got := manifest.ObserveRegistration(registrationOf(t, c), seen)
		want := manifest.Compute{
			Logging: c.Logging, Endpoint: c.Endpoint, Distribute: c.Distribute,
			Selector: map[string]string{kind.ServiceLabel: "svc"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
