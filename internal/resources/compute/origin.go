package compute

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// origin is what the environment, or a default of this release, has decided
// about the objects of a compute, since neither an attribute nor the provider
// block does. It counts when the objects are created, and from then on stays:
// applying in another environment, or with another release, changes nothing.
// A nil field is decided by the configuration.
type origin struct {
	LaunchTimeout    *time.Duration `json:"launch_timeout,omitempty"` // nanoseconds
	GPUAntiAffinity  *bool          `json:"gpu_anti_affinity,omitempty"`
	InstallNamespace *string        `json:"install_namespace,omitempty"`
}

// originOf is the origin of objects that are rendered for a model with defaults.
func originOf(m *model, defaults tf.Defaults) *origin {
	o := &origin{}
	if m.LaunchTimeout.IsNull() && !defaults.LaunchTimeoutChosen {
		o.LaunchTimeout = &defaults.LaunchTimeout
	}
	if m.GPUAntiAffinity.IsNull() && !defaults.GPUAntiAffinityChosen {
		o.GPUAntiAffinity = &defaults.GPUAntiAffinity
	}
	if !defaults.InstallNamespaceChosen {
		o.InstallNamespace = &defaults.InstallNamespace
	}
	return o
}

// observedOrigin is the origin of objects that an earlier release has applied,
// which did not remember it.
func observedOrigin(m *model, applied objects) *origin {
	o := &origin{}
	workload, err := applied.workload()
	if err != nil || workload == nil {
		return o
	}
	seen := m.observe(workload)
	if m.LaunchTimeout.IsNull() && seen.LaunchTimeout > 0 {
		o.LaunchTimeout = &seen.LaunchTimeout
	}
	if wantsGPU := seen.GPUs > 0 || seen.GPUMemory != nil; m.GPUAntiAffinity.IsNull() && !wantsGPU {
		o.GPUAntiAffinity = &seen.GPUAntiAffinity
	}
	return o
}

// keep returns the defaults with what the objects were made with where the
// provider block does not say otherwise.
func (o *origin) keep(defaults tf.Defaults) tf.Defaults {
	if o == nil {
		return defaults
	}
	if o.LaunchTimeout != nil && !defaults.LaunchTimeoutChosen {
		defaults.LaunchTimeout = *o.LaunchTimeout
	}
	if o.GPUAntiAffinity != nil && !defaults.GPUAntiAffinityChosen {
		defaults.GPUAntiAffinity = *o.GPUAntiAffinity
	}
	if o.InstallNamespace != nil && !defaults.InstallNamespaceChosen {
		defaults.InstallNamespace = *o.InstallNamespace
	}
	return defaults
}

// label is the value that the objects have of a label, "" for none.
func (o objects) label(name string) string { return owned.Label(o.decoded(), name) }

// decoded returns the objects, none of them if one cannot be read.
func (o objects) decoded() []*unstructured.Unstructured {
	decoded, err := o.decode()
	if err != nil {
		return nil
	}
	return decoded
}
