package datasources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const endpointDescription = `Finds where a compute answers, whatever runs it, and probes it on request.

A probe says how the endpoint is: that it cannot be reached is a status, and no error, unless it is ` + "`required`" + `. So a ` + "`check`" + ` block can warn of it, and a postcondition can gate what depends on it, up to the throughput of a tensor that is sent there and comes back bit for bit.`

// endpointSource is the data source kt_endpoint.
type endpointSource struct {
	source
	prober *prober
}

var _ datasource.DataSourceWithConfigure = (*endpointSource)(nil)

func (s *endpointSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_endpoint"
}

type endpointModel struct {
	Target
	ServiceName        types.String  `tfsdk:"service_name"`
	Host               types.String  `tfsdk:"host"`
	Port               types.Int64   `tfsdk:"port"`
	Protocol           types.String  `tfsdk:"protocol"`
	URL                types.String  `tfsdk:"url"`
	GRPCTarget         types.String  `tfsdk:"grpc_target"`
	HeadlessHost       types.String  `tfsdk:"headless_host"`
	GatewayAddresses   types.List    `tfsdk:"gateway_addresses"`
	Metadata           types.Map     `tfsdk:"metadata"`
	Pods               types.List    `tfsdk:"pods"`
	PortForwardCommand types.String  `tfsdk:"port_forward_command"`
	Probe              types.Object  `tfsdk:"probe"`
	Status             types.String  `tfsdk:"status"`
	Detail             types.String  `tfsdk:"detail"`
	LatencyMS          types.Float64 `tfsdk:"latency_ms"`
	Throughput         types.Float64 `tfsdk:"throughput_mib_s"`
}

type podModel struct {
	Name  types.String `tfsdk:"name"`
	IP    types.String `tfsdk:"ip"`
	Node  types.String `tfsdk:"node"`
	Ready types.Bool   `tfsdk:"ready"`
}

func podType() attr.Type {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"name": types.StringType, "ip": types.StringType, "node": types.StringType, "ready": types.BoolType,
	}}
}

func (s *endpointSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := withTarget(map[string]schema.Attribute{
		"service_name":         computedString("Name of the Service; null where the compute has an endpoint of its own."),
		"host":                 computedString("Name in the cluster's DNS, such as `trainer.ml.svc.cluster.local`."),
		"port":                 computedInt("Port of the Service."),
		"protocol":             computedString("`http` or `grpc`."),
		"url":                  computedString("Address for HTTP, such as `http://trainer.ml.svc.cluster.local:80`; null for gRPC."),
		"grpc_target":          computedString("Address for gRPC, as `host:port`; null for HTTP."),
		"headless_host":        computedString("DNS name of the addresses of all pods, for computes that are distributed; else null."),
		"gateway_addresses":    schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Where the compute is reached from outside of the cluster, each as `host:port`, with the request metadata of `metadata`. From the status of a SkyTorch or KPU compute; else empty."},
		"metadata":             computedMap("Request metadata by which a gateway finds the compute: `compute-id`. Empty where it has no gateway."),
		"port_forward_command": computedString("Command that reaches the endpoint at `127.0.0.1`; null where no pod can be forwarded to."),
		"probe":                probeAttribute(),
		"status":               computedString("What the probe found: `SERVING`; `NOT_SERVING` (it says so itself); `UNKNOWN` (it knows nothing of the service); `UNIMPLEMENTED` (it does not speak the protocol); `UNREACHABLE` (no connection); `TIMEOUT` (connected, and then no answer); `CORRUPT` (the tensor came back changed); `FAILED` (any other answer). Null without a probe."),
		"detail":               computedString("Why the status is not `SERVING`, for people; else null."),
		"latency_ms":           schema.Float64Attribute{Computed: true, MarkdownDescription: "How long the health check took on a connection that was there, in milliseconds. Null where it was not answered."},
		"throughput_mib_s":     schema.Float64Attribute{Computed: true, MarkdownDescription: "Throughput of the round trip, both ways together, in MiB a second. Null without one."},
		"pods": schema.ListNestedAttribute{
			Computed: true, MarkdownDescription: "The pods behind the Service, by name. Null where they may not be listed.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"name":  computedString("Name of the pod."),
				"ip":    computedString("Its address in the cluster; null while it has none."),
				"node":  computedString("The node that it is on; null while it has none."),
				"ready": computedBool("Whether it takes calls."),
			}},
		},
	})
	resp.Schema = schema.Schema{MarkdownDescription: endpointDescription, Attributes: attributes}
}

