package manifest

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
