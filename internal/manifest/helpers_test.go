package manifest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// minimal returns a compute with only the required attributes.
func minimal(change ...func(*manifest.Compute)) manifest.Compute {
	c := manifest.Compute{Name: "svc", Namespace: "ml", Username: "alice", Replicas: 1}
	for _, f := range change {
		f(&c)
	}
	return c
}

func quantity(tb testing.TB, s string) *resource.Quantity {
	tb.Helper()
	q, err := manifest.ParseQuantity(s)
	if err != nil {
		tb.Fatalf("quantity %v", err)
	}
	return &q
}

func gpuProduct(name string) manifest.NodeLabel {
	return manifest.NodeLabel{Key: "nvidia.com/gpu.product", Value: name}
}

func render(tb testing.TB, c manifest.Compute) []*unstructured.Unstructured {
	tb.Helper()
	objects, err := manifest.Render(c)
	if err != nil {
		tb.Fatalf("Render: %v", err)
	}
	return objects
}

// leaves returns the scalars of a JSON value by their JSON pointers.
func leaves(value any) map[string]any {
	result := map[string]any{}
	var walk func(pointer string, value any)
	walk = func(pointer string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, v := range value {
				walk(pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), v)
			}
		case []any:
			for i, v := range value {
				walk(fmt.Sprintf("%s/%d", pointer, i), v)
			}
		default:
			result[pointer] = value
		}
	}
	walk("", value)
	return result
}

func fromJSON(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return m
}

func toJSON(tb testing.TB, value any) string {
	tb.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}
