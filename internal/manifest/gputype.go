package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// NodeLabel is a label that nodes must have. The zero value selects any node.
type NodeLabel struct{ Key, Value string }

// ParseGPUType returns the label of the nodes with the requested GPUs: "L4" is a value of productLabel, or of
// nvidia.com/gpu.product if that is empty. "key: value", with or without spaces around the colon, is any label. An
// error is a sentence without its subject ("is empty …").
func ParseGPUType(s, productLabel string) (NodeLabel, error) {
	if strings.TrimSpace(s) == "" {
		return NodeLabel{}, errors.New(`is empty: set a product such as "L4", or a node label as "key: value"`)
	}
	key, value := cmp.Or(productLabel, kind.GPUProductLabel), strings.TrimSpace(s)
	if before, after, ok := strings.Cut(s, ":"); ok {
		key, value = strings.TrimSpace(before), strings.TrimSpace(after)
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return NodeLabel{}, fmt.Errorf("is %q, but %q is not the key of a label: %s", s, key, problems[0])
	}
	if value == "" {
		return NodeLabel{}, fmt.Errorf("is %q, which contains the label %s without a value: use the form \"key: "+
			"value\"", s, key)
	}
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		if dashed := strings.Join(strings.Fields(value), "-"); dashed != value &&
			len(validation.IsValidLabelValue(dashed)) == 0 {
			return NodeLabel{}, fmt.Errorf("is %q, but the value of a label has no spaces: did you mean %q?", s, dashed)
		}
		return NodeLabel{}, fmt.Errorf("is %q, but %q is not the value of a label: %s", s, value, problems[0])
	}
	return NodeLabel{key, value}, nil
}
