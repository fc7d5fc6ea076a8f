package compute

// privateState is what the provider remembers of a compute, in addition to its objects.
type privateState struct {
	// Designed is the number of replicas for which the workload was rendered, at least one. Somebody else may have
	// scaled it since, which ignore_changes preserves.
	Designed int64 `json:"designed,omitempty"`
	// Unready is true if the last wait for readiness failed. The next plan then waits again.
	Unready bool `json:"unready,omitempty"`
	// Imported contains the keys of the objects that have not been applied since their import. State contains their
	// text from the server, also after an update that changes none of them.
	Imported []string `json:"imported,omitempty"`
	// Configured is true after an update has applied the settings of the configuration that no object contains.
	// Before the first update, an import assumes them.
	Configured bool `json:"configured,omitempty"`
	// Ending is true if the workload was being deleted at the last refresh.
	Ending bool `json:"ending,omitempty"`
	// EmptyText is true if the workload was applied with its empty strings, which the first release omitted.
	EmptyText bool `json:"emptyText,omitempty"`
	// Origin contains the settings that neither the attributes nor the provider block determine. It is nil in the
	// state of a release that did not remember them.
	Origin *origin `json:"origin,omitempty"`
	// Registers reports whether Kubetorch's CRD was installed at the last refresh; nil
	// before the first one.
	Registers *bool `json:"registers,omitempty"`
}

// designedFor returns the number of replicas for rendering. A number that the plan keeps as it is in the cluster is
// not requested by the configuration.
func (n privateState) designedFor(plan, state *model) int64 {
	if n.Designed > 0 && plan.Replicas.Equal(state.Replicas) {
		return n.Designed
	}
	return max(1, plan.Replicas.ValueInt64())
}
