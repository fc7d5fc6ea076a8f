package ready

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// References returns the names of the Secrets and ConfigMaps that the environment and the volumes of the containers of
// a pod use, each sorted.
func References(pod *corev1.PodSpec) (secrets, configMaps []string) {
	var names references
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, variable := range container.Env {
			names.addVariable(variable)
		}
		for _, from := range container.EnvFrom {
			if from.SecretRef != nil {
				names.secrets = append(names.secrets, from.SecretRef.Name)
			}
			if from.ConfigMapRef != nil {
				names.configMaps = append(names.configMaps, from.ConfigMapRef.Name)
			}
		}
	}
	for _, volume := range pod.Volumes {
		names.addVolume(volume)
	}
	slices.Sort(names.secrets)
	slices.Sort(names.configMaps)
	return slices.Compact(names.secrets), slices.Compact(names.configMaps)
}

type references struct{ secrets, configMaps []string }

func (r *references) addVariable(variable corev1.EnvVar) {
	from := variable.ValueFrom
	if from != nil && from.SecretKeyRef != nil {
		r.secrets = append(r.secrets, from.SecretKeyRef.Name)
	}
	if from != nil && from.ConfigMapKeyRef != nil {
		r.configMaps = append(r.configMaps, from.ConfigMapKeyRef.Name)
	}
}

func (r *references) addVolume(volume corev1.Volume) {
	if volume.Secret != nil {
		r.secrets = append(r.secrets, volume.Secret.SecretName)
	}
	if volume.ConfigMap != nil {
		r.configMaps = append(r.configMaps, volume.ConfigMap.Name)
	}
	if volume.Projected == nil {
		return
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			r.secrets = append(r.secrets, source.Secret.Name)
		}
		if source.ConfigMap != nil {
			r.configMaps = append(r.configMaps, source.ConfigMap.Name)
		}
	}
}
