package queue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// converter converts values between Terraform and the renderer, and collects the diagnostics. Functions named decode…
// return values for the renderer, encode… for Terraform.
type converter struct {
	ctx   context.Context //nolint:containedctx // lives as long as one operation
	diags diag.Diagnostics
}

// spec converts a model without unknown values into the input of the renderer.
func (m *model) spec(ctx context.Context, defaults tf.Defaults) (spec, diag.Diagnostics) {
	c := &converter{ctx: ctx}
	out := spec{Queue: kueue.Queue{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Namespaces: c.decodeTexts(m.Namespaces),
		Cohort:          m.Cohort.ValueString(),
		FairShareWeight: c.decodeQuantity(path.Root("fair_share_weight"), m.FairShareWeight),
		AdmissionChecks: c.decodeTexts(m.AdmissionChecks), QueueingStrategy: m.QueueingStrategy.ValueString(),
		StopPolicy: m.StopPolicy.ValueString(), Preemption: c.decodePreemption(m.Preemption),
		Labels: tf.Texts(m.Labels), Annotations: tf.Texts(m.Annotations),
		DefaultLabels: defaults.Labels, DefaultAnnotations: defaults.Annotations,
	}}
	out.KAI = c.decodeKAI(m.KAI, out.Queue)
	for i, flavor := range tf.Items[flavorModel](ctx, m.Flavors) {
		out.Flavors = append(out.Flavors, c.decodeFlavor(path.Root("flavors").AtListIndex(i), flavor))
	}
	return out, c.diags
}

func (c *converter) decodeTexts(list types.List) []string {
	var out []string
	for _, element := range list.Elements() {
		if text, ok := element.(types.String); ok {
			out = append(out, text.ValueString())
		}
	}
	return out
}

func (c *converter) decodeQuantity(at path.Path, text tf.Quantity) *resource.Quantity {
	if text.IsNull() || text.IsUnknown() {
		return nil
	}
	q, err := manifest.ParseQuantity(text.ValueString())
	if err != nil {
		c.diags.AddAttributeError(at, "Invalid quantity", at.String()+" "+err.Error())
		return nil
	}
	return &q
}

func (c *converter) decodeFlavor(at path.Path, f flavorModel) kueue.Flavor {
	out := kueue.Flavor{Name: f.Name.ValueString(), Quotas: map[string]kueue.Quota{}}
	if f.definesFlavor() {
		out.Definition = &kueue.Definition{NodeLabels: tf.Texts(f.NodeLabels),
			TopologyName: f.TopologyName.ValueString()}
		for _, t := range tf.Items[taintModel](c.ctx, f.NodeTaints) {
			out.Definition.NodeTaints = append(out.Definition.NodeTaints, kueue.Taint{Key: t.Key.ValueString(),
				Value: t.Value.ValueString(), Effect: t.Effect.ValueString()})
		}
		for _, t := range tf.Items[tf.Toleration](c.ctx, f.Tolerations) {
			out.Definition.Tolerations = append(out.Definition.Tolerations, t.Decode())
		}
	}
	for name, element := range f.Quotas.Elements() {
		var q quotaModel
		if object, ok := element.(types.Object); !ok || tf.Object(c.ctx, object, &q).HasError() {
			continue // the schema reports the problem
		}
		at := at.AtName("quotas").AtMapKey(name)
		quota := kueue.Quota{BorrowingLimit: c.decodeQuantity(at.AtName("borrowing_limit"), q.BorrowingLimit),
			LendingLimit: c.decodeQuantity(at.AtName("lending_limit"), q.LendingLimit)}
		if nominal := c.decodeQuantity(at.AtName("nominal"), q.Nominal); nominal != nil {
			quota.Nominal = *nominal
		}
		out.Quotas[name] = quota
	}
	return out
}

func (c *converter) decodePreemption(object types.Object) *kueue.Preemption {
	if object.IsNull() || object.IsUnknown() {
		return nil
	}
	var p preemptionModel
	c.diags.Append(tf.Object(c.ctx, object, &p)...)
	out := &kueue.Preemption{WithinClusterQueue: p.WithinClusterQueue.ValueString(),
		ReclaimWithinCohort: p.ReclaimWithinCohort.ValueString(),
		BorrowWithinCohort:  p.BorrowWithinCohort.ValueString()}
	if !p.MaxPriorityThreshold.IsNull() {
		threshold := int32(p.MaxPriorityThreshold.ValueInt64()) //nolint:gosec // the schema limits it to 32 bits
		out.MaxPriorityThreshold = &threshold
	}
	return out
}

