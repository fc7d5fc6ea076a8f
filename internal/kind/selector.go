package kind

// ModeSelector is the mode of a compute with existing pods.
const ModeSelector = "selector"

// selector is not a workload, but a Service and the registration for existing
// pods.
func selector() Kind {
	return Kind{Workload: &Workload{
		Mode:     ModeSelector,
		Template: ModeSelector,
		Picks:    func(c Compute) bool { return c.Selector },
		Groups:   always(),
	}}
}
