package manifest

import (
	"fmt"
	"strings"
)

// AttributeError is what is wrong with one attribute of kt_compute.
type AttributeError struct {
	Attribute string // top-level name in the schema: "labels"
	Detail    string // what was seen and what to do, a sentence
}

func (e *AttributeError) Error() string { return e.Attribute + ": " + e.Detail }

// Errors is all that is wrong with a compute; it is never empty.
type Errors []*AttributeError

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

func (e *Errors) add(attribute, format string, args ...any) {
	*e = append(*e, &AttributeError{Attribute: attribute, Detail: fmt.Sprintf(format, args...)})
}
