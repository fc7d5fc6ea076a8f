package kube

// OfRun returns what create made for a key when it was first asked for in this run.
func OfRun[T any](c *Cluster, key string, create func() T) T {
	if kept, ok := c.memo.Load(key); ok {
		return kept.(T) //nolint:forcetypeassert,errcheck // each key has one type
	}
	kept, _ := c.memo.LoadOrStore(key, create())
	return kept.(T) //nolint:forcetypeassert,errcheck // each key has one type
}
