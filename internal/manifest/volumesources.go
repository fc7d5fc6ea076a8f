package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// VolumeRef mounts a volume into the pods. Exactly one of its sources is set.
type VolumeRef struct {
	Name string // of the volume in the pod, for mounts of other containers; empty: derived from the source

	ClaimName, ConfigMap, Secret string // names of objects of the same namespace

	EmptyDir *corev1.EmptyDirVolumeSource
	HostPath *corev1.HostPathVolumeSource
	Image    *corev1.ImageVolumeSource

	MountPath string // absolute
	SubPath   string // path in the volume that is mounted; empty: its root
	ReadOnly  bool
}

// volumeName returns the name of the volume. For a claim, it is that of the claim, as in Kubetorch, unless another
// volume could have this name. For another source, it is derived from the path, so that each item has its own volume.
func (v VolumeRef) volumeName() string {
	switch {
	case v.Name != "":
		return v.Name
	case v.ClaimName == "":
		return hashedVolumeName("volume"+v.MountPath, "volume"+v.MountPath)
	case isVolumeName(v.ClaimName) && !isReservedVolume(v.ClaimName):
		return v.ClaimName
	default:
		return hashedVolumeName(v.ClaimName, "claim/"+v.ClaimName)
	}
}

// isReservedVolume reports whether a volume that no item of volumes describes can have a name.
func isReservedVolume(name string) bool {
	return name == sharedMemoryVolume || name == imageVolume || strings.HasPrefix(name, secretVolumePrefix) ||
		strings.HasPrefix(name, configMapVolumePrefix)
}

// source returns the source of the volume of a compute.
func (v VolumeRef) source(c Compute) corev1.VolumeSource {
	switch {
	case v.ConfigMap != "":
		return configMapSource(ConfigMapRef{Name: v.ConfigMap})
	case v.Secret != "":
		return secretSource(SecretRef{Name: v.Secret})
	case v.ClaimName != "":
		return v.claimSource(c)
	default:
		return corev1.VolumeSource{EmptyDir: v.EmptyDir, HostPath: v.HostPath, Image: v.Image}
	}
}

// claimSource returns the source of a claim, which is read-only if all of its mounts are.
func (v VolumeRef) claimSource(c Compute) corev1.VolumeSource {
	written := slices.ContainsFunc(c.Volumes, func(other VolumeRef) bool {
		return other.volumeName() == v.volumeName() && !other.ReadOnly
	})
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
		ClaimName: v.ClaimName, ReadOnly: !written && !c.othersWrite(v.volumeName()),
	}}
}

// observeVolume is the inverse of source and its mount. It ignores volumes with other sources.
func observeVolume(c *Compute, volume corev1.Volume, mount corev1.VolumeMount) {
	seen := VolumeRef{EmptyDir: volume.EmptyDir, HostPath: volume.HostPath, Image: volume.Image,
		MountPath: mount.MountPath, SubPath: mount.SubPath, ReadOnly: mount.ReadOnly}
	switch {
	case volume.PersistentVolumeClaim != nil:
		seen.ClaimName = volume.PersistentVolumeClaim.ClaimName
	case volume.ConfigMap != nil:
		seen.ConfigMap = volume.ConfigMap.Name
	case volume.Secret != nil:
		seen.Secret = volume.Secret.SecretName
	case seen.EmptyDir == nil && seen.HostPath == nil && seen.Image == nil:
		return
	}
	if seen.volumeName() != volume.Name {
		seen.Name = volume.Name
	}
	c.Volumes = append(c.Volumes, seen)
}

// validateVolumes rejects items without exactly one source, and volumes of one name with different sources.
func validateVolumes(c Compute, errs *Errors) {
	named := map[string]int{}
	for i, v := range c.Volumes {
		at := At("volumes", Index(i))
		name := at.At(Name("name"))
		if !errs.exactlyOne(at, choice{"claim_name", v.ClaimName != ""}, choice{"config_map", v.ConfigMap != ""},
			choice{"secret", v.Secret != ""}, choice{"empty_dir", v.EmptyDir != nil},
			choice{"host_path", v.HostPath != nil}, choice{"image", v.Image != nil}) {
			(*errs)[len(*errs)-1].Detail += " The attribute ref of a kt_volume contains its claim_name."
		}
		if isReservedVolume(v.Name) {
			errs.report(name, "Reserved name", "%s is %q, which the provider uses for its own volumes: use another "+
				"name.", name, v.Name)
		}
		if other, taken := named[v.volumeName()]; taken && !sameSource(v, c.Volumes[other]) {
			errs.report(at, "Duplicate name", "%s and volumes[%d] have the same name, %s, but different sources: set "+
				"name to another one.", at, other, v.volumeName()).
				Concerning(append(identityOfVolume(at), identityOfVolume(At("volumes", Index(other)))...)...)
		}
		named[v.volumeName()] = i
	}
}

// identityOfVolume returns the attributes that determine the name and the source of a volume.
func identityOfVolume(at Path) []Path {
	var all []Path
	for _, attribute := range []Name{
		"name", "mount_path", "claim_name", "config_map", "secret", "empty_dir", "host_path", "image",
	} {
		all = append(all, at.At(attribute))
	}
	return all
}

func sameSource(a, b VolumeRef) bool {
	a.Name, a.MountPath, a.SubPath, a.ReadOnly = b.Name, b.MountPath, b.SubPath, b.ReadOnly
	return equality.Semantic.DeepEqual(a, b)
}

// fileMode matches the permission bits of files in the notation of default_mode.
var fileMode = regexp.MustCompile(`^0[0-7]{3}$`)

// ParseFileMode parses permission bits of four octal digits, "0000" to "0777", the values that the API server accepts
// as defaultMode.
func ParseFileMode(text string) (int32, error) {
	if !fileMode.MatchString(text) {
		return 0, fmt.Errorf("is %q, but must be four octal digits from 0000 to 0777, such as 0400", text)
	}
	mode, err := strconv.ParseInt(text, 8, 32)
	return int32(mode), err
}

// FileModeText is the inverse of [ParseFileMode].
func FileModeText(mode int32) string { return fmt.Sprintf("%04o", mode) }
