package kind

// ModeSelector is the mode of a compute whose pods exist already.
const ModeSelector = "selector"

// selector is no workload: a Service and the registration for pods that
// somebody else runs.
func selector() Kind {
	return Kind{Workload: &Workload{
		Mode:     ModeSelector,
		Template: ModeSelector,
		Picks:    func(c Compute) bool { return c.Selector },
		Groups:   always(),
	}}
}
