package portforward

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// A client may write before it reads, and the kubelet may have reset the stream by then.
func TestResetOfAStreamIsExplainedByTheKubelet(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*podConn) error{
		"read":  func(c *podConn) error { _, err := c.Read(make([]byte, 1)); return err },
		"write": func(c *podConn) error { _, err := c.Write([]byte("GET /")); return err },
	} {
		for text, want := range map[string]string{
			"dial tcp: connection refused": "connection refused", "": "Stream reset",
		} {
			conn := &podConn{Stream: resetStream{}, address: "ml/a:1", failureRead: make(chan struct{})}
			go conn.readFailure(strings.NewReader(text))
			err := use(conn)
			_, network := errors.AsType[*net.OpError](err)
			if err == nil || !strings.Contains(err.Error(), want) || network != (text != "") {
				t.Errorf("%s, and the kubelet says %q: %v", name, text, err)
			}
		}
	}
}
