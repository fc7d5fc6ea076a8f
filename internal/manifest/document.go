package manifest

import (
	"errors"
	"fmt"
	"strings"

	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// ParseDocument decodes one object from YAML or JSON. Duplicate fields are an
// error, as in kubectl. Integers become int64.
func ParseDocument(text string) (map[string]any, error) {
	if documents(text) > 1 {
		return nil, errors.New("contains more than one YAML document, but a compute is one workload: use separate " +
			"resources for the others")
	}
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("is not valid YAML: %w", err)
	}
	var content any
	if err := k8sjson.Unmarshal(asJSON, &content); err != nil {
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	object, ok := content.(map[string]any)
	if !ok {
		return nil, errors.New("contains no object: specify a manifest with apiVersion, kind and spec")
	}
	return object, nil
}

// documents returns the number of documents of a YAML stream that are not empty.
func documents(text string) int {
	count, empty := 0, true
	for line := range strings.Lines(text) {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(line, "---"):
			empty = true
		case trimmed != "" && !strings.HasPrefix(trimmed, "#") && empty:
			count++
			empty = false
		}
	}
	return count
}
