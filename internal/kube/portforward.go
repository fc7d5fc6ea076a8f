package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/moby/spdystream"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/client-go/rest"
	clientforward "k8s.io/client-go/tools/portforward"
	spdytransport "k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// DialPod connects to a port of a pod through the API server, as kubectl
// port-forward does. ctx applies only to connecting. Errors are of type *Error,
// with the class Denied without permission to create pods/portforward. If
// nothing listens on the port, the first Read returns a *net.OpError.
//
// Each connection has a separate tunnel: the streams of one tunnel wait for
// each other, so that one slow reader would block all others.
func (c *Cluster) DialPod(ctx context.Context, namespace, pod string, port int32) (net.Conn, error) {
	ref := Ref{Kind: kind.Pod(), Namespace: namespace, Name: pod}
	tunnel, err := c.openTunnel(ctx, ref)
	if err != nil {
		return nil, forwardFailure(ref, err)
	}
	conn, err := openStreams(tunnel, ref, port)
	if err != nil {
		return nil, errors.Join(forwardFailure(ref, err), tunnel.Close())
	}
	return conn, nil
}

func forwardFailure(ref Ref, err error) error {
	failure, ok := errors.AsType[*Error](wrap("port-forward to", ref, err))
	if ok && apierrors.IsForbidden(failure.Err) {
		failure.Class = Denied // admission does not apply to connections, except for webhooks
	}
	return failure
}

// openTunnel opens the subresource portforward of a pod by WebSocket, or by
// SPDY for API servers before Kubernetes 1.31 and proxies that block
// WebSockets.
func (c *Cluster) openTunnel(ctx context.Context, pod Ref) (httpstream.Connection, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	at := conn.rest.Get().AbsPath("/api/v1/namespaces", pod.Namespace, "pods", pod.Name, "portforward").URL()
	tunnel, err := untilDone(ctx, func() (httpstream.Connection, error) { return overWebsocket(ctx, config, at) })
	if refused, ok := errors.AsType[*httpstream.UpgradeFailureError](err); ok {
		if apierrors.IsNotFound(refused.Cause) {
			return nil, refused.Cause
		}
		return untilDone(ctx, func() (httpstream.Connection, error) { return overSPDY(ctx, config, at) })
	}
	return tunnel, err
}

// restConfig returns the configuration of the connection. It contains
// credentials.
func (c *Cluster) restConfig() (*rest.Config, error) {
	resolved, err := recall(c, "configuration", c.config.Resolve)
	return resolved.REST, err
}

const pingPeriod = 10 * time.Second

func overWebsocket(ctx context.Context, config *rest.Config, at *url.URL) (httpstream.Connection, error) {
	transport, holder, err := websocket.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	conn, err := websocket.Negotiate(transport, holder, req,
		portforward.WebsocketsSPDYTunnelingPrefix+clientforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, err
	}
	return spdy.NewClientConnectionWithPings(clientforward.NewTunnelingConnection("client", conn), pingPeriod)
}

func overSPDY(ctx context.Context, config *rest.Config, at *url.URL) (httpstream.Connection, error) {
	transport, upgrader, err := spdytransport.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	answer := &refusalKeeper{next: transport}
	conn, _, err := spdytransport.NegotiateStreaming(upgrader, &http.Client{Transport: answer}, req,
		clientforward.PortForwardProtocolV1Name)
	if answer.status != nil {
		return nil, answer.status
	}
	return conn, err
}

// refusalKeeper keeps the Status of an API server that does not upgrade a
// connection, because the SPDY client returns only its message.
type refusalKeeper struct {
	next   http.RoundTripper
	status error
}

func (r *refusalKeeper) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	const longest = 64 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, longest))
	if err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		r.status = &apierrors.StatusError{ErrStatus: status}
	}
	resp.Body = readCloser{bytes.NewReader(body), resp.Body}
	return resp, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// untilDone waits for a connection until ctx ends. It closes a later
// connection.
func untilDone(ctx context.Context, open func() (httpstream.Connection, error)) (httpstream.Connection, error) {
	type result struct {
		conn httpstream.Connection
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := open()
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if late := <-done; late.err == nil {
				_ = late.conn.Close() // the caller has returned
			}
		}()
		return nil, ctx.Err()
	}
}

// openStreams opens the two streams of a connection: one for data, and one for
// errors of the kubelet (for the headers, see k8s.io/api/core/v1).
func openStreams(tunnel httpstream.Connection, pod Ref, port int32) (*podConn, error) {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	complaints, err := tunnel.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	if err := complaints.Close(); err != nil { // nothing is sent on it
		return nil, err
	}
	address := podAddress(fmt.Sprintf("%s/%s:%d", pod.Namespace, pod.Name, port))
	conn := &podConn{tunnel: tunnel, address: address, heard: make(chan struct{})}
	go conn.listen(complaints)
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

// resetStream is a data stream that the kubelet has reset before it was open.
// The kubelet connects to the port when it receives the stream, and resets the
// stream if that fails, possibly before its reply to the opening of the stream:
// see portForward in
// k8s.io/cri-streaming/pkg/streaming/portforward/httpstream.go and
// newSpdyStream in k8s.io/streaming/pkg/httpstream/spdy/connection.go.
type resetStream struct{ httpstream.Stream }

func (resetStream) Read([]byte) (int, error)  { return 0, spdystream.ErrReset }
func (resetStream) Write([]byte) (int, error) { return 0, spdystream.ErrReset }
func (resetStream) Close() error              { return nil }

// podConn is a connection to a port of a pod. It does not support deadlines.
type podConn struct {
	httpstream.Stream
	tunnel    httpstream.Connection
	address   podAddress
	heard     chan struct{} // closed when complaint is final
	complaint error
}

// listen reads the error of the kubelet until the stream or the tunnel ends.
func (c *podConn) listen(complaints io.Reader) {
	defer close(c.heard)
	const longest = 4 << 10
	text, _ := io.ReadAll(io.LimitReader(complaints, longest)) // the text before a read error is kept
	if len(text) > 0 {
		c.complaint = &net.OpError{Op: "read", Net: c.address.Network(), Addr: c.address, Err: errors.New(string(text))}
	}
}

// Read ends with the error of the kubelet, if any, instead of io.EOF.
func (c *podConn) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err == nil {
		return n, nil
	}
	// The kubelet ends the error stream before the data stream. The end of the
	// tunnel ends both after the received data is read.
	<-c.heard
	if c.complaint != nil {
		return n, c.complaint
	}
	return n, err
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
