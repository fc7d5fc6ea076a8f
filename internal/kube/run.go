package kube

// OfRun returns the value that create returned for a key at its first use in
// this run.
func OfRun[T any](c *Cluster, key string, create func() T) T {
	value, _ := Recall(c, key, func() (T, error) { return create(), nil })
	return value
}
