package kind

// Runners is a set of ways to run the pods of a compute. An attribute is supported by some of them.
type Runners uint8

const (
	// Kubetorch is a workload whose pods run Kubetorch's server.
	Kubetorch Runners = 1 << iota
	// Existing is a compute without a workload: selector selects existing pods.
	Existing
	// SkyTorch is a Compute of the SkyTorch operator.
	SkyTorch
	// SkyTorch010 is a Compute of SkyTorch 0.1.0, which has neither override nor volumeClaimTemplates.
	SkyTorch010
	// KPU is a Compute of the KPU operator, which has neither of these fields, and no resources.
	KPU
	// Unchanged is a workload of the user to which nothing is added.
	Unchanged
)
