package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
)

// Routes to an endpoint.
const (
	ViaAuto        = "auto"
	ViaDirect      = "direct"
	ViaPortForward = "port_forward"
)

// Timeouts of connecting, within the timeout of a probe. An endpoint that accepts
// no connection in this time is unreachable, however long a round trip may take.
const (
	directTimeout = 5 * time.Second
	// Many port-forwards can be opened at once, and each needs two TLS handshakes: with
	// the API server, and between the API server and the node.
	portForwardTimeout = 30 * time.Second
)

// Route describes how an endpoint is reached.
type Route struct {
	Target    string // host:port
	URL       string // for HTTP
	ComputeID string // for a gateway, otherwise ""

	forward func(context.Context) (net.Conn, error) // opens a port-forward; nil for direct
}

// RouteTo returns the route to an endpoint. via is a constant such as [ViaDirect], or "" for [ViaAuto].
func RouteTo(c *kube.Cluster, e *Endpoint, via string) Route {
	inside := inCluster(c)
	if via = cmp.Or(via, ViaAuto); via == ViaAuto {
		via = ViaPortForward
		if inside || e.Elsewhere {
			via = ViaDirect
		}
	}
	r := Route{Target: e.Address(), URL: e.URL}
	switch {
	case via == ViaPortForward:
		r.forward = func(ctx context.Context) (net.Conn, error) { return portforward.Dial(ctx, c, e.Backend) }
	case !inside && len(e.Gateways) > 0:
		r.Target, r.ComputeID = e.Gateways[0], e.ID()
	}
	return r
}

// inCluster reports whether this process runs in a pod of the same cluster.
// Only there, the names and addresses of Services can be used.
func inCluster(c *kube.Cluster) bool {
	host := c.Env().Get("KUBERNETES_SERVICE_HOST")
	config, err := c.API.RESTConfig()
	if host == "" || err != nil {
		return false
	}
	parsed, err := url.Parse(config.Host)
	return err == nil && (parsed.Hostname() == host || strings.HasPrefix(parsed.Hostname(), "kubernetes.default"))
}

// Forwarded reports whether the route is a port-forward.
func (r Route) Forwarded() bool { return r.forward != nil }

func (r Route) String() string {
	if r.Forwarded() {
		return ViaPortForward
	}
	return ViaDirect + " " + r.Target + " " + r.URL
}

// Dialer returns a dialer for the connections of one read.
func (r Route) Dialer() *Dialer { return r.dialer(&addresses{}) }

// dialer returns a [Route.Dialer] that does not dial the addresses at which other reads timed out.
func (r Route) dialer(unresponsive *addresses) *Dialer {
	return &Dialer{Open: func(ctx context.Context, address string) (net.Conn, error) {
		if r.Forwarded() {
			ctx, cancel := context.WithTimeout(ctx, portForwardTimeout)
			defer cancel()
			return r.forward(ctx)
		}
		ctx, cancel := context.WithTimeout(ctx, directTimeout)
		defer cancel()
		return unresponsive.dial(ctx, address)
	}}
}

// Dialer connects to an address, or to the backend of a port-forward.
type Dialer = probe.Dialer

// addresses records addresses that accepted no connection before the deadline, so that other reads do not wait for
// them, too. Hundreds of computes can share the address of one gateway.
type addresses struct{ since sync.Map } // of "host:port" to time.Time

// unresponsiveFor is the time during which an unresponsive address is not dialed again.
const unresponsiveFor = 30 * time.Second

var errUnresponsive = errors.New("connection attempt timed out a moment ago")

func (a *addresses) dial(ctx context.Context, address string) (net.Conn, error) {
	since, _ := a.since.Load(address)
	if when, ok := since.(time.Time); ok && time.Since(when) < unresponsiveFor {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s: %w", address, errUnresponsive)}
	}
	conn, err := tensor.DialTCP(ctx, address)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		a.since.Store(address, time.Now())
	}
	return conn, err
}
