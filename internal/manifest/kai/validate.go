package kai

import (
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Validate returns the problems of a queue, each with its attribute.
func Validate(q Queue) manifest.Errors {
	var errs manifest.Errors
	errs.RejectOthers("labels", q.DefaultLabels, q.Labels, ownLabels(),
		func(string) string { return "the provider finds its objects with it" }, nil)
	if q.ParentQueue != "" && q.ParentQueue == q.Name {
		at := manifest.At("kai", manifest.Name("parent_queue"))
		errs = append(errs, &manifest.AttributeError{Path: at, Concerns: []manifest.Path{manifest.At("name")},
			Summary: "Invalid " + at.Root(), Detail: at.String() + " is the queue itself. Remove it, or set another " +
				"queue."})
	}
	return errs
}
