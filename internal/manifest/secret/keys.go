package secret

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Home is the home directory in the container.
const Home = "/root"

// Key returns the key for a file: its name, with a dash instead of each character that Kubernetes does not allow in
// a key.
func Key(file string) (string, error) {
	key := notInKey.ReplaceAllString(file, "-")
	return key, CheckKey(key)
}

var notInKey = regexp.MustCompile(`[^-_.0-9a-zA-Z]`)

// Keys returns the file names by their keys. Two files with the same key are an error.
func Keys(files []string) (map[string]string, error) {
	out := map[string]string{}
	for _, file := range files {
		key, err := Key(file)
		if err != nil {
			return nil, fmt.Errorf("the file %q cannot become a key of a Secret: %w", file, err)
		}
		switch other, exists := out[key]; {
		case exists && other == file:
			return nil, fmt.Errorf("the file %q is listed twice", file)
		case exists:
			return nil, fmt.Errorf("the files %q and %q would both become the key %q: rename one, or select files "+
				"with filenames", other, file, key)
		}
		out[key] = file
	}
	return out, nil
}

// CheckKey returns an error if a key of a Secret is invalid.
func CheckKey(key string) error {
	switch problems := validation.IsConfigMapKey(key); {
	case len(problems) == 0:
		return nil
	case key == "":
		return errors.New("a key is empty")
	case strings.HasPrefix(key, ".."):
		return fmt.Errorf("the key %q starts with two dots, which Kubernetes reserves", key)
	default:
		return fmt.Errorf("the key %q must have at most %d letters, digits, dashes, underscores and dots", key,
			validation.DNS1123SubdomainMaxLength)
	}
}

// CheckEnvVars returns an error if a key is not a valid name of an environment variable.
func CheckEnvVars(keys []string) error {
	for _, key := range keys {
		if len(validation.IsEnvVarName(key)) > 0 {
			return fmt.Errorf("the key %q is not a valid name of an environment variable: start it with a letter or "+
				"underscore, or set mount_path to mount the keys as files", key)
		}
	}
	return nil
}

// CheckSize returns an error if values with the given sizes, by key or file name, exceed the size limit of a Secret.
func CheckSize(sizes map[string]int) error {
	total := 0
	for _, size := range sizes {
		total += size
	}
	if total <= corev1.MaxSecretSize {
		return nil
	}
	largest := slices.MaxFunc(slices.Sorted(maps.Keys(sizes)), func(a, b string) int {
		return cmp.Compare(sizes[a], sizes[b])
	})
	return fmt.Errorf("the values have %d bytes in total, but a Secret can contain at most %d (1 MiB). The largest "+
		"is %s with %d bytes. Select files with filenames, or use a "+
		"kt_volume", total, corev1.MaxSecretSize, largest, sizes[largest])
}

// SourceDir returns the directory where the files of a source are mounted: the same path as on the machine that runs
// Terraform. A path in the home directory starts with ~ in the result.
func SourceDir(dir, home string) (string, error) {
	switch rest, below := strings.CutPrefix(dir, strings.TrimSuffix(home, "/")+"/"); {
	case strings.HasPrefix(dir, "~/"):
		dir = "~/" + strings.TrimPrefix(path.Clean(dir[1:]), "/")
	case home != "" && below:
		dir = "~/" + path.Clean(rest)
	case dir == "~", home != "" && path.Clean(dir) == path.Clean(home):
		dir = "~"
	case !path.IsAbs(dir):
		return "", fmt.Errorf("%q is relative to the current directory and does not determine the path in the "+
			"container: set mount_path", dir)
	default:
		dir = path.Clean(dir)
	}
	if MountPath(dir) == Home || dir == "~/" || dir == "/" {
		return "", fmt.Errorf("the files would hide the content of %s in the container: set mount_path",
			strings.TrimSuffix(MountPath(dir), "/"))
	}
	return dir, nil
}

// MountPath returns the path in the container at which a directory of SourceDir is mounted.
func MountPath(sourceDir string) string {
	if rest, ok := strings.CutPrefix(sourceDir, "~"); ok {
		return Home + rest
	}
	return sourceDir
}
