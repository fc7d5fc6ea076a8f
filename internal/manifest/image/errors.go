package image

import (
	"fmt"
	"strings"
)

// Error is what is wrong with one line of a Dockerfile or with one step.
type Error struct {
	// Line is the line of the Dockerfile, from 1; 0 for a step.
	Line int
	// Step is the index of the step, where Line is 0.
	Step int
	// Field is the attribute of the step that is wrong, "" for the step itself.
	Field  string
	Detail string // what was seen and what to do, without the place, as sentences
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d of the Dockerfile: %s", e.Line, e.Detail)
	}
	return fmt.Sprintf("steps[%d]: %s", e.Step, e.Detail)
}

// Errors is all that is wrong; it is never empty.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}
