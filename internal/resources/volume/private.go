package volume

// privateState is what the provider remembers of a volume.
type privateState struct {
	// Waiting is true if the last wait did not complete. The next apply then waits again.
	Waiting bool `json:"waiting,omitempty"`
	// Protected is a copy of deletion_protection for the plan of a replacement, which does not get the state.
	Protected bool `json:"protected,omitempty"`
	// Imported is true if the volume was imported and not updated since.
	Imported bool `json:"imported,omitempty"`
	// Empty is true if the plan replaces the claim because it is not bound and therefore contains no data. If it has
	// been bound since, its deletion was not requested.
	Empty bool `json:"empty,omitempty"`
}
