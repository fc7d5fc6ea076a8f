package queue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// spec converts a model without unknown values into the input of the renderer.
func (m *model) spec(ctx context.Context, defaults tf.Defaults) (spec, diag.Diagnostics) {
	c := tf.NewConverter(ctx)
	var out spec
	c.DecodeModel(m, &out.Queue)
	out.DefaultLabels, out.DefaultAnnotations = defaults.Labels, defaults.Annotations
	var flavors []flavor
	c.Decode(path.Root("flavors"), m.Flavors, &flavors)
	out.Flavors = nil
	for _, f := range flavors {
		out.Flavors = append(out.Flavors, f.decode())
	}
	c.Decode(path.Root("kai"), m.KAI, &out.KAI)
	if q := out.KAI; q != nil { // the other attributes are those of the queue
		q.Name, q.Labels, q.Annotations = out.Name, out.Labels, out.Annotations
		q.DefaultLabels, q.DefaultAnnotations = out.DefaultLabels, out.DefaultAnnotations
	}
	return out, c.Diags
}

// flavor is an item of the attribute flavors.
type flavor struct {
	Name         string
	NodeLabels   *map[string]string
	NodeTaints   []corev1.Taint
	Tolerations  []corev1.Toleration
	TopologyName string
	Quotas       map[string]kueue.Quota
}

// decode returns a flavor that is created if its nodes are described, and otherwise one that is referenced.
func (f flavor) decode() kueue.Flavor {
	out := kueue.Flavor{Name: f.Name, Quotas: f.Quotas}
	if f.NodeLabels != nil || f.NodeTaints != nil || f.Tolerations != nil || f.TopologyName != "" {
		out.Definition = &kueue.Definition{NodeTaints: f.NodeTaints, Tolerations: f.Tolerations,
			TopologyName: f.TopologyName}
		if f.NodeLabels != nil {
			out.Definition.NodeLabels = *f.NodeLabels
		}
	}
	return out
}

// flavorsOf is the inverse of [flavor.decode].
func flavorsOf(flavors []kueue.Flavor) []flavor {
	var out []flavor
	for _, f := range flavors {
		item := flavor{Name: f.Name, Quotas: f.Quotas}
		if d := f.Definition; d != nil {
			item.NodeTaints, item.Tolerations, item.TopologyName = d.NodeTaints, d.Tolerations, d.TopologyName
			if len(d.NodeLabels) > 0 || len(d.NodeTaints)+len(d.Tolerations) == 0 && d.TopologyName == "" {
				item.NodeLabels = &d.NodeLabels // empty: a flavor for all nodes
			}
		}
		out = append(out, item)
	}
	return out
}

// follow updates the attributes with the differences between two observations of the objects. An attribute whose field
// did not change keeps its notation.
func (m *model) follow(ctx context.Context, before, after spec) diag.Diagnostics {
	c := tf.NewConverter(ctx)
	m.KAI = tf.Follow(c, m.KAI, before.KAI, after.KAI)
	m.Flavors = tf.Follow(c, m.Flavors, flavorsOf(before.Flavors), flavorsOf(after.Flavors))
	c.FollowModel(m, &before.Queue, &after.Queue, "Cohort", "Preemption", "FairShareWeight", "AdmissionChecks",
		"QueueingStrategy", "StopPolicy", "Labels", "Annotations")
	return c.Diags
}
