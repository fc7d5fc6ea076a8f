package tensor_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// scripted is a server with scripted responses.
type scripted struct {
	skytorch.UnimplementedServiceServer
	kputorch.UnsafeServiceServer
	get  func(st grpc.ServerStreamingServer[skytorch.TensorChunk]) error
	put  func(st grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error
	echo func(st grpc.BidiStreamingServer[kputorch.TensorChunk, kputorch.TensorChunk]) error
}

func (s *scripted) GetTensor(_ *skytorch.GetTensorRequest, st grpc.ServerStreamingServer[skytorch.TensorChunk]) error {
	return s.get(st)
}

func (s *scripted) UpdateTensor(st grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error {
	return s.put(st)
}

func (s *scripted) StreamTensors(st grpc.BidiStreamingServer[kputorch.TensorChunk, kputorch.TensorChunk]) error {
	return s.echo(st)
}

func (s *scripted) ReceiveTensors(grpc.ClientStreamingServer[kputorch.TensorChunk, kputorch.TensorResponse]) error {
	return status.Error(codes.Unimplemented, "")
}

func (s *scripted) SendTensors(*kputorch.TensorRequest, grpc.ServerStreamingServer[kputorch.TensorChunk]) error {
	return status.Error(codes.Unimplemented, "")
}

func (s *scripted) start(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20))
	skytorch.RegisterServiceServer(g, s)
	kputorch.RegisterServiceServer(g, s)
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	t.Cleanup(func() {
		g.Stop()
		<-done
	})
	return l.Addr().String()
}

