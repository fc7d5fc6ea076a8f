package queue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// spec converts a model without unknown values into the input of the renderer.
func (m *model) spec(ctx context.Context, defaults tf.Defaults) (spec, diag.Diagnostics) {
	c := tf.NewConverter(ctx)
	var out spec
	c.DecodeModel(m, &out.Queue)
	out.DefaultLabels, out.DefaultAnnotations = defaults.Labels, defaults.Annotations
	c.Decode(path.Root("kai"), m.KAI, &out.KAI)
	if q := out.KAI; q != nil { // the other attributes are those of the queue
		q.Name, q.Labels, q.Annotations = out.Name, out.Labels, out.Annotations
		q.DefaultLabels, q.DefaultAnnotations = out.DefaultLabels, out.DefaultAnnotations
	}
	return out, c.Diags
}

// follow updates the attributes with the differences between two observations of the objects. An attribute whose field
// did not change keeps its notation.
func (m *model) follow(ctx context.Context, before, after spec) diag.Diagnostics {
	c := tf.NewConverter(ctx)
	m.KAI = tf.Follow(c, m.KAI, before.KAI, after.KAI)
	c.FollowModel(m, &before.Queue, &after.Queue, "Cohort", "Flavors", "Preemption", "FairShareWeight",
		"AdmissionChecks", "QueueingStrategy", "StopPolicy", "Labels", "Annotations")
	return c.Diags
}
