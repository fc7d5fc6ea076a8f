package manifest

// ModeSelector is the mode of a compute whose pods exist already.
const ModeSelector = "selector"

// selectorKind is no workload: a Service and the registration for pods that
// somebody else runs.
func selectorKind() kind {
	return kind{
		mode:     ModeSelector,
		template: ModeSelector,
		picks:    func(c Compute) bool { return len(c.Selector) > 0 },
		groups:   pods(),
	}
}

func validateSelector(c Compute, errs *Errors) {
	if len(c.Selector) == 0 || c.Manifest != nil {
		return
	}
	for _, of := range []struct {
		attribute string
		set       bool
	}{
		{"autoscale", c.Autoscale != nil},
		{"distribute", c.Distribute != nil},
		{"image_setup", c.ImageSetup != nil},
		{"replicas", c.ReplicasGiven},
		{"service_template", len(c.ServiceTemplate) > 0},
		{"suspend", c.Suspend},
	} {
		if of.set {
			errs.add(of.attribute, "is for pods that are made here, while selector finds pods that exist already: remove one of the two.")
		}
	}
}
