package probe

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
)

// Dialer opens connections and records the result, to distinguish an unreachable server from one that does not respond
// on an open connection. It is safe for concurrent use.
type Dialer struct {
	// Open opens a connection, for example through a port-forward. Defaults to TCP.
	Open func(ctx context.Context, address string) (net.Conn, error)

	mu        sync.Mutex
	last      error
	connected time.Time
}

// Dial opens a connection.
func (d *Dialer) Dial(ctx context.Context, address string) (net.Conn, error) {
	open := d.Open
	if open == nil {
		open = tensor.DialTCP
	}
	conn, err := open(ctx, address)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last = err; err == nil {
		d.connected = time.Now()
	}
	return conn, err
}

// Connected reports whether an attempt has succeeded.
func (d *Dialer) Connected() bool { return !d.since().IsZero() }

// since returns when the last connection was opened. It is zero if none was.
func (d *Dialer) since() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.connected
}

// Failure returns the error of the last connection attempt, or nil if it succeeded.
func (d *Dialer) Failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}
