package datasources

import (
	"cmp"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// Defaults of a probe: its time limit, and the size of a round trip in bytes.
const (
	defaultTimeout   = 10 * time.Second
	defaultRoundTrip = 1 << 20
)

type probeModel struct {
	Method         types.String `tfsdk:"method"`
	Via            types.String `tfsdk:"via"`
	Timeout        tf.Duration  `tfsdk:"timeout"`
	Required       types.Bool   `tfsdk:"required"`
	RoundTripBytes types.Int64  `tfsdk:"round_trip_bytes"`
	TLS            *tlsModel    `tfsdk:"tls"`
	Token          types.String `tfsdk:"token"`
}

func probeAttribute() schema.Attribute {
	return tf.OptionalObject("Probe of the endpoint, sent each time the data source is read. The results are in "+
		"`status`, `detail`, `latency_ms` and `throughput_mib_s`.", tf.Attributes{
		"method": tf.OptionalText("Method of the probe. `health` is the gRPC health check. `http` is `GET /health`. "+
			"`tensor` is the gRPC health check, after which a tensor is sent, received, compared bit for bit and "+
			"deleted. Defaults to `health` for gRPC and `http` for HTTP.",
			stringvalidator.OneOf(endpoint.MethodHealth, endpoint.MethodHTTP, endpoint.MethodTensor)),
		"via": viaAttribute(),
		"timeout": tf.OptionalDuration("Timeout of the whole probe, such as `30s`. Defaults to `10s`. Connecting " +
			"times out after 5 seconds at the latest, or 30 seconds through a port-forward."),
		"tls": tlsAttribute(), "token": tokenAttribute(),
		"required": tf.OptionalBool("Whether a status other than `SERVING` is an error. Defaults to `false`, so that " +
			"a `check` block or a postcondition can evaluate the status."),
		"round_trip_bytes": tf.OptionalInteger("Size of the tensor that the method `tensor` sends, in bytes. Must be "+
			"at most 4 GiB. Defaults to `1048576`. The server keeps the tensor in memory during the probe. For KPU, "+
			"the provider does too.", int64validator.Between(1, 4<<30)),
	})
}

func viaAttribute() schema.Attribute {
	return tf.OptionalText("Route to the endpoint. `direct` uses its address in the cluster or, if Terraform runs "+
		"outside the cluster, the gateway if there is one. `port_forward` goes through the API server to a ready pod "+
		"and requires permission to create `pods/portforward`. `auto` is `direct` in a pod of the same cluster, "+
		"otherwise `port_forward`. Defaults to `auto`.",
		stringvalidator.OneOf(endpoint.ViaAuto, endpoint.ViaDirect, endpoint.ViaPortForward))
}

func timeoutOf(given tf.Duration) time.Duration {
	return cmp.Or(tf.DurationOr(given, 0), defaultTimeout)
}

// newProbeRequest returns the request that the configuration describes, with defaults filled in.
func newProbeRequest(
	cluster *kube.Cluster, e *endpoint.Endpoint, m probeModel,
) (endpoint.ProbeRequest, diag.Diagnostics) {
	var diags diag.Diagnostics
	q := endpoint.ProbeRequest{
		Endpoint: e, Method: m.Method.ValueString(), Timeout: timeoutOf(m.Timeout),
		Route: endpoint.RouteTo(cluster, e, m.Via.ValueString()),
	}
	if q.Method == "" {
		q.Method = map[bool]string{true: endpoint.MethodHealth, false: endpoint.MethodHTTP}[e.GRPC]
	}
	if e.GRPC == (q.Method == endpoint.MethodHTTP) {
		protocol, methods := "HTTP", "`http`"
		if e.GRPC {
			protocol, methods = "gRPC", "`health` or `tensor`"
		}
		diags.AddAttributeError(path.Root("probe").AtName("method"), "Probe method does not match the protocol",
			fmt.Sprintf("%s uses %s, which the method `%s` cannot probe.\n\nNext step: Set `method` to %s.", e.ID(),
				protocol, q.Method, methods))
	}
	q.Security = securityOf(m.TLS, m.Token)
	diags.Append(validateSecurity(path.Root("probe"), q.Security, q.Route)...)
	if q.Method == endpoint.MethodTensor {
		q.Bytes = cmp.Or(m.RoundTripBytes.ValueInt64(), defaultRoundTrip)
	}
	return q, diags
}
