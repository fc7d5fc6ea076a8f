package datasources

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// defaultEvents is the number of events that are read if the configuration sets no limit.
const defaultEvents = 100

type eventsModel struct {
	tf.Target
	Type    types.String `tfsdk:"type"`
	Reasons []string     `tfsdk:"reasons"`
	Limit   types.Int64  `tfsdk:"limit"`
	Events  []eventModel `tfsdk:"events"`
}

type eventModel struct {
	Time    types.String `tfsdk:"time"`
	Type    types.String `tfsdk:"type"`
	Reason  types.String `tfsdk:"reason"`
	Kind    types.String `tfsdk:"kind"`
	Name    types.String `tfsdk:"name"`
	Message types.String `tfsdk:"message"`
	Count   types.Int64  `tfsdk:"count"`
}

func eventsSchema() schema.Schema {
	attributes := withTarget(map[string]schema.Attribute{
		"type": schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.OneOf("Normal",
			"Warning")}, MarkdownDescription: "Type of the events to return: `Normal` or `Warning`. Defaults to both."},
		"reasons": schema.ListAttribute{Optional: true, ElementType: types.StringType,
			Validators: []validator.List{tf.NoNulls()},
			MarkdownDescription: "Reasons of the events to return, such as `FailedScheduling` or `BackOff`. Defaults " +
				"to all reasons."},
		"limit": schema.Int64Attribute{Optional: true, Validators: []validator.Int64{int64validator.AtLeast(1)},
			MarkdownDescription: "Maximum number of events to return, keeping the newest. Defaults to `100`."},
		"events": schema.ListNestedAttribute{
			Computed: true, MarkdownDescription: "Events, from the oldest to the newest.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"time":    computedString("Time of the last occurrence, in RFC 3339 format and UTC."),
				"type":    computedString("Type of the event: `Normal` or `Warning`."),
				"reason":  computedString("Reason of the event, as one word."),
				"kind":    computedString("Kind of the object that the event is about, such as `Pod`."),
				"name":    computedString("Name of the object that the event is about."),
				"message": computedString("Human-readable description of the event."),
				"count":   computedInt("Number of occurrences."),
			}},
		},
	})
	return schema.Schema{
		MarkdownDescription: "Reads the events of a compute, its pods and their PersistentVolumeClaims, and the " +
			"objects in between, such as ReplicaSets. By default, an API server keeps events for one hour.",
		Attributes: attributes,
	}
}

func readEvents(ctx context.Context, data *tf.ProviderData, m *eventsModel) diag.Diagnostics {
	filter := observe.EventFilter{Type: m.Type.ValueString(), Reasons: m.Reasons, Limit: defaultEvents}
	if !m.Limit.IsNull() {
		filter.Limit = int(m.Limit.ValueInt64())
	}
	return readTarget(data.Cluster, &m.Target, func(namespace, name string) error {
		events, err := observe.Events(ctx, data.Cluster, namespace, name, filter)
		if _, missing := errors.AsType[*kube.MissingComputeError](err); missing { // its pods may have no workload
			var e *endpoint.Endpoint
			if e, err = endpoint.Of(ctx, data.Cluster, namespace, name); err == nil {
				events, err = observe.EventsOfPods(ctx, data.Cluster, namespace, e.Backend.Selector, filter)
			}
		}
		if err == nil {
			m.Events = eventsOf(events)
		}
		return err
	})
}

func eventsOf(events []*corev1.Event) []eventModel {
	all := make([]eventModel, 0, len(events))
	for _, event := range events {
		all = append(all, eventModel{
			Time: types.StringValue(ready.LastSeen(event).UTC().Format(time.RFC3339)),
			Type: types.StringValue(event.Type), Reason: types.StringValue(event.Reason),
			Kind: types.StringValue(event.InvolvedObject.Kind), Name: types.StringValue(event.InvolvedObject.Name),
			Message: types.StringValue(event.Message), Count: types.Int64Value(int64(ready.TimesSeen(event))),
		})
	}
	return all
}
