package kube

// OfRun returns what make made for a key when it was first asked for in this run.
func OfRun[T any](c *Cluster, key string, make func() T) T {
	if kept, ok := c.memo.Load(key); ok {
		return kept.(T) //nolint:forcetypeassert,errcheck // each key has one type
	}
	kept, _ := c.memo.LoadOrStore(key, make())
	return kept.(T) //nolint:forcetypeassert,errcheck // each key has one type
}
