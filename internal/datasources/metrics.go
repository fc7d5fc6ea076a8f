package datasources

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// metricsSource is the data source kt_metrics.
type metricsSource struct{ source }

var _ datasource.DataSourceWithConfigure = (*metricsSource)(nil)

func (s *metricsSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_metrics"
}

type metricsModel struct {
	tf.Target
	MetricNames  types.List   `tfsdk:"metric_names"`
	Sources      types.List   `tfsdk:"sources"`
	LabelFilters types.Map    `tfsdk:"label_filters"`
	Via          types.String `tfsdk:"via"`
	Timeout      tf.Duration  `tfsdk:"timeout"`
	Metrics      types.List   `tfsdk:"metrics"`
}

type metricModel struct {
	Source    types.String  `tfsdk:"source"`
	Name      types.String  `tfsdk:"name"`
	Type      types.String  `tfsdk:"type"`
	Value     types.Float64 `tfsdk:"value"`
	Unit      types.String  `tfsdk:"unit"`
	Labels    types.Map     `tfsdk:"labels"`
	Help      types.String  `tfsdk:"help"`
	Timestamp types.Int64   `tfsdk:"timestamp"`
}

func metricType() attr.Type {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"source": types.StringType, "name": types.StringType, "type": types.StringType, "value": types.Float64Type,
		"unit": types.StringType, "labels": types.MapType{ElemType: types.StringType}, "help": types.StringType, "timestamp": types.Int64Type,
	}}
}

func (s *metricsSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := withTarget(map[string]schema.Attribute{
		"metric_names":  schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Names of the metrics to read. Defaults to all metrics."},
		"sources":       schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Sources to read from. Defaults to all sources of the server."},
		"label_filters": schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels that a metric must have."},
		"via":           viaAttribute(),
		"timeout":       timeoutAttribute("Timeout of the read, such as `30s`. Defaults to `10s`."),
		"metrics": schema.ListNestedAttribute{
			Computed: true, MarkdownDescription: "Metrics, in the order in which the server returns them.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"source":    computedString("Source of the metric."),
				"name":      computedString("Name of the metric."),
				"type":      computedString("Type of the metric: `gauge`, `counter`, `histogram` or `unknown`."),
				"value":     schema.Float64Attribute{Computed: true, MarkdownDescription: "Value of the metric. Null if it is NaN or infinite."},
				"unit":      computedString("Unit of the value. Null if the server reports none."),
				"labels":    computedMap("Labels of the metric."),
				"help":      computedString("Description of the metric. Null if the server reports none."),
				"timestamp": computedInt("Timestamp of the measurement, in the unit that the server uses."),
			}},
		},
	})
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads a snapshot of the metrics of a tensor server through the gRPC service " +
			"`skytorch.metrics.v1.Metrics` or, for KPU, `kpu.metrics.v1.Metrics`. " +
			"A SkyTorch server has no metrics unless its environment variable `SKYTORCH_METRICS_SOURCES` lists " +
			"sources, such as `nvidia-gpu`. Set it in `env_vars` of the `kt_compute`.",
		Attributes: attributes,
	}
}

