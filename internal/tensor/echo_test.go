package tensor_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

type echoStream = grpc.BidiStreamingServer[kputorch.TensorChunk, kputorch.TensorChunk]

// The client sends a single chunk before it receives anything, so that a server that does not read it must not block
// the call forever.
func TestASingleChunkIsEchoedOrTheCallEnds(t *testing.T) {
	goroutinesEnd(t)
	back := func(st echoStream) error {
		for {
			chunk, err := st.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = st.Send(chunk)
			}
			if err != nil {
				return err
			}
		}
	}
	const size = 20 << 20 // more than the flow control of either side permits without reading
	data := random(size)
	for name, c := range map[string]struct {
		server func(st echoStream) error
		reader io.Reader // of the tensor, unless nil
		class  tensor.Class
		fault  wire.Fault // of a violation
		ok     bool
	}{
		"a chunk that is larger than the windows": {server: back, ok: true},
		"a server that rejects the call unread": {class: tensor.Refused,
			server: func(echoStream) error { return status.Error(codes.InvalidArgument, "no tensors today") }},
		"a server that returns nothing": {class: tensor.Violation, fault: wire.Truncated,
			server: func(st echoStream) error {
				_, err := st.Recv()
				return err
			}},
		"a server that reads nothing": {class: tensor.Stalled,
			server: func(st echoStream) error {
				<-st.Context().Done()
				return nil
			}},
		"a reader that fails": {server: back, reader: &failing{n: 10}, class: tensor.Local},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{echo: c.server}
			o := tensor.Options{ChunkSize: 2 * size, MessageLimit: 4 * size}
			if c.class == tensor.Stalled {
				o.StallTimeout = 50 * time.Millisecond
			}
			var file bytes.Buffer
			if c.reader == nil {
				c.reader = bytes.NewReader(data)
			}
			err := dial(t, s.start(t), o).Echo(t.Context(), "a", size, c.reader, &file)
			if c.ok {
				if err != nil || !bytes.Contains(file.Bytes(), data) {
					t.Errorf("%d bytes were returned: %v", file.Len(), err)
				}
				return
			}
			if err == nil || tensor.ClassOf(err) != c.class {
				t.Fatalf("error of class %d, want %d: %v", tensor.ClassOf(err), c.class, err)
			}
			if fault, ok := errors.AsType[*wire.Error](err); ok != (c.fault != "") || ok && fault.Fault != c.fault {
				t.Errorf("violation: %v", err)
			}
		})
	}
}
