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

// way is how an endpoint is reached.
type way struct {
	cluster   *kube.Cluster
	backend   *kube.Backend // where a port-forward goes to; nil for direct
	target    string        // host:port
	url       string        // of HTTP
	computeID string        // for a gateway, else ""
}

func wayTo(cluster *kube.Cluster, e *kube.Endpoint, via string) way {
	inside := cluster.InCluster()
	if via = cmp.Or(via, viaAuto); via == viaAuto {
		via = viaPortForward
		if inside || e.Elsewhere {
			via = viaDirect
		}
	}
	w := way{cluster: cluster, target: e.Address(), url: e.URL}
	switch {
	case via == viaPortForward:
		w.backend = &e.Backend
	case !inside && len(e.Gateways) > 0:
		w.target, w.computeID = e.Gateways[0], e.ID()
	}
	return w
}

func (w way) String() string {
	if w.backend != nil {
		return viaPortForward
	}
	return viaDirect + " " + w.target + " " + w.url
}

// dialer makes the connections of one reading, and remembers why it could not.
// silent are the addresses that other readings got no answer from.
func (w way) dialer(silent *addresses) *dialer { return &dialer{way: w, silent: silent} }

type dialer struct {
	way    way
	silent *addresses

	mu   sync.Mutex
	last error
}

// addresses are those that took no connection in all of the time that there was
// for it, such as a gateway's that two hundred computes share: the others then
// need not wait for it.
type addresses struct{ since sync.Map } // of "host:port" to when

// remembered is how long an address is not tried again.
const remembered = 30 * time.Second

var errSilent = errors.New("it took no connection a moment ago")

func (a *addresses) dial(ctx context.Context, address string) (net.Conn, error) {
	if when, ok := a.since.Load(address); ok && time.Since(when.(time.Time)) < remembered { //nolint:forcetypeassert,errcheck // nothing else is stored
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s: %w", address, errSilent)}
	}
	var plain net.Dialer
	conn, err := plain.DialContext(ctx, "tcp", address)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		a.since.Store(address, time.Now())
	}
	return conn, err
}

func (d *dialer) to(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, longestConnect)
	defer cancel()
	var conn net.Conn
	var err error
	if d.way.backend != nil {
		conn, err = d.way.cluster.Dial(ctx, *d.way.backend)
	} else {
		conn, err = d.silent.dial(ctx, address)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = err
	return conn, err
}

// failure is why there was no connection; nil where there was one.
func (d *dialer) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}