func (s *endpointSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m endpointModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster := s.cluster(req, resp)
	if cluster == nil {
		return
	}
	e, diags := m.find(ctx, cluster)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(m.take(ctx, e)...)
	if !m.Probe.IsNull() {
		resp.Diagnostics.Append(s.probe(ctx, cluster, e, &m)...)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// find looks the endpoint up, with its pods.
func (t *Target) find(ctx context.Context, cluster *kube.Cluster) (*kube.Endpoint, diag.Diagnostics) {
	at, diags := t.resolve(cluster)
	if diags.HasError() {
		return nil, diags
	}
	e, err := cluster.Endpoint(ctx, t.Namespace.ValueString(), t.Name.ValueString())
	if err == nil {
		err = cluster.LookAtPods(ctx, e)
	}
	if err != nil {
		diags.Append(failureAt(at, err))
	}
	return e, diags
}

// take fills in what is known without a probe.
func (m *endpointModel) take(ctx context.Context, e *kube.Endpoint) diag.Diagnostics {
	var diags, all diag.Diagnostics
	m.ServiceName, m.Host, m.Port = textOrNull(e.Service), types.StringValue(e.Host), types.Int64Value(int64(e.Port))
	m.Protocol, m.URL = types.StringValue("http"), types.StringValue(e.URL)
	if e.GRPC {
		m.Protocol, m.URL, m.GRPCTarget = types.StringValue("grpc"), types.StringNull(), types.StringValue(e.Address())
	}
	m.HeadlessHost, m.PortForwardCommand = textOrNull(e.Headless), textOrNull(e.PortForwardCommand())
	m.GatewayAddresses, diags = types.ListValueFrom(ctx, types.StringType, append([]string{}, e.Gateways...))
	all.Append(diags...)
	metadata := map[string]string{}
	if e.Runtime != kube.RuntimeKubetorch {
		metadata["compute-id"] = e.ID()
	}
	m.Metadata, diags = types.MapValueFrom(ctx, types.StringType, metadata)
	all.Append(diags...)
	m.Pods = types.ListNull(podType())
	if e.Pods != nil {
		pods := make([]podModel, 0, len(e.Pods))
		for _, pod := range e.Pods {
			pods = append(pods, podModel{
				Name: types.StringValue(pod.Name), IP: textOrNull(pod.Status.PodIP), Node: textOrNull(pod.Spec.NodeName), Ready: types.BoolValue(kube.PodReady(pod)),
			})
		}
		m.Pods, diags = types.ListValueFrom(ctx, podType(), pods)
		all.Append(diags...)
	}
	return all
}

func (s *endpointSource) probe(ctx context.Context, cluster *kube.Cluster, e *kube.Endpoint, m *endpointModel) diag.Diagnostics {
	var asks probeModel
	diags := tf.Object(ctx, m.Probe, &asks)
	q, more := questionOf(cluster, e, asks)
	if diags.Append(more...); diags.HasError() {
		return diags
	}
	result, err := s.prober.ask(ctx, cluster, q)
	if err != nil {
		diags.Append(failureAt(path.Root("probe").AtName("via"), err))
		return diags
	}
	m.Status, m.Detail = types.StringValue(string(result.Status)), textOrNull(result.Detail)
	if result.Latency > 0 {
		m.LatencyMS = finite(result.LatencyMS())
	}
	if result.Throughput > 0 {
		m.Throughput = finite(result.Throughput)
	}
	if asks.Required.ValueBool() && result.Status != probe.Serving {
		diags.AddAttributeError(path.Root("probe").AtName("required"), fmt.Sprintf("The endpoint of %s does not serve: %s", e.ID(), result.Status),
			fmt.Sprintf("%s\n\nAsked: %s.\nNext step: Find out why it does not answer, or leave out `required`: the status is then in `status`.", result.Detail, q.way))
	}
	return diags
}
