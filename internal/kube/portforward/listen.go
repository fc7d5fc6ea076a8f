package portforward

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
)

// waitTime limits how long a connection waits for a ready pod, for example while the previous one is replaced.
const waitTime = 30 * time.Second

// Forward is a local port whose connections are forwarded to a backend.
type Forward struct {
	listener net.Listener
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// Listen listens on a port of 127.0.0.1, or on any free port if it is 0, and forwards connections to the backend until
// it is closed. It uses the values of ctx, and continues after ctx ends. report is called concurrently with the errors
// of connections that could not be forwarded.
//
// Each connection selects a ready pod, and waits for one if necessary. After a replacement of the pod, the next
// connection therefore reaches the new pod.
func Listen(ctx context.Context, c *kube.Cluster, b Backend, port int, report func(error)) (*Forward, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &Forward{listener: listener, cancel: cancel}
	f.running.Go(func() {
		for {
			local, err := listener.Accept()
			if err != nil {
				return // the listener was closed
			}
			f.running.Go(func() {
				if err := serve(ctx, c, b, local); err != nil && ctx.Err() == nil {
					report(err)
				}
			})
		}
	})
	return f, nil
}

// Port returns the local port.
func (f *Forward) Port() int {
	address, _ := f.listener.Addr().(*net.TCPAddr)
	return address.Port
}

// Close closes the port and all its connections, and returns when they have ended.
func (f *Forward) Close() error {
	f.cancel()
	err := f.listener.Close()
	f.running.Wait()
	return err
}

// serve connects a local connection to the backend. If the remote connection fails, the local one is reset instead of
// closed, so that the client does not treat incomplete data as complete.
func serve(ctx context.Context, c *kube.Cluster, b Backend, local net.Conn) error {
	defer local.Close()
	remote, err := dialWithRetries(ctx, c, b)
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
		if halfCloser, ok := remote.(interface{ CloseWrite() error }); ok {
			_ = halfCloser.CloseWrite()
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

// reset makes the client read an error instead of the end of the data, once the connection is closed.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// dialWithRetries connects, and waits for a ready pod if there is none. Permanent errors end the wait immediately.
func dialWithRetries(ctx context.Context, c *kube.Cluster, b Backend) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	if b.Pod != "" {
		return Dial(ctx, c, b)
	}
	var conn net.Conn
	var err error
	pods := &observe.Objects{Changes: c.Store, Namespace: b.Namespace, Of: observe.AllOf(kube.PodsWith(b.Labels))}
	_, _ = observe.Until(ctx, c.Clock(), pods, func() (observe.Step[any], error) {
		previous := err
		if conn, err = Dial(ctx, c, b); kube.ClassOf(err) == kube.Canceled && previous != nil {
			err = previous // more specific than the timeout
		}
		return observe.Step[any]{Done: err == nil || !isTemporary(err)}, nil
	})
	return conn, err
}

// isTemporary reports whether the error is temporary: another pod may soon be
// ready, or the selected one was just deleted.
func isTemporary(err error) bool {
	if missing, ok := err.(*NoPodError); ok { //nolint:errorlint // returned unwrapped by Dial
		return missing.err == nil
	}
	class := kube.ClassOf(err)
	return class == kube.NotFound || class == kube.Other
}
