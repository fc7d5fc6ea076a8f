package kube

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// patience is how long a connection waits for a pod that is ready, while the
// one before it is replaced.
const patience = 30 * time.Second

// Forward is a local port whose connections go to a backend.
type Forward struct {
	listener net.Listener
	end      context.CancelFunc
	running  sync.WaitGroup
}

// Forward listens at a port of 127.0.0.1, any free one where it is 0, and
// forwards to the backend what connects there, until it is closed. It outlives
// ctx, whose values report gets: it is told why a connection could not be
// forwarded.
//
// Each connection goes to a pod that is ready when it is made, so that the next
// one after a pod was replaced reaches the new pod, and waits for it if need be.
func (c *Cluster) Forward(ctx context.Context, b Backend, port int, report func(error)) (*Forward, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	f := &Forward{listener: listener, end: end}
	f.running.Go(func() {
		for {
			local, err := listener.Accept()
			if err != nil {
				return // it is closed, which is the only thing to end it
			}
			f.running.Go(func() {
				if err := c.serve(ctx, b, local); err != nil && ctx.Err() == nil {
					report(err)
				}
			})
		}
	})
	return f, nil
}

// Port is the local one.
func (f *Forward) Port() int {
	address, _ := f.listener.Addr().(*net.TCPAddr)
	return address.Port
}

// Close ends the port and all its connections, and returns when they are gone.
func (f *Forward) Close() error {
	f.end()
	err := f.listener.Close()
	f.running.Wait()
	return err
}

// serve joins a local connection to one to the backend. What the backend broke
// off is broken off here too, rather than ended.
func (c *Cluster) serve(ctx context.Context, b Backend, local net.Conn) error {
	defer local.Close()
	remote, err := c.dialPatiently(ctx, b)
	if err != nil {
		reset(local)
		return err
	}
	defer remote.Close()
	stop := context.AfterFunc(ctx, func() {
		_ = local.Close()
		_ = remote.Close()
	})
	defer stop()

	var sending sync.WaitGroup
	sending.Go(func() {
		if _, err := io.Copy(remote, local); err != nil {
			_ = remote.Close()
			return
		}
		if half, ok := remote.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	})
	_, err = io.Copy(local, remote)
	if err != nil {
		reset(local)
	}
	_ = local.Close()
	sending.Wait()
	return err
}

// reset makes the end of a connection show as a failure to whoever reads from it.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// dialPatiently waits for a pod that is ready where there is none now. What
// cannot heal ends it at once.
func (c *Cluster) dialPatiently(ctx context.Context, b Backend) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if b.Pod != "" {
		return c.Dial(ctx, b)
	}
	for {
		changed := c.cache.collection(podsOfBackend(b), b.Namespace).changed()
		conn, err := c.Dial(ctx, b)
		if err == nil || !mayHeal(err) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, err // says more than that the time is up
		case <-changed:
		}
	}
}

// mayHeal says whether another pod could be ready in a moment, or the one that
// was chosen has just gone.
func mayHeal(err error) bool {
	if missing, ok := err.(*NoPodError); ok { //nolint:errorlint // nothing wraps it
		return missing.err == nil
	}
	class := ClassOf(err)
	return class == NotFound || class == Other
}
