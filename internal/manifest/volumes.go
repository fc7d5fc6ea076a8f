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
func volumesAndMounts(c Compute) ([]corev1.Volume, []*corev1ac.VolumeMountApplyConfiguration) {
	var volumes []corev1.Volume
	var mounts []*corev1ac.VolumeMountApplyConfiguration
	seen := map[string]bool{}
	add := func(m *corev1ac.VolumeMountApplyConfiguration, source corev1.VolumeSource) {
		if name := *m.Name; !seen[name] {
			seen[name] = true
			volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		}
		mounts = append(mounts, m)
	}
	addKeys := func(prefix string, refs []SecretRef, source func(SecretRef) corev1.VolumeSource) {
		for _, ref := range refs {
			if ref.MountPath != "" {
				add(mount(keysVolumeOf(prefix, refs, ref), ref.MountPath, true), source(ref))
			}
		}
	}
	add(mount(sharedMemoryVolume, sharedMemoryPath, false), corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: c.SharedMemoryLimit,
	}})
	addKeys(secretVolumePrefix, c.Secrets, secretSource)
	addKeys(configMapVolumePrefix, c.ConfigMaps, configMapSource)
	for _, v := range c.Volumes {
		add(mount(v.volumeName(), v.MountPath, v.ReadOnly).WithSubPath(v.SubPath), v.source(c))
	}
	if c.ImageSetup != nil {
		add(mount(imageVolume, imagePath, true), configMapSource(ConfigMapRef{Name: c.ImageSetup.ConfigMap}))
	}
	return volumes, mounts
}

func secretSource(s SecretRef) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s.Name, DefaultMode: s.DefaultMode}}
}

func configMapSource(m ConfigMapRef) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: m.Name}, DefaultMode: m.DefaultMode,
	}}
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
