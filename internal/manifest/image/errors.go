package image

import (
	"fmt"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Position is a line of the Dockerfile or an attribute of a step, where a problem can be.
type Position struct {
	path          manifest.Path
	summary, text string
}

// inLine returns the position of a line of the Dockerfile, starting at 1.
func inLine(line int) Position {
	return Position{manifest.At("dockerfile"), "Invalid Dockerfile", fmt.Sprintf("Line %d of the Dockerfile", line)}
}

// inStep returns the position of an attribute of a step, or with "" of the step itself.
func inStep(index int, attribute string) Position {
	at := manifest.At("steps", manifest.Index(index))
	if attribute != "" {
		at = at.At(manifest.Name(attribute))
	}
	return Position{at, "Invalid step", at.String()}
}

// Problem returns an error at the position. err is the problem and the next step.
func (p Position) Problem(err error) *manifest.AttributeError {
	return &manifest.AttributeError{Path: p.path, Summary: p.summary,
		Detail: fmt.Sprintf("%s: %s.", p.text, strings.TrimSuffix(err.Error(), "."))}
}
