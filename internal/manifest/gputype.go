package manifest

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// gpuProductLabel is the node label that NVIDIA's feature discovery sets to the
// product name of the node's GPUs.
const gpuProductLabel = kind.GPUProductLabel

// ParseGPUType reads which nodes have the GPUs that are wanted, as one node
// label: "L4" is the value of nvidia.com/gpu.product; "key: value", with or
// without spaces around the colon, is any label. An error is a sentence without
// its subject ("is empty …").
func ParseGPUType(s string) (key, value string, err error) {
	if strings.TrimSpace(s) == "" {
		return "", "", errors.New(`is empty: set a product such as "L4", or a node label as "key: value"`)
	}
	key, value = gpuProductLabel, strings.TrimSpace(s)
	if before, after, ok := strings.Cut(s, ":"); ok {
		key, value = strings.TrimSpace(before), strings.TrimSpace(after)
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return "", "", fmt.Errorf("is %q, but %q is not the key of a label: %s", s, key, problems[0])
	}
	if value == "" {
		return "", "", fmt.Errorf("is %q, which contains the label %s without a value: use the form \"key: "+
			"value\"", s, key)
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		if dashed := strings.Join(strings.Fields(value), "-"); dashed != value &&
			len(validation.IsValidLabelValue(dashed)) == 0 {
			return "", "", fmt.Errorf("is %q, but the value of a label has no spaces: did you mean %q?", s, dashed)
		}
		return "", "", fmt.Errorf("is %q, but %q is not the value of a label: %s", s, value, problems[0])
	}
	return key, value, nil
}
