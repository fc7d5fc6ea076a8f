package datasources

import (
	"cmp"
	"context"
	"net"
	"sync"

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

// dialer makes the connections of one probe, and remembers why it could not.
func (w way) dialer() *dialer { return &dialer{way: w} }

type dialer struct {
	way way

	mu   sync.Mutex
	last error
}

func (d *dialer) to(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, longestConnect)
	defer cancel()
	var conn net.Conn
	var err error
	if d.way.backend != nil {
		conn, err = d.way.cluster.Dial(ctx, *d.way.backend)
	} else {
		var plain net.Dialer
		conn, err = plain.DialContext(ctx, "tcp", address)
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
