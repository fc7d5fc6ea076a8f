package datasources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type metricsModel struct {
	tf.Target
	MetricNames  []string          `tfsdk:"metric_names"`
	Sources      []string          `tfsdk:"sources"`
	LabelFilters map[string]string `tfsdk:"label_filters"`
	Via          types.String      `tfsdk:"via"`
	Timeout      tf.Duration       `tfsdk:"timeout"`
	TLS          *tlsModel         `tfsdk:"tls"`
	Token        types.String      `tfsdk:"token"`
	Metrics      []metricModel     `tfsdk:"metrics"`
}

type metricModel struct {
	Source    types.String      `tfsdk:"source"`
	Name      types.String      `tfsdk:"name"`
	Type      types.String      `tfsdk:"type"`
	Value     types.Float64     `tfsdk:"value"`
	Unit      types.String      `tfsdk:"unit"`
	Labels    map[string]string `tfsdk:"labels"`
	Help      types.String      `tfsdk:"help"`
	Timestamp types.Int64       `tfsdk:"timestamp"`
}

const metricsDescription = "Reads a snapshot of the metrics of a tensor server through the gRPC service " +
	"`skytorch.metrics.v1.Metrics` or, for KPU, `kpu.metrics.v1.Metrics`. A SkyTorch server has no metrics " +
	"unless its environment variable `SKYTORCH_METRICS_SOURCES` lists sources, such as `nvidia-gpu`. Set it " +
	"in `env_vars` of the `kt_compute`."

func metricsAttributes() tf.Attributes {
	return withTarget(tf.Attributes{
		"metric_names":  tf.OptionalTexts("Names of the metrics to read. Defaults to all metrics.", tf.NoNulls()),
		"sources":       tf.OptionalTexts("Sources to read from. Defaults to all sources of the server.", tf.NoNulls()),
		"label_filters": tf.OptionalTextMap("Labels that a metric must have.", tf.NoNulls()),
		"tls":           tlsAttribute(),
		"token":         tokenAttribute(),
		"via":           viaAttribute(),
		"timeout":       tf.OptionalDuration("Timeout of the read, such as `30s`. Defaults to `10s`."),
		"metrics": tf.ComputedObjects("Metrics, in the order in which the server returns them.", tf.Attributes{
			"source":    tf.ComputedString("Source of the metric."),
			"name":      tf.ComputedString("Name of the metric."),
			"type":      tf.ComputedString("Type of the metric: `gauge`, `counter`, `histogram` or `unknown`."),
			"value":     tf.ComputedNumber("Value of the metric. Null if it is NaN or infinite."),
			"unit":      tf.ComputedString("Unit of the value. Null if the server reports none."),
			"labels":    tf.ComputedTextMap("Labels of the metric."),
			"help":      tf.ComputedString("Description of the metric. Null if the server reports none."),
			"timestamp": tf.ComputedInteger("Timestamp of the measurement, in the unit that the server uses."),
		}),
	})
}

func readMetrics(ctx context.Context, data *tf.ProviderData, m *metricsModel) diag.Diagnostics {
	at := m.Target.At()
	e, diags := find(ctx, data.Cluster, &m.Target)
	if diags.HasError() {
		return diags
	}
	if !e.GRPC {
		diags.AddAttributeError(at, "Compute without metrics", e.ID()+" does not use gRPC. "+
			"Metrics are available only from tensor servers.")
		return diags
	}
	request := &skymetrics.GetMetricsRequest{
		MetricNames: m.MetricNames, Sources: m.Sources, LabelFilters: m.LabelFilters,
	}
	route, security := endpoint.RouteTo(data.Cluster, e, m.Via.ValueString()), securityOf(m.TLS, m.Token)
	if diags.Append(validateSecurity(path.Empty(), security, route)...); diags.HasError() {
		return diags
	}
	snapshots, err := snapshotsOf(ctx, route, security, request, timeoutOf(m.Timeout))
	if err != nil {
		return append(diags, metricsFailure(e.ID(), at, timeoutOf(m.Timeout), err))
	}
	m.Metrics = metricsOf(snapshots)
	return append(diags, sourceWarnings(e.ID(), at, snapshots, m.Sources)...)
}

func snapshotsOf(
	ctx context.Context, r endpoint.Route, security endpoint.Security, request *skymetrics.GetMetricsRequest,
	timeout time.Duration,
) ([]*skymetrics.MetricsSnapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dial := r.Dialer()
	client, err := tensor.New(r.Target, security.Options(r, dial))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	snapshots, err := client.Metrics(ctx, request)
	if err != nil {
		return nil, connectionFailure(r, dial, err)
	}
	return snapshots, nil
}

