package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// serveTCP serves connections on which each request consists of one byte for the
// kind, u, d or e, and eight bytes for the size.
func serveTCP(ctx context.Context, l net.Listener) error {
	context.AfterFunc(ctx, func() { _ = l.Close() })
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			buf := make([]byte, chunk)
			for serveOne(conn, buf) == nil {
			}
		}()
	}
}

func serveOne(conn net.Conn, buf []byte) error {
	var head [9]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint64(head[1:]))
	switch head[0] {
	case 'u':
		if err := drain(conn, buf, size); err != nil {
			return err
		}
		_, err := conn.Write([]byte{1})
		return err
	case 'd':
		return fill(conn, buf, size)
	default:
		for size > 0 {
			n, err := conn.Read(buf[:min(size, int64(len(buf)))])
			if err != nil {
				return err
			}
			if _, err := conn.Write(buf[:n]); err != nil {
				return err
			}
			size -= int64(n)
		}
		return nil
	}
}

func drain(conn net.Conn, buf []byte, size int64) error {
	for size > 0 {
		n, err := conn.Read(buf[:min(size, int64(len(buf)))])
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

func fill(conn net.Conn, buf []byte, size int64) error {
	for size > 0 {
		n, err := conn.Write(buf[:min(size, int64(len(buf)))])
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

type tcpPeer struct {
	conn net.Conn
	data *data
	buf  []byte
}

func newTCPPeer(ctx context.Context, address string, largest int64) (peer, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("raw TCP: %w", err)
	}
	return &tcpPeer{conn: conn, data: newData(largest), buf: make([]byte, chunk)}, nil
}

func (p *tcpPeer) close() { _ = p.conn.Close() }

func (p *tcpPeer) ask(kind byte, size int64) error {
	_, err := p.conn.Write(binary.LittleEndian.AppendUint64([]byte{kind}, uint64(size)))
	return err
}

func (p *tcpPeer) upload(_ context.Context, size int64) error {
	if err := p.ask('u', size); err != nil {
		return err
	}
	if _, err := p.conn.Write(p.data.bytes[:size]); err != nil {
		return err
	}
	_, err := io.ReadFull(p.conn, p.buf[:1])
	return err
}

func (p *tcpPeer) download(_ context.Context, size int64) error {
	if err := p.ask('d', size); err != nil {
		return err
	}
	_, err := io.ReadFull(p.conn, p.data.bytes[:size])
	return err
}

func (p *tcpPeer) echo(_ context.Context, size int64) error {
	size = p.data.fileSize(size) // as many bytes as the others
	if err := p.ask('e', size); err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		_, err := p.conn.Write(p.data.bytes[:size])
		sent <- err
	}()
	if err := drain(p.conn, p.buf, size); err != nil {
		return err
	}
	return <-sent
}
