// Package kubelet simulates a kubelet for pods of fake nodes that do not simply start: images with the prefix
// broken.invalid/ fail as their name specifies, and references to Secrets and ConfigMaps are checked. Nothing runs.
// Reasons, messages and events equal those of the kubelet of Kubernetes 1.36 (pkg/kubelet and pkg/volume).
//
// Sync, the core, is a pure function that computes the next status of a pod from the pod, the referenced objects and
// the time.
package kubelet
