package proxy

import (
	"net"
	"sync"
	"time"
)

// outageListener is a listener on one port that can refuse or reset connections for some time.
type outageListener struct {
	address string

	mu     sync.Mutex
	change *sync.Cond
	inner  net.Listener // nil while connections are refused
	resets bool         // connections are accepted and reset
	closed bool
	timer  *time.Timer // ends the outage
	conns  map[net.Conn]bool
}

func newOutageListener() (*outageListener, error) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &outageListener{address: inner.Addr().String(), inner: inner, conns: map[net.Conn]bool{}}
	l.change = sync.NewCond(&l.mu)
	return l, nil
}

// Accept waits for a connection. During an outage, it waits for the end of the outage first.
func (l *outageListener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		for l.inner == nil && !l.closed {
			l.change.Wait()
		}
		inner, closed := l.inner, l.closed
		l.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		conn, err := inner.Accept()
		if err != nil {
			time.Sleep(time.Millisecond) // the listener was closed by an outage, or by Close
			continue
		}
		l.mu.Lock()
		resets := l.resets
		if !resets {
			l.conns[conn] = true
		}
		l.mu.Unlock()
		if resets {
			resetConn(conn)
			continue
		}
		return &tracked{Conn: conn, listener: l}, nil
	}
}

// outage resets all connections, and rejects new ones for some time.
func (l *outageListener) outage(resets bool, duration time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.timer != nil {
		return // closed, or an outage is in progress
	}
	if resets {
		l.resets = true
	} else {
		_ = l.inner.Close()
		l.inner = nil
	}
	for conn := range l.conns {
		resetConn(conn)
	}
	clear(l.conns)
	l.timer = time.AfterFunc(duration, l.reopen)
}

// resetAll resets all connections.
func (l *outageListener) resetAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		resetConn(conn)
	}
	clear(l.conns)
}

// reopen ends an outage. Without an outage, it does nothing.
func (l *outageListener) reopen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.resets = false
	for l.inner == nil && !l.closed {
		// Another process may temporarily use the port as the source of a connection.
		inner, err := net.Listen("tcp", l.address)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		l.inner = inner
	}
	l.change.Broadcast()
}

// Close closes the listener.
func (l *outageListener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil // the server also closes its listeners
	}
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.change.Broadcast()
	if l.inner == nil {
		return nil
	}
	return l.inner.Close()
}

// Addr returns the address, even while connections are refused.
func (l *outageListener) Addr() net.Addr {
	address, err := net.ResolveTCPAddr("tcp", l.address)
	if err != nil {
		return nil // cannot happen for an address of a listener
	}
	return address
}

// tracked is a connection that an outage can reset.
type tracked struct {
	net.Conn

	listener *outageListener
}

func (c *tracked) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c.Conn)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// resetConn closes a connection so that the peer reads ECONNRESET rather than EOF.
func resetConn(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if this fails, the peer reads EOF
	}
	_ = conn.Close()
}