func (s *metricsSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m metricsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster := s.cluster(req, resp)
	if cluster == nil {
		return
	}
	e, diags := find(ctx, cluster, &m.Target)
	resp.Diagnostics.Append(diags...)
	filter, diags := m.filter(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !e.GRPC {
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Compute without metrics", e.ID()+" uses HTTP. "+
			"Metrics are available only from tensor servers, which use gRPC.")
		return
	}
	snapshots, err := readMetrics(ctx, endpoint.RouteTo(cluster, e, m.Via.ValueString()), filter, m.Timeout)
	if err != nil {
		resp.Diagnostics.Append(metricsFailure(e.ID(), err))
		return
	}
	resp.Diagnostics.Append(withoutSource(e.ID(), snapshots, filter)...)
	m.Metrics, diags = metricsOf(ctx, snapshots)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (m *metricsModel) filter(ctx context.Context) (filter tensor.MetricsFilter, all diag.Diagnostics) {
	all.Append(m.MetricNames.ElementsAs(ctx, &filter.Names, false)...)
	all.Append(m.Sources.ElementsAs(ctx, &filter.Sources, false)...)
	all.Append(m.LabelFilters.ElementsAs(ctx, &filter.Labels, false)...)
	return filter, all
}

func readMetrics(ctx context.Context, r endpoint.Route, filter tensor.MetricsFilter, timeout tf.Duration) ([]*skymetrics.MetricsSnapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, timeoutOf(timeout))
	defer cancel()
	dial := r.Dialer()
	client, err := tensor.New(r.Target, tensor.Options{ComputeID: r.ComputeID, Dialer: dial.Dial})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	snapshots, err := client.Metrics(ctx, filter)
	if failure := dial.Failure(); err != nil && failure != nil {
		return nil, failure
	}
	return snapshots, err
}

// metricsSourcesHint explains how to enable metrics on a SkyTorch server, which has none by default (README.md in
// github.com/astefanutti/skytorch, SKYTORCH_METRICS_SOURCES).
const metricsSourcesHint = "Set `SKYTORCH_METRICS_SOURCES` in `env_vars` of the kt_compute to the sources that the " +
	"server should read, such as `nvidia-gpu`."

func metricsFailure(id string, err error) diag.Diagnostic {
	if tensor.ClassOf(err) == tensor.Unsupported {
		return diag.NewAttributeErrorDiagnostic(path.Root("name"), "Tensor server without metrics service",
			fmt.Sprintf("The server of %s implements neither skytorch.metrics.v1.Metrics nor "+
				"kpu.metrics.v1.Metrics. Either no metrics source is configured, or this version of the server "+
				"does not support metrics.\n\nNext step: %s", id, metricsSourcesHint))
	}
	return diag.WithPath(path.Root("via"), tf.Failure(err))
}

// withoutSource returns a warning if the server returned no source.
func withoutSource(id string, snapshots []*skymetrics.MetricsSnapshot, filter tensor.MetricsFilter) diag.Diagnostics {
	var diags diag.Diagnostics
	switch {
	case len(snapshots) > 0:
	case len(filter.Sources) == 0:
		diags.AddAttributeWarning(path.Root("name"), "Tensor server without metrics sources",
			fmt.Sprintf("The server of %s returned no metrics source, so `metrics` is empty.\n\nNext step: %s", id, metricsSourcesHint))
	default:
		diags.AddAttributeWarning(path.Root("sources"), "Metrics sources not found",
			fmt.Sprintf("The server of %s has no source named %s, so `metrics` is empty.\n\nNext step: Correct "+
				"`sources`. %s", id, strings.Join(filter.Sources, ", "), metricsSourcesHint))
	}
	return diags
}

func metricsOf(ctx context.Context, snapshots []*skymetrics.MetricsSnapshot) (types.List, diag.Diagnostics) {
	all := []metricModel{}
	for _, snapshot := range snapshots {
		for _, metric := range snapshot.GetMetrics() {
			labels, diags := types.MapValueFrom(ctx, types.StringType, metric.GetLabels())
			if diags.HasError() {
				return types.ListNull(metricType()), diags
			}
			all = append(all, metricModel{
				Source: types.StringValue(snapshot.GetSource()), Name: types.StringValue(metric.GetName()), Type: types.StringValue(strings.ToLower(metric.GetType().String())),
				Value: finite(metric.GetValue()), Unit: textOrNull(metric.GetUnit()), Labels: labels,
				Help: textOrNull(metric.GetHelp()), Timestamp: types.Int64Value(metric.GetTimestamp()),
			})
		}
	}
	return types.ListValueFrom(ctx, metricType(), all)
}
