package sensitive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Values are the hidden values of an object by the JSON pointer (RFC 6901) of their field.
type Values map[string]Value

// Value is a hidden value. The revision is 1 for a new field, and counted when its value changes.
type Value struct {
	JSON     json.RawMessage `json:"value"`
	Revision int             `json:"revision"`
}

func (v Value) placeholder() string { return fmt.Sprintf("(sensitive %d)", v.Revision) }

var placeholder = regexp.MustCompile(`^\(sensitive [0-9]+\)$`)

// Hide replaces the values at paths in an object by placeholders, with the revisions that follow on those of before.
// matched are the indexes of the paths that select a value. Null, empty values, and the fields that identify the object
// are not replaced.
func Hide(object map[string]any, paths []Path, before Values) (hidden Values, matched []int, err error) {
	hidden = Values{}
	for i, path := range paths {
		var selected bool
		selectValues(object, path, nil, func(pointer string, value any) {
			hidden[pointer], selected = next(value, before[pointer]), true
		})
		if selected {
			matched = append(matched, i)
		}
	}
	for pointer, value := range hidden {
		if err := set(object, pointer, value.placeholder()); err != nil {
			return nil, nil, err
		}
	}
	return hidden, matched, nil
}

// Show puts hidden values back. It is the inverse of Hide.
func Show(object map[string]any, hidden Values) error {
	for pointer, value := range hidden {
		var shown any
		err := k8sjson.Unmarshal(value.JSON, &shown) // whole numbers are int64, as in unstructured objects
		if err == nil {
			err = set(object, pointer, shown)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// HasPlaceholder reports whether a value of an object is a placeholder of Hide.
func HasPlaceholder(object map[string]any) (has bool) {
	selectValues(object, nil, nil, func(_ string, value any) {
		text, _ := value.(string)
		has = has || placeholder.MatchString(text)
	})
	return has
}

func set(object map[string]any, pointer string, value any) error {
	at, err := jsonpointer.New(pointer)
	if err == nil {
		_, err = at.Set(object, value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", pointer, err)
	}
	return nil
}

// next returns a hidden value after another one in the same field.
func next(value any, before Value) Value {
	text, _ := json.Marshal(value) // a string, number or bool
	if bytes.Equal(before.JSON, text) {
		return before
	}
	return Value{JSON: text, Revision: before.Revision + 1}
}

// selectValues calls found for each value that a path selects in value, with its JSON pointer.
func selectValues(value any, path Path, at []string, found func(pointer string, value any)) {
	rest := path[min(1, len(path)):]
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if len(path) == 0 || path[0].matchesField(name) {
				selectValues(field, rest, append(at, name), found)
			}
		}
	case []any:
		for i, item := range value {
			if len(path) == 0 || path[0].matchesItem(i, item) {
				selectValues(item, rest, append(at, strconv.Itoa(i)), found)
			}
		}
	case nil:
	default:
		if len(path) == 0 && !identifies(at) {
			found(kind.Pointer(at), value)
		}
	}
}

// identifies reports whether a field is part of the identity of an object.
func identifies(at []string) bool {
	return slices.Contains([]string{"apiVersion", "kind", "metadata/name", "metadata/namespace"}, strings.Join(at, "/"))
}
