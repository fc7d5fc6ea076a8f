// Package portforward connects to pods through the API server, as kubectl port-forward does.
package portforward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/moby/spdystream"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/ktdev/terraform-provider-kt/internal/detach"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// DialPod connects to a port of a pod. ctx applies only to connecting. Errors are of type *kube.Error, with the class
// Denied without permission to create pods/portforward. If nothing listens on the port, the first Read returns a
// *net.OpError.
//
// Each connection has a separate tunnel: the streams of one tunnel wait for
// each other, so that one slow reader would block all others.
func DialPod(ctx context.Context, c *kube.Cluster, namespace, pod string, port int32) (net.Conn, error) {
	ref := kube.Ref{Kind: kind.Pod(), Namespace: namespace, Name: pod}
	tunnel, err := openTunnel(ctx, c, ref)
	if err != nil {
		return nil, kube.WrapSubresource("port-forward to", ref, err)
	}
	conn, err := openStreams(tunnel, ref, port)
	if err != nil {
		return nil, errors.Join(kube.WrapSubresource("port-forward to", ref, err), tunnel.Close())
	}
	return conn, nil
}

// openTunnel opens the subresource portforward of a pod by WebSocket, or by SPDY for API servers before Kubernetes 1.31
// and proxies that block WebSockets.
func openTunnel(ctx context.Context, c *kube.Cluster, pod kube.Ref) (httpstream.Connection, error) {
	config, err := c.API.RESTConfig()
	if err != nil {
		return nil, err
	}
	upgrade := transport.NewUpgrade(ctx, config)
	url, client, upgrader, err := upgrade.To(pod.Namespace, pod.Name, "portforward")
	if err != nil {
		return nil, err
	}
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, upgrade.Config)
	if err != nil {
		return nil, err
	}
	spdyDialer := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: client}, http.MethodPost, url)
	dialer := portforward.NewFallbackDialerForStreaming(websocket, spdyDialer, transport.NoWebSocket)
	return detach.Call(ctx, func() (httpstream.Connection, error) {
		conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		return conn, upgrade.Rejection(err)
	}, func(late httpstream.Connection) { _ = late.Close() }) // the caller has returned
}

// openStreams opens the two streams of a connection: one for data, and one for
// errors of the kubelet (for the headers, see k8s.io/api/core/v1).
func openStreams(tunnel httpstream.Connection, pod kube.Ref, port int32) (*podConn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	errorStream, err := tunnel.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	if err := errorStream.Close(); err != nil { // nothing is sent on it
		return nil, err
	}
	address := podAddress(fmt.Sprintf("%s/%s:%d", pod.Namespace, pod.Name, port))
	conn := &podConn{tunnel: tunnel, address: address, failureRead: make(chan struct{})}
	go conn.readFailure(errorStream)
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	conn.Stream, err = tunnel.CreateStream(headers)
	if errors.Is(err, spdystream.ErrReset) {
		conn.Stream, err = resetStream{}, nil
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// resetStream is a data stream that the kubelet has reset before it was open. The kubelet connects to the port when it
// receives the stream, and resets the stream if that fails, possibly before its reply to the opening of the stream: see
// portForward in k8s.io/cri-streaming/pkg/streaming/portforward/httpstream.go and newSpdyStream in
// k8s.io/streaming/pkg/httpstream/spdy/connection.go.
type resetStream struct{ httpstream.Stream }

func (resetStream) Read([]byte) (int, error)  { return 0, spdystream.ErrReset }
func (resetStream) Write([]byte) (int, error) { return 0, spdystream.ErrReset }
func (resetStream) Close() error              { return nil }

// podConn is a connection to a port of a pod. It does not support deadlines.
type podConn struct {
	httpstream.Stream
	tunnel      httpstream.Connection
	address     podAddress
	failureRead chan struct{} // closed when failure is complete
	failure     error
}

// readFailure reads the error of the kubelet until the stream or the tunnel ends.
func (c *podConn) readFailure(errorStream io.Reader) {
	defer close(c.failureRead)
	const maxBytes = 4 << 10
	text, _ := io.ReadAll(io.LimitReader(errorStream, maxBytes)) // the text before a read error is kept
	if len(text) > 0 {
		c.failure = &net.OpError{Op: "read", Net: c.address.Network(), Addr: c.address, Err: errors.New(string(text))}
	}
}

// Read ends with the error of the kubelet, if any, instead of io.EOF.
func (c *podConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err == nil {
		return n, nil
	}
	return n, c.explained(err)
}

// Write ends with the error of the kubelet, if any, after the kubelet has reset the stream.
func (c *podConn) Write(p []byte) (int, error) {
	n, err := c.Stream.Write(p)
	if errors.Is(err, spdystream.ErrReset) {
		err = c.explained(err)
	}
	return n, err
}

// explained returns the error of the kubelet, or the error of the data stream if there is none. The kubelet ends the
// error stream before the data stream. The end of the tunnel ends both after the received data is read.
func (c *podConn) explained(err error) error {
	<-c.failureRead
	return cmp.Or(c.failure, err)
}

// CloseWrite closes the write side of the connection.
func (c *podConn) CloseWrite() error { return c.Stream.Close() }

// Close closes the connection in both directions, and its tunnel.
func (c *podConn) Close() error { return c.tunnel.Close() }

func (c *podConn) LocalAddr() net.Addr  { return podAddress("") }
func (c *podConn) RemoteAddr() net.Addr { return c.address }

func (c *podConn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *podConn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *podConn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// podAddress is an address of the form "namespace/pod:port".
type podAddress string

// Network returns the name of the network.
func (podAddress) Network() string { return "port-forward" }

func (a podAddress) String() string { return string(a) }