func TestHostileDownloads(t *testing.T) {
	t.Parallel()
	part := func(number uint32, bytes int) *skytorch.TensorChunk {
		c := &skytorch.TensorChunk{TensorId: 1, ChunkNumber: number, TotalChunks: 2, Data: make([]byte, bytes)}
		if number == 0 {
			c.Shape, c.Dtype, c.TotalBytes = []int64{10}, "torch.uint8", 10
		}
		return c
	}
	with := func(c *skytorch.TensorChunk, change func(*skytorch.TensorChunk)) *skytorch.TensorChunk {
		change(c)
		return c
	}
	for name, c := range map[string]struct {
		chunks []*skytorch.TensorChunk
		end    error
		class  tensor.Class
		fault  wire.Fault
	}{
		"whole": {[]*skytorch.TensorChunk{part(0, 5), part(1, 5)}, nil, 0, ""},
		"whole without a description": {[]*skytorch.TensorChunk{with(part(0, 5), func(c *skytorch.TensorChunk) {
			c.Dtype, c.Shape, c.TotalBytes = "", nil, 0
		}), part(1, 5)}, nil, 0, ""},
		"whole with metadata": {[]*skytorch.TensorChunk{with(part(0, 5), func(c *skytorch.TensorChunk) {
			c.Dtype, c.Shape, c.Metadata = "", nil, &skytorch.TensorMetadata{Dtype: "uint8", Shape: []int64{10}}
		}), part(1, 5)}, nil, 0, ""},
		"nothing":   {nil, nil, tensor.Violation, wire.Truncated},
		"truncated": {[]*skytorch.TensorChunk{part(0, 5)}, nil, tensor.Violation, wire.Truncated},
		"short":     {[]*skytorch.TensorChunk{part(0, 5), part(1, 4)}, nil, tensor.Violation, wire.Truncated},
		"reordered": {[]*skytorch.TensorChunk{with(part(0, 5),
			func(c *skytorch.TensorChunk) { c.ChunkNumber = 1 })}, nil, tensor.Violation, wire.Reordered},
		"duplicated": {[]*skytorch.TensorChunk{part(0, 5), part(0, 5)}, nil, tensor.Violation, wire.Duplicate},
		"oversized":  {[]*skytorch.TensorChunk{part(0, 5), part(1, 6)}, nil, tensor.Violation, wire.Oversized},
		"endless": {[]*skytorch.TensorChunk{part(0, 5), part(1, 5), part(2, 5)}, nil, tensor.Violation,
			wire.Duplicate},
		"another dtype": {[]*skytorch.TensorChunk{with(part(0, 5),
			func(c *skytorch.TensorChunk) { c.Dtype = "torch.int8" })}, nil, tensor.Violation, wire.Mismatch},
		"another shape": {[]*skytorch.TensorChunk{with(part(0, 5),
			func(c *skytorch.TensorChunk) { c.Shape = []int64{5, 2} })}, nil, tensor.Violation, wire.Mismatch},
		"another stride": {[]*skytorch.TensorChunk{with(part(0, 5),
			func(c *skytorch.TensorChunk) { c.Stride = []int64{2} })}, nil, tensor.Violation, wire.Mismatch},
		"another shape later": {[]*skytorch.TensorChunk{part(0, 5), with(part(1, 5),
			func(c *skytorch.TensorChunk) { c.Shape = []int64{5, 2} })}, nil, tensor.Violation, wire.Mismatch},
		"another dtype in the metadata": {[]*skytorch.TensorChunk{with(part(0, 5), func(c *skytorch.TensorChunk) {
			c.Dtype, c.Metadata = "", &skytorch.TensorMetadata{Dtype: "torch.int8", Shape: []int64{10}}
		})}, nil, tensor.Violation, wire.Mismatch},
		"another size": {[]*skytorch.TensorChunk{with(part(0, 5),
			func(c *skytorch.TensorChunk) { c.TotalBytes = 9 })}, nil, tensor.Violation, wire.Mismatch},
		"another tensor": {[]*skytorch.TensorChunk{with(part(0, 5), func(c *skytorch.TensorChunk) { c.TensorId = 2 })},
			nil, tensor.Violation, wire.Mismatch},
		"too large": {[]*skytorch.TensorChunk{with(part(0, 5),
			func(c *skytorch.TensorChunk) { c.TotalBytes = 1 << 62 })}, nil, tensor.TooLarge, wire.Limit},
		"a large message": {[]*skytorch.TensorChunk{part(0, 17<<20)}, nil, tensor.TooLarge, ""},
		"refused":         {nil, status.Error(codes.Internal, "out of order"), tensor.Refused, ""},
		"not there":       {nil, status.Error(codes.NotFound, "no tensor"), tensor.NotFound, ""},
		"not known":       {nil, status.Error(codes.Unimplemented, "no such call"), tensor.Unsupported, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{get: func(st grpc.ServerStreamingServer[skytorch.TensorChunk]) error {
				for _, chunk := range c.chunks {
					if err := st.Send(chunk); err != nil {
						return err
					}
				}
				return c.end
			}}
			client := dial(t, s.start(t), tensor.Options{TensorLimit: 1 << 20})
			err := client.Download(t.Context(), 1, 10, io.Discard)
			if (err == nil) != strings.HasPrefix(name, "whole") || tensor.ClassOf(err) != c.class {
				t.Fatalf("class %d: %v", tensor.ClassOf(err), err)
			}
			if fault, ok := errors.AsType[*wire.Error](err); c.fault != "" && (!ok || fault.Fault != c.fault) {
				t.Errorf("%v, want %s", err, c.fault)
			}
		})
	}
}

func TestHostileResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put   func(st grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error
		class tensor.Class
	}{
		"no success": {func(st grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error {
			return st.SendAndClose(&skytorch.TensorResponse{Message: "Error: broken"})
		}, tensor.Refused},
		"a status at once": {func(grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error {
			return status.Error(codes.ResourceExhausted, "full")
		}, tensor.TooLarge},
	} {
		client := dial(t, (&scripted{put: c.put}).start(t), tensor.Options{})
		if err := upload(t.Context(), client, 1, make([]byte, 5<<20)); err == nil ||
			tensor.ClassOf(err) != c.class {
			t.Errorf("%s: class %d, %v", name, tensor.ClassOf(err), err)
		}
	}
}

func TestMessageOfAServerIsIndentedAndLimited(t *testing.T) {
	t.Parallel()
	const text = "no\x1b[2J\nApply complete!"
	long := text + strings.Repeat("x", 10_000)
	for name, put := range map[string]func(
		st grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error{
		"response": func(st grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error {
			return st.SendAndClose(&skytorch.TensorResponse{Message: long})
		},
		"status": func(grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error {
			return status.Error(codes.Internal, text+strings.Repeat("x", 5_000)) // in a header of HTTP/2
		},
	} {
		client := dial(t, (&scripted{put: put}).start(t), tensor.Options{})
		err := upload(t.Context(), client, 1, make([]byte, 10))
		if err == nil || !strings.Contains(err.Error(), "no\n  Apply complete!x") || len(err.Error()) > 4500 {
			t.Errorf("%s: %.200q", name, err)
		}
	}
}

func TestHostileEchoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []*kputorch.TensorChunk
		fault   wire.Fault
	}{
		"nothing":   {nil, wire.Truncated},
		"truncated": {[]*kputorch.TensorChunk{{TensorId: "a", TotalChunks: 2, Data: []byte{1}}}, wire.Truncated},
		"one too many": {[]*kputorch.TensorChunk{{TensorId: "a", TotalChunks: 1, Data: []byte{1}},
			{TensorId: "b", TotalChunks: 1, Data: []byte{1}}}, wire.Limit},
		"the same again": {[]*kputorch.TensorChunk{{TensorId: "a", TotalChunks: 1, Data: []byte{1}},
			{TensorId: "a", TotalChunks: 1, Data: []byte{1}}}, wire.Limit},
		"interleaved": {[]*kputorch.TensorChunk{{TensorId: "a", TotalChunks: 2, Data: []byte{1}},
			{TensorId: "b", TotalChunks: 2, Data: []byte{1}}}, wire.Limit},
		"a huge size": {[]*kputorch.TensorChunk{{TensorId: "a",
			Metadata: map[string]string{"size_bytes": "9999999999999"}}}, wire.Limit},
		"no size": {[]*kputorch.TensorChunk{{TensorId: "a", Metadata: map[string]string{"size_bytes": "much"}}},
			wire.Malformed},
		"empty and open": {[]*kputorch.TensorChunk{{TensorId: "a", TotalChunks: 5}}, wire.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{echo: func(st grpc.BidiStreamingServer[kputorch.TensorChunk, kputorch.TensorChunk]) error {
				for _, chunk := range c.answers {
					if err := st.Send(chunk); err != nil {
						return err
					}
				}
				return nil
			}}
			client := dial(t, s.start(t), tensor.Options{TensorLimit: 64 << 20})
			err := client.Echo(t.Context(), "a", 20<<20, bytes.NewReader(make([]byte, 20<<20)), io.Discard)
			if fault, ok := errors.AsType[*wire.Error](err); !ok || fault.Fault != c.fault {
				t.Errorf("%v, want %s", err, c.fault)
			}
		})
	}
}

// This test uses servers that stop in the middle, in each direction. At the end it
// checks that no goroutines are running, so it is not parallel.
func TestStalledAndBrokenConnectionsEndAndLeaveNothing(t *testing.T) {
	goroutinesEnd(t)
	first := &skytorch.TensorChunk{TensorId: 1, TotalChunks: 2, Shape: []int64{20 << 20}, Dtype: "torch.uint8",
		Data: make([]byte, 1000)}
	s := &scripted{
		get: func(st grpc.ServerStreamingServer[skytorch.TensorChunk]) error {
			if err := st.Send(first); err != nil {
				return err
			}
			<-st.Context().Done()
			return status.FromContextError(st.Context().Err()).Err()
		},
		put: func(st grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error {
			<-st.Context().Done() // and receives nothing
			return status.FromContextError(st.Context().Err()).Err()
		},
		echo: func(st grpc.BidiStreamingServer[kputorch.TensorChunk, kputorch.TensorChunk]) error {
			<-st.Context().Done()
			return status.FromContextError(st.Context().Err()).Err()
		},
	}
	target := s.start(t)
	data := make([]byte, 20<<20)
	calls := map[string]func(context.Context, *tensor.Client) error{
		"download": func(ctx context.Context, c *tensor.Client) error {
			return c.Download(ctx, 1, 20<<20, io.Discard)
		},
		"upload": func(ctx context.Context, c *tensor.Client) error { return upload(ctx, c, 1, data) },
		"echo": func(ctx context.Context, c *tensor.Client) error {
			return c.Echo(ctx, "a", int64(len(data)), bytes.NewReader(data), io.Discard)
		},
	}
	for name, call := range calls {
		c := dial(t, target, tensor.Options{StallTimeout: 30 * time.Millisecond})
		if err := call(t.Context(), c); tensor.ClassOf(err) != tensor.Stalled {
			t.Errorf("%s from a server that stalls: %v", name, err)
		}
		patient := dial(t, target, tensor.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		if err := call(ctx, patient); tensor.ClassOf(err) != tensor.TimedOut {
			t.Errorf("%s past its deadline: %v", name, err)
		}
		cancel()
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(30*time.Millisecond, cancel)
		if err := call(ctx, patient); tensor.ClassOf(err) != tensor.Canceled {
			t.Errorf("%s after cancellation: %v", name, err)
		}
		conns := make(chan net.Conn, 1)
		broken := dial(t, target, tensor.Options{Dialer: func(ctx context.Context, target string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, "tcp", target)
			if err == nil {
				conns <- conn
			}
			return conn, err
		}})
		if err := broken.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		conn := (<-conns).(*net.TCPConn)
		time.AfterFunc(30*time.Millisecond, func() {
			_ = conn.SetLinger(0) // a reset rather than EOF
			_ = conn.Close()
		})
		if err := call(t.Context(), broken); tensor.ClassOf(err) != tensor.Unreachable {
			t.Errorf("%s on a reset connection: %v", name, err)
		}
	}
}

func FuzzDownload(f *testing.F) {
	// A chunk is its number, their number, its bytes, and a byte with the ID, the size of the tensor and two flags:
	// whether a later chunk describes the tensor, and whether the tensor has a second dimension.
	complete := []byte{0, 1, 5, 5 << 2}
	f.Add(complete)
	f.Add([]byte{0, 2, 3, 5 << 2, 1, 2, 2, 0})
	f.Add([]byte{0, 2, 5, 0, 1, 2, 5, 0})
	f.Add([]byte{0, 0, 200, 1, 0, 0, 200, 2})
	script := make(chan []byte, 1)
	s := &scripted{get: func(st grpc.ServerStreamingServer[skytorch.TensorChunk]) error {
		first := true
		for raw := <-script; len(raw) >= 4; raw = raw[4:] {
			c := &skytorch.TensorChunk{TensorId: uint64(raw[3] / 64), ChunkNumber: uint32(raw[0]),
				TotalChunks: uint32(raw[1]), Data: make([]byte, raw[2])}
			if first || raw[3]&1 != 0 {
				c.Shape, c.Dtype, c.TotalBytes = []int64{int64(raw[3] >> 2)}, "torch.uint8", uint64(raw[3]>>2)
				if raw[3]&2 != 0 {
					c.Shape = append(c.Shape, 1)
				}
			}
			first = false
			if err := st.Send(c); err != nil {
				return err
			}
		}
		return nil
	}}
	target := s.start(f)
	c := dial(f, target, tensor.Options{TensorLimit: 400})
	f.Fuzz(func(t *testing.T, raw []byte) {
		script <- raw
		const size = 5
		got, err := download(t.Context(), c, 0, size)
		if err != nil {
			if class := tensor.ClassOf(err); bytes.Equal(raw, complete) ||
				class != tensor.Violation && class != tensor.TooLarge {
				t.Errorf("class %d: %v", class, err)
			}
			return
		}
		if len(got) != size {
			t.Errorf("%d bytes instead of %d", len(got), size)
		}
	})
}
