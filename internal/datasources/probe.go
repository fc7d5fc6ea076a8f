package datasources

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// Methods of a probe, and routes to the endpoint.
const (
	methodHealth = "health"
	methodHTTP   = "http"
	methodTensor = "tensor"

	viaAuto        = "auto"
	viaDirect      = "direct"
	viaPortForward = "port_forward"
)

const (
	defaultTimeout   = 10 * time.Second
	defaultRoundTrip = 1 << 20
	// connectTimeout limits connecting within the timeout of the probe. An endpoint
	// that accepts no connection in this time is unreachable, however long a round
	// trip may take.
	connectTimeout = 5 * time.Second
)

type probeModel struct {
	Method         types.String `tfsdk:"method"`
	Via            types.String `tfsdk:"via"`
	Timeout        tf.Duration  `tfsdk:"timeout"`
	Required       types.Bool   `tfsdk:"required"`
	RoundTripBytes types.Int64  `tfsdk:"round_trip_bytes"`
}

func probeAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "Probe of the endpoint, sent each time the data source is read. The results are in " +
			"`status`, `detail`, `latency_ms` and `throughput_mib_s`.",
		Attributes: map[string]schema.Attribute{
			"method": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.OneOf(methodHealth, methodHTTP, methodTensor)},
				MarkdownDescription: "Method of the probe. `health` is the gRPC health check. `http` is `GET " +
					"/health`. `tensor` is the gRPC health check, after which a tensor is sent, received, " +
					"compared bit for bit and deleted. Defaults to `health` for gRPC and `http` for HTTP.",
			},
			"via": viaAttribute(),
			"timeout": timeoutAttribute("Timeout of the whole probe, such as `30s`. Defaults to `10s`. Connecting " +
				"times out after 5 seconds at the latest."),
			"required": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether a status other than `SERVING` is an error. Defaults to `false`, so " +
					"that a `check` block or a postcondition can evaluate the status.",
			},
			"round_trip_bytes": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{int64validator.Between(1, 4<<30)},
				MarkdownDescription: "Size of the tensor that the method `tensor` sends, in bytes. Must be at most " +
					"4 GiB. Defaults to `1048576`. The server keeps the tensor in memory during the probe. For " +
					"KPU, the provider does too.",
			},
		},
	}
}

func viaAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Validators: []validator.String{stringvalidator.OneOf(viaAuto, viaDirect, viaPortForward)},
		MarkdownDescription: "Route to the endpoint. `direct` uses its address in the cluster or, if Terraform " +
			"runs outside the cluster, the gateway if there is one. " +
			"`port_forward` goes through the API server to a ready pod and requires permission to create " +
			"`pods/portforward`. `auto` is `direct` in a pod of the same cluster, otherwise `port_forward`. " +
			"Defaults to `auto`.",
	}
}

func timeoutAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: tf.DurationType{}, MarkdownDescription: description}
}

func timeoutOf(given tf.Duration) time.Duration {
	if timeout, err := manifest.ParseDuration(given.ValueString()); err == nil && !given.IsNull() && timeout > 0 {
		return timeout
	}
	return defaultTimeout
}

// probeRequest describes a probe of an endpoint.
type probeRequest struct {
	endpoint *kube.Endpoint
	method   string
	route    route
	timeout  time.Duration
	bytes    int64
}

// newProbeRequest returns the request that the configuration describes, with defaults filled in.
func newProbeRequest(cluster *kube.Cluster, e *kube.Endpoint, m probeModel) (probeRequest, diag.Diagnostics) {
	var diags diag.Diagnostics
	q := probeRequest{endpoint: e, method: m.Method.ValueString(), route: routeTo(cluster, e, m.Via.ValueString()), timeout: timeoutOf(m.Timeout)}
	if q.method == "" {
		q.method = map[bool]string{true: methodHealth, false: methodHTTP}[e.GRPC]
	}
	if e.GRPC == (q.method == methodHTTP) {
		protocol, methods := "HTTP", "`http`"
		if e.GRPC {
			protocol, methods = "gRPC", "`health` or `tensor`"
		}
		diags.AddAttributeError(path.Root("probe").AtName("method"), "Probe method does not match the protocol",
			fmt.Sprintf("%s uses %s, which the method `%s` cannot probe.\n\nNext step: Set `method` to %s.", e.ID(), protocol, q.method, methods))
	}
	if q.method == methodTensor {
		q.bytes = cmp.Or(m.RoundTripBytes.ValueInt64(), defaultRoundTrip)
	}
	return q, diags
}

// prober sends each probe once, even if several data sources request it, as
// long as the pods stay the same. Its methods may be called concurrently.
type prober struct {
	results      sync.Map // of probeKey to func() probeOutcome
	unresponsive addresses
}

type probeKey struct {
	cluster *kube.Cluster // with -debug, one process serves many runs
	request string
}

type probeOutcome struct {
	result probe.Result
	err    error
}

// run sends the probe. An error has its cause on the client's side, such as a missing permission.
func (p *prober) run(ctx context.Context, cluster *kube.Cluster, q probeRequest) (probe.Result, error) {
	result, _ := p.results.LoadOrStore(probeKey{cluster, q.String()}, sync.OnceValue(func() probeOutcome {
		result, err := q.send(ctx, q.route.dialer(&p.unresponsive))
		return probeOutcome{result, err}
	}))
	f := result.(func() probeOutcome)() //nolint:forcetypeassert,errcheck // nothing else is stored
	return f.result, f.err
}

// String returns the key of the request, which differs for different pods.
func (q probeRequest) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s %d", q.endpoint.ID(), q.method, q.route, q.timeout, q.bytes)
	for _, pod := range q.endpoint.Pods {
		fmt.Fprintf(&b, " %s %t", pod.UID, kube.PodReady(pod))
	}
	return b.String()
}

func (q probeRequest) send(ctx context.Context, dial *dialer) (probe.Result, error) {
	e := q.endpoint
	var result probe.Result
	if q.method == methodHTTP {
		result = probe.HTTP(ctx, probe.Web{
			URL: q.route.url, Timeout: q.timeout,
			Dialer: func(ctx context.Context, _, address string) (net.Conn, error) { return dial.to(ctx, address) },
		})
	} else {
		result = probe.GRPC(ctx, probe.Endpoint{
			Target: q.route.target, Protocol: protocolOf(e), RoundTrip: q.bytes, Timeout: q.timeout, Seed: seedOf(e.ID()),
			Options: tensor.Options{ComputeID: q.route.computeID, Dialer: dial.to},
		})
	}
	if failure := dial.failure(); failure != nil && result.Status != probe.Serving {
		switch kube.ClassOf(failure) {
		case kube.Denied, kube.Unauthorized, kube.Misconfigured:
			return result, failure
		default:
			result.Detail = failure.Error()
		}
	}
	return result, nil
}

func protocolOf(e *kube.Endpoint) probe.Protocol {
	switch e.Runtime {
	case kind.RuntimeSkyTorch:
		return probe.SkyTorch
	case kind.RuntimeKPU:
		return probe.KPU
	default:
		return probe.Auto
	}
}

// seedOf returns a different seed for each endpoint, so that the tensor of one
// endpoint is never accepted from another.
func seedOf(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return h.Sum64()
}
