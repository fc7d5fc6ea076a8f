package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// tokenVolumePrefix is the prefix of the volume that service account admission adds to each pod.
// controller-manager creates its ConfigMap in each namespace, so it is not checked.
const tokenVolumePrefix = "kube-api-access-"

// Objects reads objects that pods refer to. A nil result means that the object does not exist.
type Objects interface {
	Secret(namespace, name string) (*corev1.Secret, error)
	ConfigMap(namespace, name string) (*corev1.ConfigMap, error)
}

// Handles reports whether this package simulates a pod: a container has a broken image, or the
// pod refers to Secrets or ConfigMaps. KWOK simulates all others (the selector of its pod-ready stage).
func Handles(pod *corev1.Pod) bool {
	for _, container := range allContainers(pod) {
		if strings.HasPrefix(container.Image, brokenPrefix) {
			return true
		}
		for _, from := range container.EnvFrom {
			if from.SecretRef != nil || from.ConfigMapRef != nil {
				return true
			}
		}
		for _, env := range container.Env {
			if env.ValueFrom != nil && (env.ValueFrom.SecretKeyRef != nil || env.ValueFrom.ConfigMapKeyRef != nil) {
				return true
			}
		}
	}
	for _, volume := range pod.Spec.Volumes {
		if len(volumeRefs(volume)) > 0 {
			return true
		}
	}
	return false
}

func allContainers(pod *corev1.Pod) []corev1.Container {
	return append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
}

// missingForEnv returns the message for a container that cannot be created because its environment
// refers to a missing object, or "" if all objects exist.
func missingForEnv(namespace string, container corev1.Container, objects Objects) (string, error) {
	var refs []ref
	// envFrom is evaluated before env, in order. Only the first problem is reported.
	for _, from := range container.EnvFrom {
		switch {
		case from.ConfigMapRef != nil:
			refs = append(refs, ref{kind: configMapKind, name: from.ConfigMapRef.Name,
				optional: isTrue(from.ConfigMapRef.Optional)})
		case from.SecretRef != nil:
			refs = append(refs, ref{kind: secretKind, name: from.SecretRef.Name,
				optional: isTrue(from.SecretRef.Optional)})
		}
	}
	for _, env := range container.Env {
		switch from := env.ValueFrom; {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			key := from.ConfigMapKeyRef
			refs = append(refs, ref{kind: configMapKind, name: key.Name, keys: []string{key.Key},
				optional: isTrue(key.Optional)})
		case from.SecretKeyRef != nil:
			key := from.SecretKeyRef
			refs = append(refs, ref{kind: secretKind, name: key.Name, keys: []string{key.Key},
				optional: isTrue(key.Optional)})
		}
	}
	for _, r := range refs {
		found, missing, err := r.check(namespace, objects)
		switch {
		case err != nil:
			return "", err
		case r.optional:
		case !found:
			return fmt.Sprintf("%s %q not found", r.kind, r.name), nil
		case missing != "" && r.kind == secretKind:
			return fmt.Sprintf("couldn't find key %s in Secret %s/%s", missing, namespace, r.name), nil
		case missing != "":
			return fmt.Sprintf("couldn't find key %s in ConfigMap %s/%s", missing, namespace, r.name), nil
		}
	}
	return "", nil
}

// missingForVolumes returns the messages for volumes of the pod that cannot be mounted.
func missingForVolumes(pod *corev1.Pod, objects Objects) ([]string, error) {
	var messages []string
	for _, volume := range pod.Spec.Volumes {
		for _, r := range volumeRefs(volume) {
			found, missing, err := r.check(pod.Namespace, objects)
			if err != nil {
				return nil, err
			}
			problem := ""
			switch {
			case r.optional:
			case !found:
				problem = fmt.Sprintf("%s %q not found", r.kind, r.name)
			case missing != "" && r.kind == secretKind:
				problem = "references non-existent secret key: " + missing
			case missing != "":
				problem = "configmap references non-existent config key: " + missing
			}
			if problem != "" {
				messages = append(messages, fmt.Sprintf("MountVolume.SetUp failed for volume %q : %s", volume.Name,
					problem))
				break
			}
		}
	}
	return messages, nil
}

func volumeRefs(volume corev1.Volume) []ref {
	if source := volume.Secret; source != nil {
		return []ref{{kind: secretKind, name: source.SecretName, keys: itemKeys(source.Items),
			optional: isTrue(source.Optional)}}
	}
	if source := volume.ConfigMap; source != nil {
		return []ref{{kind: configMapKind, name: source.Name, keys: itemKeys(source.Items),
			optional: isTrue(source.Optional)}}
	}
	if volume.Projected == nil || strings.HasPrefix(volume.Name, tokenVolumePrefix) {
		return nil
	}
	var refs []ref
	for _, projection := range volume.Projected.Sources {
		if source := projection.Secret; source != nil {
			refs = append(refs, ref{kind: secretKind, name: source.Name, keys: itemKeys(source.Items),
				optional: isTrue(source.Optional)})
		}
		if source := projection.ConfigMap; source != nil {
			refs = append(refs, ref{kind: configMapKind, name: source.Name, keys: itemKeys(source.Items),
				optional: isTrue(source.Optional)})
		}
	}
	return refs
}

// refKind is the kind of an object in the spelling of the kubelet's "not found" messages.
type refKind string

const (
	secretKind    refKind = "secret"
	configMapKind refKind = "configmap"
)

// ref is a reference of a pod to an object of its namespace and to keys in it.
type ref struct {
	kind     refKind
	name     string
	keys     []string
	optional bool
}

// check reports whether the object exists, and returns the first missing key, if any.
func (r ref) check(namespace string, objects Objects) (found bool, missing string, err error) {
	var has func(key string) bool
	if r.kind == secretKind {
		secret, err := objects.Secret(namespace, r.name)
		if err != nil || secret == nil {
			return false, "", err
		}
		has = func(key string) bool { _, ok := secret.Data[key]; return ok }
	} else {
		configMap, err := objects.ConfigMap(namespace, r.name)
		if err != nil || configMap == nil {
			return false, "", err
		}
		has = func(key string) bool {
			_, text := configMap.Data[key]
			_, binary := configMap.BinaryData[key]
			return text || binary
		}
	}
	for _, key := range r.keys {
		if !has(key) {
			return true, key, nil
		}
	}
	return true, "", nil
}

func itemKeys(items []corev1.KeyToPath) []string {
	keys := make([]string, 0, len(items))
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}

func isTrue(b *bool) bool { return b != nil && *b }
