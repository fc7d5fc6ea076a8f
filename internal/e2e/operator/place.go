package operator

import corev1 "k8s.io/api/core/v1"

// OnRealNodes puts pods on the dev cluster's nodes where they really run. SkyTorch's operator applies no node selector,
// so somebody else must: in a cluster of one's own, an admission policy would.
func OnRealNodes(pod *corev1.PodSpec) {
	const key = "kt.dev/real"
	pod.NodeSelector = map[string]string{key: "true"}
	pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
}
