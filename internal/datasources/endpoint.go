package datasources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const endpointDescription = "Reads the endpoint of a compute, regardless of its kind, and optionally probes it.\n\n" +
	"A probe reports the status of the endpoint. An unreachable endpoint is a status and not an error, unless the " +
	"probe is `required`. A `check` block can therefore warn about the status, and a postcondition can make other " +
	"resources depend on it. A `tensor` probe also measures the throughput of a tensor that the endpoint must return " +
	"bit for bit."

type endpointModel struct {
	tf.Target
	ServiceName        types.String      `tfsdk:"service_name"`
	Host               types.String      `tfsdk:"host"`
	Port               types.Int64       `tfsdk:"port"`
	Protocol           types.String      `tfsdk:"protocol"`
	URL                types.String      `tfsdk:"url"`
	GRPCTarget         types.String      `tfsdk:"grpc_target"`
	HeadlessHost       types.String      `tfsdk:"headless_host"`
	GatewayAddresses   []string          `tfsdk:"gateway_addresses"`
	Metadata           map[string]string `tfsdk:"metadata"`
	Pods               []podModel        `tfsdk:"pods"`
	PortForwardCommand types.String      `tfsdk:"port_forward_command"`
	Probe              *probeModel       `tfsdk:"probe"`
	Status             types.String      `tfsdk:"status"`
	Detail             types.String      `tfsdk:"detail"`
	LatencyMS          types.Float64     `tfsdk:"latency_ms"`
	Throughput         types.Float64     `tfsdk:"throughput_mib_s"`
}

type podModel struct {
	Name  types.String `tfsdk:"name"`
	IP    types.String `tfsdk:"ip"`
	Node  types.String `tfsdk:"node"`
	Ready types.Bool   `tfsdk:"ready"`
}

func endpointAttributes() tf.Attributes {
	return withTarget(tf.Attributes{
		"service_name": tf.ComputedString("Name of the Service. Null if the compute is reached at another " +
			"address (`endpoint.url`), or has no Service."),
		"host": tf.ComputedString("DNS name in the cluster, such as `trainer.ml.svc.cluster.local`. Null, like " +
			"`port`, `protocol`, `url` and `grpc_target`, if the compute has neither a Service nor another address, " +
			"such as a `job` without `port`."),
		"port":     tf.ComputedInteger("Port of the Service."),
		"protocol": tf.ComputedString("Protocol of the endpoint: `http` or `grpc`."),
		"url": tf.ComputedString("HTTP address, such as `http://trainer.ml.svc.cluster.local:80`. " +
			"Null for gRPC."),
		"grpc_target": tf.ComputedString("gRPC address, as `host:port`. Null for HTTP."),
		"headless_host": tf.ComputedString("DNS name of the headless Service, which resolves to the addresses " +
			"of all pods. Null if the compute is not distributed."),
		"gateway_addresses": schema.ListAttribute{Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Addresses of gateways that reach the compute from outside the cluster, as " +
				"`host:port`. Requests must carry the metadata in `metadata`. Read from the status of a SkyTorch or " +
				"KPU compute. Otherwise empty."},
		"metadata": tf.ComputedTextMap("Request metadata that a gateway uses to route to a tensor server: " +
			"`compute-id`. Empty with `runtime = \"kubetorch\"`."),
		"port_forward_command": tf.ComputedString("Command that forwards the endpoint to `127.0.0.1`. Null if no pod " +
			"can be forwarded to."),
		"probe": probeAttribute(),
		"status": tf.ComputedString("Result of the probe: `SERVING`, or one of the following. " +
			"`NOT_SERVING`: the server reports that it is not serving. `UNKNOWN`: the server does not know the " +
			"service. `UNIMPLEMENTED`: the server does not implement the protocol. `UNREACHABLE`: no connection. " +
			"`TIMEOUT`: connected, but no response. `CORRUPT`: the returned tensor differs. `FAILED`: any other " +
			"response. Null without a probe."),
		"detail": tf.ComputedString("Human-readable reason why the status is not `SERVING`. Otherwise " +
			"null."),
		"latency_ms": tf.ComputedNumber("Duration of the health check on an open connection, in milliseconds. Null " +
			"if the health check got no response."),
		"throughput_mib_s": tf.ComputedNumber("Throughput of the round trip, both directions together, in MiB per " +
			"second. Null without a round trip."),
		"pods": tf.ComputedObjects("Pods behind the Service, or without one those of the workload, sorted by "+
			"name. Null without permission to list pods.",
			tf.Attributes{
				"name":  tf.ComputedString("Name of the pod."),
				"ip":    tf.ComputedString("IP address of the pod. Null while it has none."),
				"node":  tf.ComputedString("Name of the node that the pod is scheduled to. Null while it has none."),
				"ready": tf.ComputedBool("Whether the pod is ready."),
			}),
	})
}

