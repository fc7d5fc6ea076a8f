package server

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
)

// start serves on a free port, and returns a connection that uses the default codec
// and generated messages, independently of this module's client.
func start(t *testing.T, o Options) (*Server, *grpc.ClientConn) {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(o)
	done := make(chan error, 1)
	go func() { done <- s.Serve(t.Context(), l, time.Second) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, conn
}

func update(t *testing.T, conn *grpc.ClientConn, chunks ...*skytorch.TensorChunk) error {
	t.Helper()
	st, err := skytorch.NewServiceClient(conn).UpdateTensor(t.Context())
	if err != nil {
		return err
	}
	for _, c := range chunks {
		if err := st.Send(c); err != nil {
			break // CloseAndRecv returns the reason
		}
	}
	_, err = st.CloseAndRecv()
	return err
}

func read(t *testing.T, conn *grpc.ClientConn, req *skytorch.GetTensorRequest) ([]byte, *skytorch.TensorChunk, error) {
	t.Helper()
	st, err := skytorch.NewServiceClient(conn).GetTensor(t.Context(), req)
	if err != nil {
		return nil, nil, err
	}
	var data []byte
	var first *skytorch.TensorChunk
	for {
		c, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return data, first, nil
		}
		if err != nil {
			return data, first, err
		}
		if first == nil {
			first = c
		}
		data = append(data, c.Data...)
	}
}

func numbers(n int) []byte {
	var out []byte
	for i := range n {
		out = binary.LittleEndian.AppendUint16(out, uint16(i))
	}
	return out
}

// whole returns a tensor of the int16 numbers 0, 1, 2, … in one chunk.
func whole(id uint64, shape ...int64) *skytorch.TensorChunk {
	n, _ := layout.Of("torch.int16", shape...).Elements()
	return &skytorch.TensorChunk{
		TensorId: id, TotalChunks: 1, Shape: shape, Dtype: "torch.int16", TotalBytes: uint64(2 * n),
		Data: numbers(int(n)),
	}
}
