package compute

// privateState is what the provider stores for a compute, in addition to the memory of its objects.
type privateState struct {
	// Unready is true if the last wait for readiness failed. The next apply then waits again.
	Unready bool `json:"unready,omitempty"`
	// Imported contains the keys of the objects that have not been applied since their import. State contains their
	// text from the server, also after an update that changes none of them.
	Imported []string `json:"imported,omitempty"`
	// Foreign contains the keys of the workloads of other clients that have not been applied since their import.
	Foreign []string `json:"foreign,omitempty"`
	// Configured is true after an update has applied the settings of the configuration that no object contains.
	// Before the first update, an import assumes them.
	Configured bool `json:"configured,omitempty"`
	// Expired contains the keys of the objects in state that Kubetorch has deleted, and that on_expiry keeps in state.
	Expired []string `json:"expired,omitempty"`
	// Origin contains the defaults that the objects were created with. It is nil before the creation.
	Origin *creationDefaults `json:"origin,omitempty"`
	// Selector is spec.selector of an imported workload that lacks the label of this provider. The compute keeps it,
	// because it is immutable.
	Selector map[string]any `json:"selector,omitempty"`
	// Applied is not nil while state contains changes of others.
	Applied appliedAttributes `json:"applied,omitempty"`
	// CRDInstalled reports whether Kubetorch's CRD was installed at the creation or the last refresh; nil if unknown.
	// Without it, each plan before the next apply would have to handle a change of the private state.
	CRDInstalled *bool `json:"registers,omitempty"`
}
