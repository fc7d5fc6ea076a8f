package secret

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Home is the home folder in the container.
const Home = "/root"

// Key is the key that a file becomes: its name, with each character that
// Kubernetes does not take in a key replaced by a dash.
func Key(file string) (string, error) {
	key := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, file)
	return key, CheckKey(key)
}

// Keys are the keys that files become, by key. Two files that would become the
// same key are an error.
func Keys(files []string) (map[string]string, error) {
	out := map[string]string{}
	for _, file := range files {
		key, err := Key(file)
		if err != nil {
			return nil, fmt.Errorf("the file %q cannot become a key of a Secret: %w", file, err)
		}
		switch other, taken := out[key]; {
		case taken && other == file:
			return nil, fmt.Errorf("the file %q is given twice", file)
		case taken:
			return nil, fmt.Errorf("the files %q and %q would both become the key %q: rename one, or choose files with filenames", other, file, key)
		}
		out[key] = file
	}
	return out, nil
}

// CheckKey says what is wrong with a key of a Secret.
func CheckKey(key string) error {
	switch broken := validation.IsConfigMapKey(key); {
	case len(broken) == 0:
		return nil
	case key == "":
		return errors.New("a key is empty")
	case strings.HasPrefix(key, ".."):
		return fmt.Errorf("the key %q begins with two dots, which Kubernetes keeps for itself", key)
	default:
		return fmt.Errorf("the key %q must be at most %d letters, digits, dashes, underscores and dots", key, validation.DNS1123SubdomainMaxLength)
	}
}

// CheckEnvVars says which keys cannot be environment variables.
func CheckEnvVars(keys []string) error {
	for _, key := range keys {
		if len(validation.IsEnvVarName(key)) > 0 {
			return fmt.Errorf("the key %q cannot be the name of an environment variable: begin it with a letter or underscore, or set mount_path to mount the keys as files", key)
		}
	}
	return nil
}

// CheckSize says whether the values are more than a Secret can hold.
func CheckSize(data map[string][]byte) error {
	total := 0
	for _, value := range data {
		total += len(value)
	}
	if total <= corev1.MaxSecretSize {
		return nil
	}
	largest := slices.MaxFunc(slices.Sorted(maps.Keys(data)), func(a, b string) int {
		return cmp.Compare(len(data[a]), len(data[b]))
	})
	return TooLargeError(total, largest, len(data[largest]))
}

// TooLargeError says that values of so many bytes do not fit into a Secret.
func TooLargeError(total int, largest string, size int) error {
	return fmt.Errorf("the values are %d bytes in all, but a Secret holds at most %d (1 MiB); the largest is %s with %d bytes. Choose files with filenames, or use a kt_volume",
		total, corev1.MaxSecretSize, largest, size)
}

// Folder is where a file source is mounted: the same place as on the machine
// that runs Terraform. A path in the home folder becomes one that begins with ~.
func Folder(dir, home string) (string, error) {
	switch rest, below := strings.CutPrefix(dir, strings.TrimSuffix(home, "/")+"/"); {
	case strings.HasPrefix(dir, "~/"):
		dir = "~/" + strings.TrimPrefix(path.Clean(dir[1:]), "/")
	case home != "" && below:
		dir = "~/" + path.Clean(rest)
	case dir == "~", home != "" && path.Clean(dir) == path.Clean(home):
		dir = "~"
	case !path.IsAbs(dir):
		return "", fmt.Errorf("%q is relative to the current folder, so it does not say where the container expects the files: set mount_path", dir)
	default:
		dir = path.Clean(dir)
	}
	if MountPath(dir) == Home || dir == "~/" || dir == "/" {
		return "", fmt.Errorf("the files would be mounted over all of %s in the container: set mount_path", strings.TrimSuffix(MountPath(dir), "/"))
	}
	return dir, nil
}

// MountPath is the place in the container that a folder of Folder is mounted at.
func MountPath(folder string) string {
	if rest, ok := strings.CutPrefix(folder, "~"); ok {
		return Home + rest
	}
	return folder
}
