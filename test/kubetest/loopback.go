package kubetest

import (
	"context"
	"io"
	"net"
	"net/netip"
)

// Loopback connects the streams of port-forwards to ports of 127.0.0.1, like a kubelet whose pods run in the process of
// the test.
type Loopback struct{}

// PortForward implements portforward.PortForwarder of k8s.io/cri-streaming.
func (Loopback) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	var dialer net.Dialer
	target := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port)) //nolint:gosec // a port
	conn, err := dialer.DialTCP(ctx, "tcp", netip.AddrPort{}, target)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer stream.Close()
	go func() {
		_, _ = io.Copy(conn, stream)
		_ = conn.CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	return err
}
