package image

import (
	"fmt"
	"strings"
)

// Error describes a problem of one line of a Dockerfile or of one step.
type Error struct {
	// Line is the line of the Dockerfile, starting at 1, or 0 for a step.
	Line int
	// Step is the index of the step if Line is 0.
	Step int
	// Field is the invalid attribute of the step, or "" for the step itself.
	Field  string
	Detail string // the problem and the next step, without the position
}

func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d of the Dockerfile: %s", e.Line, e.Detail)
	}
	return fmt.Sprintf("steps[%d]: %s", e.Step, e.Detail)
}

// Errors lists all problems. It is never empty.
type Errors []*Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}
