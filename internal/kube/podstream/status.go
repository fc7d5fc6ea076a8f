package podstream

import (
	"errors"
	"net/http"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream" //nolint:staticcheck // the type in the interfaces of client-go
	"k8s.io/client-go/transport/spdy"
)

// errNoStatus is the error of a connection that ended before the server reported how the command ended.
var errNoStatus = errors.New("the connection was closed before the command ended; it may still be running")

// statusUpgrader is a SPDY upgrader that checks that the server reports how the command ended. client-go takes the end
// of the stream for this report as a success (tools/remotecommand/errorstream.go), and so also a lost connection.
// Connections by WebSocket end with an error then.
type statusUpgrader struct {
	spdy.Upgrader

	connected, reported atomic.Bool
}

// NewConnection implements [spdy.Upgrader].
func (u *statusUpgrader) NewConnection(response *http.Response) (httpstream.Connection, error) {
	connection, err := u.Upgrader.NewConnection(response)
	if err != nil {
		return nil, err
	}
	u.connected.Store(true)
	return &statusConnection{Connection: connection, upgrader: u}, nil
}

// check returns errNoStatus instead of a success that the server did not report.
func (u *statusUpgrader) check(err error) error {
	if err == nil && u.connected.Load() && !u.reported.Load() {
		return errNoStatus
	}
	return err
}

type statusConnection struct {
	httpstream.Connection

	upgrader *statusUpgrader
}

// CreateStream implements [httpstream.Connection].
func (c *statusConnection) CreateStream(headers http.Header) (httpstream.Stream, error) {
	stream, err := c.Connection.CreateStream(headers)
	if err != nil || headers.Get(corev1.StreamType) != corev1.StreamTypeError {
		return stream, err
	}
	return &statusStream{Stream: stream, upgrader: c.upgrader}, nil
}

type statusStream struct {
	httpstream.Stream

	upgrader *statusUpgrader
}

func (s *statusStream) Read(p []byte) (int, error) {
	n, err := s.Stream.Read(p)
	if n > 0 {
		s.upgrader.reported.Store(true)
	}
	return n, err
}
