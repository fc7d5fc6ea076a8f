package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
)

// newPeer returns a client of a server. Clients of the same server have different IDs.
func newPeer(ctx context.Context, kind, address string, id uint64, largest int64) (peer, error) {
	switch kind {
	case "ours":
		c, err := tensor.New(address, tensor.Options{})
		return &ours{client: c, id: id, data: newData(largest)}, err
	case "grpc":
		c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
		return &plain{conn: c, data: newData(largest)}, err
	default:
		return newTCPPeer(ctx, address, largest)
	}
}

// data is one tensor in memory, sent from and received into.
type data struct {
	bytes []byte
	at    int
	files map[int64]int64 // results of fileSize
}

func newData(n int64) *data {
	d := &data{bytes: make([]byte, n), files: map[int64]int64{}}
	_, _ = rand.NewChaCha8([32]byte{}).Read(d.bytes)
	return d
}

// Write receives data into the tensor, which starts at the beginning after reset.
func (d *data) Write(p []byte) (int, error) {
	n := copy(d.bytes[d.at:], p)
	d.at += n
	return len(p), nil
}

func (d *data) reset() { d.at = 0 }

// fileSize is the function of this name, which only the client of this module has to call for each transfer.
func (d *data) fileSize(size int64) int64 {
	if d.files[size] == 0 {
		d.files[size] = fileSize(size)
	}
	return d.files[size]
}

type ours struct {
	client *tensor.Client
	id     uint64 // of the tensor
	data   *data
	filled int64
}

func (o *ours) close() { _ = o.client.Close() }

func (o *ours) upload(ctx context.Context, size int64) error {
	if o.filled != size && o.filled > 0 { // the shape of a tensor cannot change
		if err := o.client.Delete(ctx, o.id); err != nil {
			return err
		}
	}
	o.filled = size
	return o.client.Upload(ctx, o.id, size, bytes.NewReader(o.data.bytes[:size]))
}

func (o *ours) download(ctx context.Context, size int64) error {
	if o.filled != size {
		if err := o.upload(ctx, size); err != nil {
			return err
		}
	}
	o.data.reset()
	return o.client.Download(ctx, o.id, size, o.data)
}

func (o *ours) echo(ctx context.Context, size int64) error {
	if o.filled > 0 { // only once, because the memory of the server is measured, too
		o.filled = 0
		if err := o.client.Delete(ctx, o.id); err != nil {
			return err
		}
	}
	return o.client.Echo(ctx, strconv.FormatUint(o.id, 10), size, bytes.NewReader(o.data.bytes[:size]), io.Discard)
}

// fileSize returns the number of bytes that an echo of a tensor transfers: KPU sends it as a torch.save file.
func fileSize(size int64) int64 {
	e, err := torchfile.NewEncoder(torchfile.PickleOfBytes(size), size)
	if err != nil {
		return size
	}
	return e.Size()
}

// plain is unmodified gRPC with messages of raw bytes.
type plain struct {
	conn *grpc.ClientConn
	data *data
}

func (p *plain) close() { _ = p.conn.Close() }

func (p *plain) send(st grpc.ClientStream, size int64) error {
	for at := int64(0); at < size; at += chunk {
		if err := st.SendMsg(wrapperspb.Bytes(p.data.bytes[at:min(at+chunk, size)])); err != nil {
			return err
		}
	}
	return st.CloseSend()
}

func (p *plain) receive(st grpc.ClientStream, w io.Writer, size int64) error {
	for n := int64(0); ; {
		var m wrapperspb.BytesValue
		switch err := st.RecvMsg(&m); {
		case errors.Is(err, io.EOF):
			if n != size {
				return fmt.Errorf("%d bytes of %d", n, size)
			}
			return nil
		case err != nil:
			return err
		}
		n += int64(len(m.GetValue()))
		if _, err := w.Write(m.GetValue()); err != nil {
			return err
		}
	}
}

func (p *plain) upload(ctx context.Context, size int64) error {
	st, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, plainMethod("Upload"))
	if err != nil {
		return err
	}
	if err := p.send(st, size); err != nil {
		return err
	}
	return st.RecvMsg(&wrapperspb.Int64Value{})
}

func (p *plain) download(ctx context.Context, size int64) error {
	st, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, plainMethod("Download"))
	if err != nil {
		return err
	}
	if err := st.SendMsg(wrapperspb.Int64(size)); err != nil {
		return err
	}
	if err := st.CloseSend(); err != nil {
		return err
	}
	p.data.reset()
	return p.receive(st, p.data, size)
}

func (p *plain) echo(ctx context.Context, size int64) error {
	size = p.data.fileSize(size) // as many bytes as the others
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, plainMethod("Echo"))
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- p.send(st, size) }()
	if err := p.receive(st, io.Discard, size); err != nil {
		return err
	}
	return <-sent
}
