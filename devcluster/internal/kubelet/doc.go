// Package kubelet shows, for the pods of fake nodes that an ordinary start does not fit, what a real kubelet
// would show: images under broken.invalid/ fail in the way that their name says, and references to Secrets
// and ConfigMaps are checked. Nothing runs. Reasons, messages and event texts are those of the kubelet of
// Kubernetes 1.36 (pkg/kubelet and pkg/volume there).
//
// Sync, the core, is a pure function from a pod, the objects it refers to and the time to the pod's next status.
package kubelet
