package operator

import corev1 "k8s.io/api/core/v1"

// OnRealNodes schedules pods on the real nodes of the dev cluster. SkyTorch's operator sets no node selector. In other
// clusters, an admission policy does this.
func OnRealNodes(pod *corev1.PodSpec) {
	const key = "kt.dev/real"
	pod.NodeSelector = map[string]string{key: "true"}
	pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
}
