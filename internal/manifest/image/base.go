package image

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

var (
	tag     = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
	version = regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`)
)

// BaseImage returns the image of a Kubetorch base: "debian", "ubuntu",
// "python3.12", "ray" or "pytorch", optionally with a tag after a colon.
func BaseImage(base string) (string, error) {
	name, chosen, hasTag := strings.Cut(base, ":")
	if hasTag && !tag.MatchString(chosen) {
		return "", fmt.Errorf("has %q after the colon, which is not a valid image tag: use a tag as in ray:2.40.0",
			chosen)
	}
	known := map[string]struct{ repository, tag string }{
		"debian":  {"ghcr.io/run-house/server", "v3"},
		"ubuntu":  {"ghcr.io/run-house/ubuntu", "v1"},
		"ray":     {"rayproject/ray", "latest"},
		"pytorch": {"nvcr.io/nvidia/pytorch", "23.12-py3"},
	}
	if image, ok := known[name]; ok {
		return image.repository + ":" + cmp.Or(chosen, image.tag), nil
	}
	python, isPython := strings.CutPrefix(name, "python")
	if isPython && python == "" {
		python, hasTag = chosen, false
	}
	switch {
	case isPython && version.MatchString(python) && !hasTag:
		return "python:" + python + "-slim", nil
	case isPython:
		return "", fmt.Errorf("is %q, which is not a Python version: use a version such as python3.12, or set image_id",
			base)
	default:
		return "", fmt.Errorf("is %q, but must be debian, ubuntu, python3.12 or another version, ray or pytorch, "+
			"with or without a tag after a colon: for any other image, set image_id", base)
	}
}
