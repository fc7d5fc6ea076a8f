package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
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
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	var content any
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	object, ok := integers(content).(map[string]any)
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

// integers replaces the numbers in a value with int64, or float64 if they have a fraction.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = integers(value[key])
		}
		return value
	case []any:
		for i := range value {
			value[i] = integers(value[i])
		}
		return value
	default:
		return kind.Number(value)
	}
}