func readEndpoint(
	ctx context.Context, cluster *kube.Cluster, prober *endpoint.Prober, m *endpointModel,
) diag.Diagnostics {
	e, diags := find(ctx, cluster, &m.Target)
	if diags.HasError() {
		return diags
	}
	m.fill(e)
	if m.Probe != nil {
		diags.Append(m.probe(ctx, cluster, e, prober)...)
	}
	return diags
}

// find reads the endpoint of the target with its pods.
func find(ctx context.Context, cluster *kube.Cluster, t *tf.Target) (e *endpoint.Endpoint, diags diag.Diagnostics) {
	diags = readTarget(cluster, t, func(namespace, name string) (err error) {
		if e, err = endpoint.Of(ctx, cluster, namespace, name); err != nil {
			return err
		}
		return e.ReadPods(ctx, cluster)
	})
	return e, diags
}

// fill sets the attributes that are known without a probe.
func (m *endpointModel) fill(e *endpoint.Endpoint) {
	m.ServiceName, m.Host, m.URL = tf.TextOrNull(e.Service), tf.TextOrNull(e.Host), tf.TextOrNull(e.URL)
	if e.HasAddress() {
		m.Port, m.Protocol = types.Int64Value(int64(e.Port)), types.StringValue("http")
	}
	if e.GRPC {
		m.Protocol, m.GRPCTarget = types.StringValue("grpc"), types.StringValue(e.Address())
	}
	m.HeadlessHost, m.PortForwardCommand = tf.TextOrNull(e.Headless), tf.TextOrNull(e.PortForwardCommand())
	m.GatewayAddresses, m.Metadata = append([]string{}, e.Gateways...), map[string]string{}
	if e.Runtime != kind.RuntimeKubetorch {
		m.Metadata["compute-id"] = e.ID()
	}
	if e.Pods == nil {
		return
	}
	m.Pods = make([]podModel, 0, len(e.Pods))
	for _, pod := range e.Pods {
		m.Pods = append(m.Pods, podModel{
			Name: types.StringValue(pod.Name), IP: tf.TextOrNull(pod.Status.PodIP),
			Node: tf.TextOrNull(pod.Spec.NodeName), Ready: types.BoolValue(portforward.Ready(pod)),
		})
	}
}

func (m *endpointModel) probe(
	ctx context.Context, cluster *kube.Cluster, e *endpoint.Endpoint, prober *endpoint.Prober,
) diag.Diagnostics {
	if !e.HasAddress() {
		return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("probe"), "No endpoint to probe",
			e.ID()+" has neither a Service nor another address.\n\nNext step: Remove `probe`, or create a Service "+
				"with this name, for example with `port` of the kt_compute.")}
	}
	q, diags := newProbeRequest(cluster, e, *m.Probe)
	if diags.HasError() {
		return diags
	}
	result, err := prober.Run(ctx, cluster, q)
	if err != nil {
		diags.Append(diag.WithPath(path.Root("probe").AtName("via"), tf.Failure(err)))
		return diags
	}
	m.Status, m.Detail = types.StringValue(string(result.Status)), tf.TextOrNull(result.Detail)
	if result.Latency > 0 {
		m.LatencyMS = finite(result.LatencyMS())
	}
	if result.Throughput > 0 {
		m.Throughput = finite(result.Throughput)
	}
	if m.Probe.Required.ValueBool() && result.Status != probe.Serving {
		diags.AddAttributeError(path.Root("probe").AtName("required"),
			fmt.Sprintf("Endpoint of %s is not serving: %s", e.ID(), result.Status),
			fmt.Sprintf("%s\n\nThe probe was sent to: %s.\n\nNext step: Check why the endpoint is not serving. To "+
				"read the result from `status` instead of failing, remove `required`.", result.Detail, q.Route))
	}
	return diags
}
