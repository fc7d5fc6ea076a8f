package compute

// privateState are what the provider remembers of a compute as a whole.
type privateState struct {
	// Designed is the number of replicas that the workload was rendered for;
	// at least one. Somebody else may scale it since, and ignore_changes keep that.
	Designed int64 `json:"designed,omitempty"`
	// Unready says that the last wait for readiness failed: the next plan waits again.
	Unready bool `json:"unready,omitempty"`
	// Imported are the keys of the objects that have not been applied since
	// their import: state has the server's text of them, also after an update
	// that changes none of them.
	Imported []string `json:"imported,omitempty"`
	// Configured says that an update has taken the settings that no object has
	// from the configuration. Before the first update, an import has guessed them.
	Configured bool `json:"configured,omitempty"`
	// Ending says that the workload was being deleted when it was last looked at.
	Ending bool `json:"ending,omitempty"`
	// EmptyText says that the workload was applied with its empty strings, which
	// the first release left out.
	EmptyText bool `json:"emptyText,omitempty"`
	// Origin is what neither the attributes nor the provider block decided; nil in
	// the state of a release that did not remember it.
	Origin *origin `json:"origin,omitempty"`
	// Registers says whether Kubetorch's CRD was installed at the last refresh; nil
	// before the first one.
	Registers *bool `json:"registers,omitempty"`
}

// designedFor is the number of replicas to render for. A number that the plan
// leaves as the cluster has it is not one that the configuration asks for.
func (n privateState) designedFor(plan, state *model) int64 {
	if n.Designed > 0 && plan.Replicas.Equal(state.Replicas) {
		return n.Designed
	}
	return max(1, plan.Replicas.ValueInt64())
}
