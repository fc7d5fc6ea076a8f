package kai

import (
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Validate returns the problems of a queue, each with its attribute.
func Validate(q Queue) manifest.Errors {
	var errs manifest.Errors
	errs.RejectOthers("labels", q.DefaultLabels, q.Labels, ownLabels(),
		func(string) (string, []manifest.Path) { return "the provider finds its objects with it", nil })
	if q.ParentQueue != "" && q.ParentQueue == q.Name {
		errs.At(manifest.At("kai", manifest.Name("parent_queue")),
			"is the queue itself. Remove it, or set another queue.").Concerning(manifest.At("name"))
	}
	return errs
}
