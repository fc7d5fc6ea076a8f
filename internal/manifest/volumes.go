package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

const (
	sharedMemoryVolume    = "dshm"
	sharedMemoryPath      = "/dev/shm"
	secretVolumePrefix    = "secrets-"
	configMapVolumePrefix = "configmaps-"
	imageVolume           = "image-setup"
	imagePath             = "/etc/kubetorch/image"
)

// volumesAndMounts returns the shared memory, the mounted secrets and ConfigMaps, the
// volumes of the user and the setup of the image, in this order. An object that is mounted
// twice has one volume, unless the modes of its files differ.
func volumesAndMounts(c Compute) ([]*corev1ac.VolumeApplyConfiguration, []*corev1ac.VolumeMountApplyConfiguration) {
	volumes := []*corev1ac.VolumeApplyConfiguration{sharedMemory(c)}
	mounts := []*corev1ac.VolumeMountApplyConfiguration{mount(sharedMemoryVolume, sharedMemoryPath, false)}
	seen := map[string]bool{}
	add := func(m *corev1ac.VolumeMountApplyConfiguration, volume func() *corev1ac.VolumeApplyConfiguration) {
		if name := *m.Name; !seen[name] {
			seen[name] = true
			volumes = append(volumes, volume().WithName(name))
		}
		mounts = append(mounts, m)
	}
	for _, s := range c.Secrets {
		if s.MountPath != "" {
			name := keysVolumeOf(secretVolumePrefix, c.Secrets, s)
			add(mount(name, s.MountPath, true), func() *corev1ac.VolumeApplyConfiguration {
				return corev1ac.Volume().WithSecret(secretSource(s))
			})
		}
	}
	for _, m := range c.ConfigMaps {
		if m.MountPath != "" {
			name := keysVolumeOf(configMapVolumePrefix, c.ConfigMaps, m)
			add(mount(name, m.MountPath, true), func() *corev1ac.VolumeApplyConfiguration {
				return corev1ac.Volume().WithConfigMap(configMapSource(m))
			})
		}
	}
	for _, v := range c.Volumes {
		add(v.mount(v.volumeName()), func() *corev1ac.VolumeApplyConfiguration { return v.source(c) })
	}
	if c.ImageSetup != nil {
		add(mount(imageVolume, imagePath, true), func() *corev1ac.VolumeApplyConfiguration {
			return corev1ac.Volume().WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(c.ImageSetup.ConfigMap))
		})
	}
	return volumes, mounts
}

func sharedMemory(c Compute) *corev1ac.VolumeApplyConfiguration {
	memory := corev1ac.EmptyDirVolumeSource().WithMedium(corev1.StorageMediumMemory)
	if c.SharedMemoryLimit != nil {
		memory.WithSizeLimit(c.SharedMemoryLimit.DeepCopy())
	}
	return corev1ac.Volume().WithName(sharedMemoryVolume).WithEmptyDir(memory)
}

func secretSource(s SecretRef) *corev1ac.SecretVolumeSourceApplyConfiguration {
	source := corev1ac.SecretVolumeSource().WithSecretName(s.Name)
	source.DefaultMode = s.DefaultMode
	return source
}

func configMapSource(m ConfigMapRef) *corev1ac.ConfigMapVolumeSourceApplyConfiguration {
	source := corev1ac.ConfigMapVolumeSource().WithName(m.Name)
	source.DefaultMode = m.DefaultMode
	return source
}

func mount(volume, path string, readOnly bool) *corev1ac.VolumeMountApplyConfiguration {
	m := corev1ac.VolumeMount().WithName(volume).WithMountPath(path)
	if readOnly {
		m.WithReadOnly(true)
	}
	return m
}

// keysVolumeOf returns the name of the volume for a mounted item of secrets or config_maps. Items of one object share
// a volume if they have the same mode, which is a field of the volume.
func keysVolumeOf(prefix string, refs []SecretRef, item SecretRef) string {
	name := keysVolumeName(prefix, item.Name)
	for _, other := range refs {
		if other.Name != item.Name || other.MountPath == "" {
			continue
		}
		if mode := modeOrNone(item); mode != modeOrNone(other) {
			return hashedVolumeName(name, keysSource(prefix, item.Name)+"@"+mode)
		}
		return name
	}
	return name
}

func modeOrNone(s SecretRef) string {
	if s.DefaultMode == nil {
		return "none"
	}
	return FileModeText(*s.DefaultMode)
}

func keysVolumeName(prefix, object string) string {
	if name := prefix + object; isVolumeName(name) {
		return name
	}
	return hashedVolumeName(prefix+object, keysSource(prefix, object))
}

func keysSource(prefix, object string) string { return strings.TrimSuffix(prefix, "s-") + "/" + object }

func isVolumeName(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }

// hashedVolumeName converts a name to a DNS label. Names of secrets and claims can be
// longer and contain dots. The hash of the source makes the label unique, and the same
// in every plan.
func hashedVolumeName(name, source string) string {
	sum := sha256.Sum256([]byte(source))
	hash := hex.EncodeToString(sum[:4])
	label := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
	label = label[:min(len(label), validation.DNS1123LabelMaxLength-len(hash)-1)]
	return strings.Trim(label+"-"+hash, "-")
}

// observeMounts is the inverse of volumesAndMounts.
func observeMounts(c *Compute, container corev1.Container, template corev1.PodTemplateSpec) {
	volumes := template.Spec.Volumes
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			continue
		}
		switch volume := volumes[i]; {
		case volume.Name == sharedMemoryVolume && volume.EmptyDir != nil:
			c.SharedMemoryLimit = volume.EmptyDir.SizeLimit
		case volume.Name == imageVolume && volume.ConfigMap != nil:
			c.ImageSetup = &ImageSetup{ConfigMap: volume.ConfigMap.Name,
				Digest: template.Annotations[kind.ImageDigestAnnotation]}
		case volume.Secret != nil && strings.HasPrefix(volume.Name, secretVolumePrefix):
			addMount(&c.Secrets, volume.Secret.SecretName, mount.MountPath, volume.Secret.DefaultMode)
		case volume.ConfigMap != nil && strings.HasPrefix(volume.Name, configMapVolumePrefix):
			addMount(&c.ConfigMaps, volume.ConfigMap.Name, mount.MountPath, volume.ConfigMap.DefaultMode)
		default:
			observeVolume(c, volume, mount)
		}
	}
}