// connectionFailure returns the reason why a call failed, if there was no connection.
func connectionFailure(r endpoint.Route, dial *endpoint.Dialer, err error) error {
	failure := dial.Failure()
	class := tensor.ClassOf(err)
	switch {
	case r.Forwarded() && failure != nil:
		return failure
	case !dial.Connected() && (class == tensor.Unreachable || class == tensor.TimedOut):
		if failure == nil {
			failure = errors.Unwrap(err)
		}
		return &tensor.Error{Op: "connect", Target: r.Target, Class: tensor.Unreachable, Err: failure}
	default:
		return err
	}
}

// metricsSourcesHint explains how to enable metrics on a SkyTorch server, which has none by default (README.md in
// github.com/astefanutti/skytorch, SKYTORCH_METRICS_SOURCES).
const metricsSourcesHint = "Set `SKYTORCH_METRICS_SOURCES` in `env_vars` of the kt_compute to the sources that the " +
	"server should read, such as `nvidia-gpu`."

func metricsFailure(id string, at path.Path, timeout time.Duration, err error) diag.Diagnostic {
	failed, isCall := errors.AsType[*tensor.Error](err)
	if !isCall {
		return diag.WithPath(path.Root("via"), tf.Failure(err)) // of the port-forward
	}
	switch failed.Class {
	case tensor.Unsupported:
		return diag.NewAttributeErrorDiagnostic(at, "Tensor server without metrics service",
			fmt.Sprintf("The server of %s implements neither skytorch.metrics.v1.Metrics nor "+
				"kpu.metrics.v1.Metrics. Either no metrics source is configured, or this version of the server "+
				"does not support metrics.\n\nNext step: %s", id, metricsSourcesHint))
	case tensor.TimedOut:
		return diag.NewAttributeErrorDiagnostic(path.Root("timeout"), "Metrics not received in time",
			fmt.Sprintf("The server of %s did not respond within %s.\n\nNext step: Read the log of the server. If its "+
				"sources need longer, increase `timeout`.", id, manifest.FormatDuration(timeout)))
	case tensor.Unreachable:
		return diag.NewAttributeErrorDiagnostic(path.Root("via"), "Tensor server unreachable",
			fmt.Sprintf("The server of %s cannot be reached at %s: %v.\n\nNext step: Check that its pod is ready, and "+
				"that `via` is a route from this machine.", id, failed.Target, failed.Err))
	default:
		return diag.NewAttributeErrorDiagnostic(at, "Cannot read metrics",
			fmt.Sprintf("The server of %s: %v.\n\nNext step: Read its log.", id, failed.Err))
	}
}

// sourceWarnings returns a warning if the server returned none of the requested sources, or none at all.
func sourceWarnings(
	id string, at path.Path, snapshots []*skymetrics.MetricsSnapshot, requested []string,
) diag.Diagnostics {
	var diags diag.Diagnostics
	switch {
	case len(snapshots) > 0:
	case len(requested) == 0:
		diags.AddAttributeWarning(at, "Tensor server without metrics sources",
			fmt.Sprintf("The server of %s returned no metrics source, so `metrics` is empty.\n\nNext step: %s", id,
				metricsSourcesHint))
	default:
		diags.AddAttributeWarning(path.Root("sources"), "Metrics sources not found",
			fmt.Sprintf("The server of %s has no source named %s, so `metrics` is empty.\n\nNext step: Correct "+
				"`sources`. %s", id, strings.Join(requested, ", "), metricsSourcesHint))
	}
	return diags
}

func metricsOf(snapshots []*skymetrics.MetricsSnapshot) []metricModel {
	all := []metricModel{}
	for _, snapshot := range snapshots {
		for _, metric := range snapshot.GetMetrics() {
			all = append(all, metricModel{
				Source: types.StringValue(snapshot.GetSource()), Name: types.StringValue(metric.GetName()),
				Type: types.StringValue(strings.ToLower(metric.GetType().String())), Value: finite(metric.GetValue()),
				Unit: tf.TextOrNull(metric.GetUnit()), Labels: entries(metric.GetLabels()),
				Help: tf.TextOrNull(metric.GetHelp()), Timestamp: types.Int64Value(metric.GetTimestamp()),
			})
		}
	}
	return all
}
