package main

import (
	"net"
	"sync"
)

// connections is a listener that can close its accepted connections. When kube-apiserver is stopped, it waits for its
// clients for up to its request timeout of one minute, which no flag can shorten.
type connections struct {
	*net.TCPListener

	mu   sync.Mutex
	open map[*connection]struct{}
}

type connection struct {
	*net.TCPConn
	from *connections
}

func newConnections(listener *net.TCPListener) *connections {
	return &connections{TCPListener: listener, open: map[*connection]struct{}{}}
}

// Accept implements [net.Listener].
func (c *connections) Accept() (net.Conn, error) {
	tcp, err := c.AcceptTCP()
	if err != nil {
		return nil, err
	}
	conn := &connection{TCPConn: tcp, from: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[conn] = struct{}{}
	return conn, nil
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.TCPConn.Close()
}

// closeAll closes all open connections.
func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.TCPConn.Close()
	}
	clear(c.open)
}
