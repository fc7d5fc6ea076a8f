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

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// How an endpoint is asked, and which way.
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
	// longestConnect bounds the making of a connection within the timeout: who
	// does not take one by then is not there, however long a round trip may take.
	longestConnect = 5 * time.Second
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
		Optional:            true,
		MarkdownDescription: "Asks the endpoint how it is, each time that the data source is read. What it finds is in `status`, `detail`, `latency_ms` and `throughput_mib_s`.",
		Attributes: map[string]schema.Attribute{
			"method": schema.StringAttribute{
				Optional: true, Validators: []validator.String{stringvalidator.OneOf(methodHealth, methodHTTP, methodTensor)},
				MarkdownDescription: "`health`: the gRPC health check. `http`: `GET /health`. `tensor`: the health check, and then a tensor is sent, received, compared bit for bit and deleted. Default: `health` for gRPC, `http` for HTTP.",
			},
			"via":     viaAttribute(),
			"timeout": timeoutAttribute("How long all of it may take, such as `30s`. Default: `10s`. A connection that is not made within 5 seconds is given up before."),
			"required": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether another status than `SERVING` is an error. Default: false, so that a `check` block or a postcondition can say what matters.",
			},
			"round_trip_bytes": schema.Int64Attribute{
				Optional: true, Validators: []validator.Int64{int64validator.Between(1, 4<<30)},
				MarkdownDescription: "Size of the tensor that `tensor` sends, in bytes, 4 GiB at most. Default: 1048576. The server holds it in memory for the time of the probe, and for KPU so does the provider.",
			},
		},
	}
}

func viaAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Validators: []validator.String{stringvalidator.OneOf(viaAuto, viaDirect, viaPortForward)},
		MarkdownDescription: "The way to the endpoint. `direct`: by its address in the cluster, or where Terraform runs outside, through the gateway if there is one. " +
			"`port_forward`: through the API server, to a pod that is ready; it needs the right to create `pods/portforward`. `auto`, the default: `direct` in a pod of the same cluster, else `port_forward`.",
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

// question is what a probe asks.
type question struct {
	endpoint *kube.Endpoint
	method   string
	way      way
	timeout  time.Duration
	bytes    int64
}

// questionOf fills in what the configuration leaves out.
func questionOf(cluster *kube.Cluster, e *kube.Endpoint, m probeModel) (question, diag.Diagnostics) {
	var diags diag.Diagnostics
	q := question{endpoint: e, method: m.Method.ValueString(), way: wayTo(cluster, e, m.Via.ValueString()), timeout: timeoutOf(m.Timeout)}
	if q.method == "" {
		q.method = map[bool]string{true: methodHealth, false: methodHTTP}[e.GRPC]
	}
	if e.GRPC == (q.method == methodHTTP) {
		speaks, fits := "HTTP", "`http`"
		if e.GRPC {
			speaks, fits = "gRPC", "`health` or `tensor`"
		}
		diags.AddAttributeError(path.Root("probe").AtName("method"), "The endpoint speaks another protocol",
			fmt.Sprintf("%s speaks %s, which the method `%s` cannot probe: give %s.", e.ID(), speaks, q.method, fits))
	}
	if q.method == methodTensor {
		q.bytes = cmp.Or(m.RoundTripBytes.ValueInt64(), defaultRoundTrip)
	}
	return q, diags
}

// prober asks each question once, however many data sources do, for as long as
// the same pods answer. All questions may be asked at the same time.
type prober struct {
	answers sync.Map // of asked to func() found
	silent  addresses
}

type asked struct {
	cluster *kube.Cluster // with -debug one process serves many runs
	what    string
}

type found struct {
	result probe.Result
	err    error
}

// ask probes. An error is a reason on this side, such as a missing right.
func (p *prober) ask(ctx context.Context, cluster *kube.Cluster, q question) (probe.Result, error) {
	answer, _ := p.answers.LoadOrStore(asked{cluster, q.String()}, sync.OnceValue(func() found {
		result, err := q.ask(ctx, q.way.dialer(&p.silent))
		return found{result, err}
	}))
	f := answer.(func() found)() //nolint:forcetypeassert,errcheck // nothing else is stored
	return f.result, f.err
}

// String tells questions apart: those to other pods too.
func (q question) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s %d", q.endpoint.ID(), q.method, q.way, q.timeout, q.bytes)
	for _, pod := range q.endpoint.Pods {
		fmt.Fprintf(&b, " %s %t", pod.UID, kube.PodReady(pod))
	}
	return b.String()
}

func (q question) ask(ctx context.Context, dial *dialer) (probe.Result, error) {
	e := q.endpoint
	var result probe.Result
	if q.method == methodHTTP {
		result = probe.HTTP(ctx, probe.Web{
			URL: q.way.url, Timeout: q.timeout,
			Dialer: func(ctx context.Context, _, address string) (net.Conn, error) { return dial.to(ctx, address) },
		})
	} else {
		result = probe.GRPC(ctx, probe.Endpoint{
			Target: q.way.target, Protocol: protocolOf(e), RoundTrip: q.bytes, Timeout: q.timeout, Seed: seedOf(e.ID()),
			Options: tensor.Options{ComputeID: q.way.computeID, Dialer: dial.to},
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
	case kube.RuntimeSkyTorch:
		return probe.SkyTorch
	case kube.RuntimeKPU:
		return probe.KPU
	default:
		return probe.Auto
	}
}

// seedOf gives each endpoint bytes of its own, so that what one sends back
// cannot be another's.
func seedOf(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // it never fails
	return h.Sum64()
}
