package ready

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// References returns the names of the Secrets and ConfigMaps that the environment and the volumes of the containers of
// a pod use, each sorted.
func References(pod *corev1.PodSpec) (secrets, configMaps []string) {
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, variable := range container.Env {
			if from := variable.ValueFrom; from != nil && from.SecretKeyRef != nil {
				secrets = append(secrets, from.SecretKeyRef.Name)
			}
			if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
				configMaps = append(configMaps, from.ConfigMapKeyRef.Name)
			}
		}
		for _, from := range container.EnvFrom {
			if from.SecretRef != nil {
				secrets = append(secrets, from.SecretRef.Name)
			}
			if from.ConfigMapRef != nil {
				configMaps = append(configMaps, from.ConfigMapRef.Name)
			}
		}
	}
	for _, volume := range pod.Volumes {
		if volume.Secret != nil {
			secrets = append(secrets, volume.Secret.SecretName)
		}
		if volume.ConfigMap != nil {
			configMaps = append(configMaps, volume.ConfigMap.Name)
		}
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.Secret != nil {
				secrets = append(secrets, source.Secret.Name)
			}
			if source.ConfigMap != nil {
				configMaps = append(configMaps, source.ConfigMap.Name)
			}
		}
	}
	slices.Sort(secrets)
	slices.Sort(configMaps)
	return slices.Compact(secrets), slices.Compact(configMaps)
}
