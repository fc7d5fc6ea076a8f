package ready

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// References returns the names of the Secrets and ConfigMaps that the environment and the volumes of the containers of
// a pod use, each sorted.
func References(pod *corev1.PodSpec) (secrets, configMaps []string) {
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, variable := range container.Env {
			from := ptr.Deref(variable.ValueFrom, corev1.EnvVarSource{})
			secrets = append(secrets, ptr.Deref(from.SecretKeyRef, corev1.SecretKeySelector{}).Name)
			configMaps = append(configMaps, ptr.Deref(from.ConfigMapKeyRef, corev1.ConfigMapKeySelector{}).Name)
		}
		for _, from := range container.EnvFrom {
			secrets = append(secrets, ptr.Deref(from.SecretRef, corev1.SecretEnvSource{}).Name)
			configMaps = append(configMaps, ptr.Deref(from.ConfigMapRef, corev1.ConfigMapEnvSource{}).Name)
		}
	}
	for _, volume := range pod.Volumes {
		secrets = append(secrets, ptr.Deref(volume.Secret, corev1.SecretVolumeSource{}).SecretName)
		configMaps = append(configMaps, ptr.Deref(volume.ConfigMap, corev1.ConfigMapVolumeSource{}).Name)
		for _, source := range ptr.Deref(volume.Projected, corev1.ProjectedVolumeSource{}).Sources {
			secrets = append(secrets, ptr.Deref(source.Secret, corev1.SecretProjection{}).Name)
			configMaps = append(configMaps, ptr.Deref(source.ConfigMap, corev1.ConfigMapProjection{}).Name)
		}
	}
	return distinct(secrets), distinct(configMaps)
}

// distinct returns the names that are not empty, sorted, each once.
func distinct(names []string) []string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}
