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
	sharedMemoryVolume = "dshm"
	sharedMemoryPath   = "/dev/shm"
	secretVolumePrefix = "secrets-"
	imageVolume        = "image-setup"
	imagePath          = "/etc/kubetorch/image"
)

// volumesAndMounts returns the shared memory, the mounted secrets, the claims and the
// setup of the image, in this order. A secret or claim that is mounted twice has one
// volume, unless the modes of the secret differ.
func volumesAndMounts(c Compute) ([]*corev1ac.VolumeApplyConfiguration, []*corev1ac.VolumeMountApplyConfiguration) {
	volumes := []*corev1ac.VolumeApplyConfiguration{sharedMemory(c)}
	mounts := []*corev1ac.VolumeMountApplyConfiguration{mount(sharedMemoryVolume, sharedMemoryPath, false)}
	seen := map[string]bool{}
	add := func(name, path string, readOnly bool, volume func() *corev1ac.VolumeApplyConfiguration) {
		if !seen[name] {
			seen[name] = true
			volumes = append(volumes, volume().WithName(name))
		}
		mounts = append(mounts, mount(name, path, readOnly))
	}
	for _, s := range c.Secrets {
		if s.MountPath != "" {
			add(secretVolumeOf(c.Secrets, s), s.MountPath, true, func() *corev1ac.VolumeApplyConfiguration {
				return corev1ac.Volume().WithSecret(secretSource(s))
			})
		}
	}
	for _, v := range c.Volumes {
		add(claimVolumeName(v.ClaimName), v.MountPath, v.ReadOnly, func() *corev1ac.VolumeApplyConfiguration {
			return corev1ac.Volume().WithPersistentVolumeClaim(claim(c, v.ClaimName))
		})
	}
	if c.ImageSetup != nil {
		add(imageVolume, imagePath, true, func() *corev1ac.VolumeApplyConfiguration {
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

// claim returns the source of a volume, which is read-only if all of its mounts are.
func claim(c Compute, name string) *corev1ac.PersistentVolumeClaimVolumeSourceApplyConfiguration {
	source := corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(name)
	for _, v := range c.Volumes {
		if v.ClaimName == name && !v.ReadOnly {
			return source
		}
	}
	return source.WithReadOnly(true)
}

func mount(volume, path string, readOnly bool) *corev1ac.VolumeMountApplyConfiguration {
	m := corev1ac.VolumeMount().WithName(volume).WithMountPath(path)
	if readOnly {
		m.WithReadOnly(true)
	}
	return m
}

func secretVolumeName(secret string) string {
	name := secretVolumePrefix + secret
	if isVolumeName(name) {
		return name
	}
	return hashedVolumeName(name, "secret/"+secret)
}

// claimVolumeName returns the name of the claim, as in Kubetorch, unless another
// volume could have this name.
func claimVolumeName(claim string) string {
	if isVolumeName(claim) && claim != sharedMemoryVolume && claim != imageVolume &&
		!strings.HasPrefix(claim, secretVolumePrefix) {
		return claim
	}
	return hashedVolumeName(claim, "claim/"+claim)
}

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
		case volume.Secret != nil:
			secret := secretNamed(c, volume.Secret.SecretName)
			if secret.MountPath != "" { // mounted twice
				c.Secrets = append(c.Secrets, SecretRef{Name: secret.Name})
				secret = &c.Secrets[len(c.Secrets)-1]
			}
			secret.MountPath, secret.DefaultMode = mount.MountPath, volume.Secret.DefaultMode
		case volume.PersistentVolumeClaim != nil:
			c.Volumes = append(c.Volumes, VolumeRef{
				ClaimName: volume.PersistentVolumeClaim.ClaimName, MountPath: mount.MountPath, ReadOnly: mount.ReadOnly,
			})
		}
	}
}

func secretNamed(c *Compute, name string) *SecretRef {
	i := slices.IndexFunc(c.Secrets, func(s SecretRef) bool { return s.Name == name })
	if i < 0 {
		i, c.Secrets = len(c.Secrets), append(c.Secrets, SecretRef{Name: name})
	}
	return &c.Secrets[i]
}
