package manifest

import (
	"fmt"
	"regexp"
	"strconv"
)

// fileMode are the permission bits of files, as the attributes default_mode and Kubernetes' YAML have them.
var fileMode = regexp.MustCompile(`^0[0-7]{3}$`)

// ParseFileMode reads permission bits from four octal digits, "0000" to "0777": what the API server takes as
// defaultMode.
func ParseFileMode(text string) (int32, error) {
	if !fileMode.MatchString(text) {
		return 0, fmt.Errorf("is %q, but must be four octal digits from 0000 to 0777, such as 0400", text)
	}
	mode, err := strconv.ParseInt(text, 8, 32)
	return int32(mode), err
}

// FileModeText is the inverse of [ParseFileMode].
func FileModeText(mode int32) string { return fmt.Sprintf("%04o", mode) }

// secretVolumeOf is the name of the volume that a mounted item of secrets is read from. Items of one Secret share it,
// but for one with another mode than the first: defaultMode belongs to the volume.
func secretVolumeOf(secrets []SecretRef, item SecretRef) string {
	name := secretVolumeName(item.Name)
	for _, other := range secrets {
		if other.Name != item.Name || other.MountPath == "" {
			continue
		}
		if mode := modeOrNone(item); mode != modeOrNone(other) {
			return hashedVolumeName(name, "secret/"+item.Name+"@"+mode)
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
