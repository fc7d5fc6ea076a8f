package datasources

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// defaultEvents is the number of events that are read if the configuration sets no limit.
const defaultEvents = 100

// eventsSource is the data source kt_events.
type eventsSource struct{ source }

var _ datasource.DataSourceWithConfigure = (*eventsSource)(nil)

func (s *eventsSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_events"
}

type eventsModel struct {
	tf.Target
	Type    types.String `tfsdk:"type"`
	Reasons types.List   `tfsdk:"reasons"`
	Limit   types.Int64  `tfsdk:"limit"`
	Events  types.List   `tfsdk:"events"`
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

func eventType() attr.Type {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"time": types.StringType, "type": types.StringType, "reason": types.StringType, "kind": types.StringType,
		"name": types.StringType, "message": types.StringType, "count": types.Int64Type,
	}}
}

func (s *eventsSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := withTarget(map[string]schema.Attribute{
		"type":    schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.OneOf("Normal", "Warning")}, MarkdownDescription: "Type of the events to return: `Normal` or `Warning`. Defaults to both."},
		"reasons": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Reasons of the events to return, such as `FailedScheduling` or `BackOff`. Defaults to all reasons."},
		"limit":   schema.Int64Attribute{Optional: true, Validators: []validator.Int64{int64validator.AtLeast(1)}, MarkdownDescription: "Maximum number of events to return, keeping the newest. Defaults to `100`."},
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
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads the events of a compute, its pods and their PersistentVolumeClaims, and the " +
			"objects in between, such as ReplicaSets. By default, an API server keeps events for one hour.",
		Attributes: attributes,
	}
}

func (s *eventsSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m eventsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster := s.cluster(req, resp)
	if cluster == nil {
		return
	}
	at, diags := m.Resolve(cluster)
	resp.Diagnostics.Append(diags...)
	filter := observe.EventFilter{Type: m.Type.ValueString(), Limit: defaultEvents}
	resp.Diagnostics.Append(m.Reasons.ElementsAs(ctx, &filter.Reasons, false)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !m.Limit.IsNull() {
		filter.Limit = int(m.Limit.ValueInt64())
	}
	events, err := observe.Events(ctx, cluster, m.Namespace.ValueString(), m.Name.ValueString(), filter)
	if err != nil {
		resp.Diagnostics.Append(diag.WithPath(at, tf.Failure(err)))
		return
	}
	m.Events, diags = eventsOf(ctx, events)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func eventsOf(ctx context.Context, events []*corev1.Event) (types.List, diag.Diagnostics) {
	all := make([]eventModel, 0, len(events))
	for _, event := range events {
		count := max(int64(event.Count), 1)
		if event.Series != nil {
			count = max(count, int64(event.Series.Count))
		}
		all = append(all, eventModel{
			Time: types.StringValue(ready.LastSeen(event).UTC().Format(time.RFC3339)), Type: types.StringValue(event.Type), Reason: types.StringValue(event.Reason),
			Kind: types.StringValue(event.InvolvedObject.Kind), Name: types.StringValue(event.InvolvedObject.Name),
			Message: types.StringValue(event.Message), Count: types.Int64Value(count),
		})
	}
	return types.ListValueFrom(ctx, eventType(), all)
}
