package endpoint

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
)

// Methods of a probe.
const (
	MethodHealth = "health"
	MethodHTTP   = "http"
	MethodTensor = "tensor"
)

// ProbeRequest describes a probe of an endpoint.
type ProbeRequest struct {
	Endpoint *Endpoint
	Method   string
	Route    Route
	Security Security
	Timeout  time.Duration
	Bytes    int64 // size of the tensor of [MethodTensor]
}

// Prober sends each probe once, even if several data sources request it, as
// long as the pods stay the same. Its methods may be called concurrently.
type Prober struct {
	results      sync.Map // of probeKey to func() (probe.Result, error)
	unresponsive addresses
}

type probeKey struct {
	cluster  *kube.Cluster // with -debug, one process serves many runs
	request  string
	security Security
}

// Run sends the probe. An error has its cause on the client's side, such as a missing permission.
func (p *Prober) Run(ctx context.Context, c *kube.Cluster, q ProbeRequest) (probe.Result, error) {
	send, _ := p.results.LoadOrStore(probeKey{c, q.String(), q.Security}, sync.OnceValues(func() (probe.Result, error) {
		return q.Send(ctx, q.Route.dialer(&p.unresponsive))
	}))
	return send.(func() (probe.Result, error))() //nolint:errcheck // nothing else is stored
}

// String returns a description of the request, without its secrets. It differs for different pods.
func (q ProbeRequest) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s %s %d", q.Endpoint.ID(), q.Method, q.Route, q.Timeout, q.Bytes)
	for _, pod := range q.Endpoint.Pods {
		fmt.Fprintf(&b, " %s %t", pod.UID, portforward.Ready(pod))
	}
	return b.String()
}

// Send sends the probe. Unlike [Prober.Run], each call sends it.
func (q ProbeRequest) Send(ctx context.Context, dial *Dialer) (probe.Result, error) {
	send := q.grpc
	if q.Method == MethodHTTP {
		send = q.http
	}
	result := send(ctx, dial)
	if failure := dial.Failure(); failure != nil && result.Status != probe.Serving {
		switch kube.ClassOf(failure) {
		case kube.Denied, kube.Unauthorized, kube.Misconfigured:
			return result, failure
		default:
			result.Detail = failure.Error()
		}
	}
	return result, nil
}

func (q ProbeRequest) http(ctx context.Context, dial *Dialer) probe.Result {
	return probe.HTTP(ctx, probe.Web{URL: q.Security.url(q.Route.URL), TLS: q.Security.config(),
		Token: q.Security.Token, Timeout: q.Timeout, Dialer: dial.Dial,
	})
}

func (q ProbeRequest) grpc(ctx context.Context, dial *Dialer) probe.Result {
	// The seed differs for each endpoint, so that the tensor of one endpoint is never accepted from another.
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(q.Endpoint.ID())) // never fails
	return probe.GRPC(ctx, probe.Endpoint{
		Target: q.Route.Target, Runtime: q.Endpoint.Runtime, RoundTrip: q.Bytes, Timeout: q.Timeout,
		Seed: seed.Sum64(), Options: q.Security.Options(q.Route, dial),
	})
}
