package kube

// OfRun returns the value that create returned for a key at its first use in
// this run.
func OfRun[T any](c *Cluster, key string, create func() T) T {
	if kept, ok := c.memo.Load(key); ok {
		return kept.(T) //nolint:errcheck // each key has one type
	}
	kept, _ := c.memo.LoadOrStore(key, create())
	return kept.(T) //nolint:errcheck // each key has one type
}
