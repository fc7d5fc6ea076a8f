package datasources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// route describes how an endpoint is reached.
type route struct {
	cluster   *kube.Cluster
	backend   *kube.Backend // target of the port-forward; nil for direct
	target    string        // host:port
	url       string        // for HTTP
	computeID string        // for a gateway, otherwise ""
}

func routeTo(cluster *kube.Cluster, e *kube.Endpoint, via string) route {
	inside := cluster.InCluster()
	if via = cmp.Or(via, viaAuto); via == viaAuto {
		via = viaPortForward
		if inside || e.Elsewhere {
			via = viaDirect
		}
	}
	r := route{cluster: cluster, target: e.Address(), url: e.URL}
	switch {
	case via == viaPortForward:
		r.backend = &e.Backend
	case !inside && len(e.Gateways) > 0:
		r.target, r.computeID = e.Gateways[0], e.ID()
	}
	return r
}

func (r route) String() string {
	if r.backend != nil {
		return viaPortForward
	}
	return viaDirect + " " + r.target + " " + r.url
}

// dialer returns a dialer for the connections of one read, which records the
// last error. unresponsive are the addresses at which other reads timed out.
func (r route) dialer(unresponsive *addresses) *dialer {
	return &dialer{route: r, unresponsive: unresponsive}
}

type dialer struct {
	route        route
	unresponsive *addresses

	mu   sync.Mutex
	last error
}

// addresses records addresses that accepted no connection before the deadline,
// so that other reads do not wait for them, too. Hundreds of computes can share
// the address of one gateway.
type addresses struct{ since sync.Map } // of "host:port" to time.Time

// unresponsiveFor is the time during which an unresponsive address is not dialed again.
const unresponsiveFor = 30 * time.Second

var errUnresponsive = errors.New("connection attempt timed out a moment ago")

func (a *addresses) dial(ctx context.Context, address string) (net.Conn, error) {
	if when, ok := a.since.Load(address); ok && time.Since(when.(time.Time)) < unresponsiveFor { //nolint:forcetypeassert,errcheck // nothing else is stored
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s: %w", address, errUnresponsive)}
	}
	var plain net.Dialer
	conn, err := plain.DialContext(ctx, "tcp", address)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		a.since.Store(address, time.Now())
	}
	return conn, err
}

func (d *dialer) to(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var conn net.Conn
	var err error
	if d.route.backend != nil {
		conn, err = d.route.cluster.Dial(ctx, *d.route.backend)
	} else {
		conn, err = d.unresponsive.dial(ctx, address)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = err
	return conn, err
}

// failure returns the error of the last connection attempt, or nil if it succeeded.
func (d *dialer) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}