// follow updates the attributes with the differences between two observations of the objects. An attribute whose field
// did not change keeps its notation.
func (m *model) follow(ctx context.Context, before, after spec) diag.Diagnostics {
	c := &converter{ctx: ctx}
	tf.SetChanged(&m.KAI, before.KAI, after.KAI, c.kaiEncoder(m.KAI))
	tf.SetChanged(&m.Cohort, before.Cohort, after.Cohort, tf.TextOrNull)
	tf.SetChanged(&m.Flavors, before.Flavors, after.Flavors, c.flavorEncoder(m.Flavors))
	tf.SetChanged(&m.Preemption, before.Preemption, after.Preemption, c.preemptionEncoder(m.Preemption))
	tf.SetChanged(&m.FairShareWeight, before.FairShareWeight, after.FairShareWeight, encodeQuantity)
	tf.SetChanged(&m.AdmissionChecks, before.AdmissionChecks, after.AdmissionChecks, encodeTexts)
	tf.SetChanged(&m.QueueingStrategy, before.QueueingStrategy, after.QueueingStrategy, tf.TextOrNull)
	tf.SetChanged(&m.StopPolicy, before.StopPolicy, after.StopPolicy, tf.TextOrNull)
	tf.SetChangedEntries(&m.Labels, before.Labels, after.Labels)
	tf.SetChangedEntries(&m.Annotations, before.Annotations, after.Annotations)
	return c.diags
}

// encodeTexts returns null for an empty list.
func encodeTexts(texts []string) types.List {
	if len(texts) == 0 {
		return types.ListNull(types.StringType)
	}
	elements := make([]attr.Value, len(texts))
	for i, text := range texts {
		elements[i] = types.StringValue(text)
	}
	return types.ListValueMust(types.StringType, elements)
}

func encodeQuantity(q *resource.Quantity) tf.Quantity {
	if q == nil {
		return tf.QuantityOf("")
	}
	return tf.QuantityOf(q.String())
}

// flavorEncoder returns a function that encodes flavors with the type of the attribute.
func (c *converter) flavorEncoder(attribute types.List) func([]kueue.Flavor) types.List {
	object, _ := attribute.ElementType(c.ctx).(basetypes.ObjectType)
	return func(flavors []kueue.Flavor) types.List {
		var out []flavorModel
		for _, flavor := range flavors {
			out = append(out, c.encodeFlavor(object, flavor))
		}
		return listOf(c, object, out)
	}
}

func (c *converter) encodeFlavor(of basetypes.ObjectType, f kueue.Flavor) flavorModel {
	taints, tolerations := elementOf(of, "node_taints"), elementOf(of, "tolerations")
	out := flavorModel{Name: types.StringValue(f.Name), NodeLabels: types.MapNull(types.StringType),
		NodeTaints: types.ListNull(taints), Tolerations: types.ListNull(tolerations)}
	if d := f.Definition; d != nil {
		var taintModels []taintModel
		for _, t := range d.NodeTaints {
			taintModels = append(taintModels, taintModel{types.StringValue(t.Key), tf.TextOrNull(t.Value),
				types.StringValue(t.Effect)})
		}
		var tolerationModels []tf.Toleration
		for _, t := range d.Tolerations {
			tolerationModels = append(tolerationModels, tf.TolerationOf(t))
		}
		out.NodeLabels, out.TopologyName = tf.TextMapOrNull(d.NodeLabels), tf.TextOrNull(d.TopologyName)
		out.NodeTaints = listOf(c, taints, taintModels)
		out.Tolerations = listOf(c, tolerations, tolerationModels)
		if !out.definesFlavor() {
			out.NodeLabels = tf.TextMap(nil) // a flavor for all nodes
		}
	}
	quotas := map[string]quotaModel{}
	for name, quota := range f.Quotas {
		quotas[name] = quotaModel{encodeQuantity(&quota.Nominal), encodeQuantity(quota.BorrowingLimit),
			encodeQuantity(quota.LendingLimit)}
	}
	var diags diag.Diagnostics
	out.Quotas, diags = types.MapValueFrom(c.ctx, elementOf(of, "quotas"), quotas)
	c.diags.Append(diags...)
	return out
}

// elementOf returns the type of the elements of an attribute of an object that is a collection.
func elementOf(of basetypes.ObjectType, attribute string) attr.Type {
	collection, ok := of.AttrTypes[attribute].(attr.TypeWithElementType)
	if !ok {
		return nil
	}
	return collection.ElementType()
}

// listOf returns null for an empty list.
func listOf[T any](c *converter, element attr.Type, items []T) types.List {
	if len(items) == 0 {
		return types.ListNull(element)
	}
	list, diags := types.ListValueFrom(c.ctx, element, items)
	c.diags.Append(diags...)
	return list
}

// preemptionEncoder returns a function that encodes policies with the type of the attribute.
func (c *converter) preemptionEncoder(attribute types.Object) func(*kueue.Preemption) types.Object {
	return func(p *kueue.Preemption) types.Object {
		of := attribute.AttributeTypes(c.ctx)
		if p == nil {
			return types.ObjectNull(of)
		}
		m := preemptionModel{WithinClusterQueue: tf.TextOrNull(p.WithinClusterQueue),
			ReclaimWithinCohort: tf.TextOrNull(p.ReclaimWithinCohort),
			BorrowWithinCohort:  tf.TextOrNull(p.BorrowWithinCohort)}
		if p.MaxPriorityThreshold != nil {
			m.MaxPriorityThreshold = types.Int64Value(int64(*p.MaxPriorityThreshold))
		}
		object, diags := types.ObjectValueFrom(c.ctx, of, m)
		c.diags.Append(diags...)
		return object
	}
}
