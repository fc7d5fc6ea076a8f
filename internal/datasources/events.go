package datasources

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
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

const eventsDescription = "Reads the events of a compute, its pods and their PersistentVolumeClaims, and the " +
	"objects in between, such as ReplicaSets. By default, an API server keeps events for one hour."

func eventsAttributes() tf.Attributes {
	return withTarget(tf.Attributes{
		"type": tf.OptionalText("Type of the events to return: `Normal` or `Warning`. Defaults to both.",
			stringvalidator.OneOf("Normal", "Warning")),
		"reasons": tf.OptionalTexts("Reasons of the events to return, such as `FailedScheduling` or `BackOff`. "+
			"Defaults to all reasons.", tf.NoNulls()),
		"limit": tf.OptionalInteger("Maximum number of events to return, keeping the newest. Defaults to `100`.",
			int64validator.AtLeast(1)),
		"events": tf.ComputedObjects("Events, from the oldest to the newest.", tf.Attributes{
			"time":    tf.ComputedString("Time of the last occurrence, in RFC 3339 format and UTC."),
			"type":    tf.ComputedString("Type of the event: `Normal` or `Warning`."),
			"reason":  tf.ComputedString("Reason of the event, as one word."),
			"kind":    tf.ComputedString("Kind of the object that the event is about, such as `Pod`."),
			"name":    tf.ComputedString("Name of the object that the event is about."),
			"message": tf.ComputedString("Human-readable description of the event."),
			"count":   tf.ComputedInteger("Number of occurrences."),
		}),
	})
}

func readEvents(ctx context.Context, data *tf.ProviderData, m *eventsModel) diag.Diagnostics {
	filter := observe.EventFilter{Type: m.Type.ValueString(), Reasons: m.Reasons,
		Limit: int(cmp.Or(m.Limit.ValueInt64(), defaultEvents))}
	return readTarget(data.Cluster, &m.Target, func(namespace, name string) error {
		source, _, err := endpoint.FindPods(ctx, data.Cluster, namespace, name)
		if err != nil {
			return err
		}
		pods, err := source.Pods(ctx, data.Cluster)
		if err != nil {
			return err
		}
		events, err := observe.Events(ctx, data.Cluster, namespace, source.Workload, pods, filter)
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
