package compute

import (
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// creationDefaults are the settings of objects that come from the environment or from a default of the provider
// release. They stay the same after the creation, so that another environment or release does not change the objects.
// A field is nil if an attribute or the provider block sets it.
type creationDefaults struct {
	LaunchTimeout    *time.Duration `json:"launch_timeout,omitempty"` // nanoseconds
	GPUAntiAffinity  *bool          `json:"gpu_anti_affinity,omitempty"`
	InstallNamespace *string        `json:"install_namespace,omitempty"`
}

// usedDefaults returns the defaults that the rendering of a model uses.
func usedDefaults(m *model, defaults tf.Defaults) *creationDefaults {
	used := &creationDefaults{}
	if m.LaunchTimeout.IsNull() && !defaults.LaunchTimeoutChosen {
		used.LaunchTimeout = &defaults.LaunchTimeout
	}
	if m.GPUAntiAffinity.IsNull() && !defaults.GPUAntiAffinityChosen {
		used.GPUAntiAffinity = &defaults.GPUAntiAffinity
	}
	if !defaults.InstallNamespaceChosen {
		used.InstallNamespace = &defaults.InstallNamespace
	}
	return used
}

// origin returns the stored defaults. Those of an import, and of a state whose private part was lost, are what the
// objects contain.
func (s privateState) origin(m *model, applied owned.Objects) *creationDefaults {
	used, workload := &creationDefaults{}, workloadIn(applied)
	switch {
	case s.Origin != nil:
		return s.Origin
	case workload == nil:
		return used
	}
	seen := m.observe(workload)
	if m.LaunchTimeout.IsNull() && seen.LaunchTimeout > 0 {
		used.LaunchTimeout = &seen.LaunchTimeout
	}
	if m.GPUAntiAffinity.IsNull() && !seen.WantsGPU() {
		used.GPUAntiAffinity = &seen.GPUAntiAffinity
	}
	return used
}

// override returns the current defaults with those of the creation, except where the provider block sets a value.
func (d *creationDefaults) override(current tf.Defaults) tf.Defaults {
	if d == nil {
		return current
	}
	if d.LaunchTimeout != nil && !current.LaunchTimeoutChosen {
		current.LaunchTimeout = *d.LaunchTimeout
	}
	if d.GPUAntiAffinity != nil && !current.GPUAntiAffinityChosen {
		current.GPUAntiAffinity = *d.GPUAntiAffinity
	}
	if d.InstallNamespace != nil && !current.InstallNamespaceChosen {
		current.InstallNamespace = *d.InstallNamespace
	}
	return current
}
