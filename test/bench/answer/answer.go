// Package answer describes a resource that the provider has applied, from which the
// benchmark derives equal resources with other names: in state files that it writes, and
// in the responses of the echo provider.
package answer

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

const (
	// File is the environment variable of the echo provider with the path of the answers.
	File = "KT_BENCH_ANSWERS"
	// DriftEvery is the environment variable of the echo provider with a number n: a refresh of
	// every nth resource returns Drifted as the label Generation.
	DriftEvery = "KT_BENCH_DRIFT_EVERY"
	// Generation is the label whose value an update of all resources changes.
	Generation = "generation"
	// First, Second and Drifted are the values of the label Generation.
	First, Second, Drifted = "generation-first", "generation-second", "generation-drifted"
)

// Answer is a resource in state. Its name and namespace occur in no other text.
type Answer struct {
	Name, Namespace string
	Attributes      json.RawMessage
	Private         []byte
	// Unknown are the attributes that were unknown in the plan of the creation.
	Unknown []string
}

// Replacer replaces the name, the namespace and the generation of the answer.
func (a Answer) Replacer(name, namespace, generation string) *strings.Replacer {
	return strings.NewReplacer(a.Name, name, a.Namespace, namespace, First, generation)
}

// Write writes the answers by variant.
func Write(path string, answers map[string]Answer) error {
	data, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// Read reads the answers by variant. There are none without a path.
func Read(path string) (map[string]Answer, error) {
	answers := map[string]Answer{}
	if path == "" {
		return answers, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return answers, json.Unmarshal(data, &answers)
}

// Name returns the name of a resource.
func Name(variant string, index int) string { return fmt.Sprintf("%s-%d", variant, index) }

// Split is the inverse of Name.
func Split(name string) (variant string, index int, err error) {
	at := strings.LastIndex(name, "-")
	if at < 0 {
		return "", 0, fmt.Errorf("the name %q has no index", name)
	}
	_, err = fmt.Sscan(name[at+1:], &index)
	return name[:at], index, err
}
