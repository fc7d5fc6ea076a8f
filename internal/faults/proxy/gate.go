package proxy

import (
	"net"
	"sync"
	"time"
)

// gate is a listener on one port that can refuse or reset connections for some time.
type gate struct {
	address string

	mu     sync.Mutex
	change *sync.Cond
	inner  net.Listener // nil while connections are refused
	resets bool         // connections are accepted and reset
	closed bool
	timer  *time.Timer // ends the outage
	conns  map[net.Conn]bool
}

func newGate() (*gate, error) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gate{address: inner.Addr().String(), inner: inner, conns: map[net.Conn]bool{}}
	g.change = sync.NewCond(&g.mu)
	return g, nil
}

// Accept waits for a connection. During an outage, it waits for the end of the outage first.
func (g *gate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		for g.inner == nil && !g.closed {
			g.change.Wait()
		}
		inner, closed := g.inner, g.closed
		g.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		conn, err := inner.Accept()
		if err != nil {
			time.Sleep(time.Millisecond) // the listener was closed by an outage, or by Close
			continue
		}
		g.mu.Lock()
		resets := g.resets
		if !resets {
			g.conns[conn] = true
		}
		g.mu.Unlock()
		if resets {
			resetConn(conn)
			continue
		}
		return &tracked{Conn: conn, gate: g}, nil
	}
}

// outage resets all connections, and rejects new ones for some time.
func (g *gate) outage(resets bool, duration time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.timer != nil {
		return // closed, or an outage is in progress
	}
	if resets {
		g.resets = true
	} else {
		_ = g.inner.Close()
		g.inner = nil
	}
	for conn := range g.conns {
		resetConn(conn)
	}
	clear(g.conns)
	g.timer = time.AfterFunc(duration, g.reopen)
}

// reopen ends an outage. Without an outage, it does nothing.
func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	g.resets = false
	for g.inner == nil && !g.closed {
		// Another process may temporarily use the port as the source of a connection.
		inner, err := net.Listen("tcp", g.address)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		g.inner = inner
	}
	g.change.Broadcast()
}

// Close closes the listener.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil // the server also closes its listeners
	}
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
	g.change.Broadcast()
	if g.inner == nil {
		return nil
	}
	return g.inner.Close()
}

// Addr returns the address, even while connections are refused.
func (g *gate) Addr() net.Addr {
	address, err := net.ResolveTCPAddr("tcp", g.address)
	if err != nil {
		return nil // cannot happen for an address of a listener
	}
	return address
}

// tracked is a connection that an outage can reset.
type tracked struct {
	net.Conn

	gate *gate
}

func (c *tracked) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c.Conn)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// resetConn closes a connection so that the peer reads ECONNRESET rather than EOF.
func resetConn(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if this fails, the peer reads EOF
	}
	_ = conn.Close()
}
