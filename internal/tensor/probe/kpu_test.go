package probe

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
)

// editor returns the file of a tensor after a change.
type editor struct {
	kputorch.UnimplementedServiceServer

	change func(file []byte) []byte
}

func (e editor) StreamTensors(st grpc.BidiStreamingServer[kputorch.TensorChunk, kputorch.TensorChunk]) error {
	var file []byte
	for {
		chunk, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return st.Send(&kputorch.TensorChunk{TensorId: "another", TotalChunks: 1, Data: e.change(file)})
		}
		if err != nil {
			return err
		}
		file = append(file, chunk.GetData()...)
	}
}

func TestReturnedFileMustContainTheTensor(t *testing.T) {
	t.Parallel()
	const size = 1000
	encode := func(pickle, data []byte) []byte {
		e, err := torchfile.NewEncoder(pickle, int64(len(data)))
		if err != nil {
			t.Error(err)
			return nil
		}
		file, err := io.ReadAll(e.File(bytes.NewReader(data)))
		if err != nil {
			t.Error(err)
		}
		return file
	}
	again := func(pickle []byte, change func(data []byte) []byte) func(file []byte) []byte {
		return func(file []byte) []byte {
			f, err := torchfile.Open(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Error(err)
				return nil
			}
			offset, err := f.Storage("0", size)
			if err != nil {
				t.Error(err)
			}
			return encode(pickle, change(bytes.Clone(file[offset:offset+size])))
		}
	}
	same := func(data []byte) []byte { return data }
	pickle := string(torchfile.PickleOfBytes(size))
	gpu := strings.NewReplacer("X\x03\x00\x00\x00cpu", "X\x06\x00\x00\x00cuda:0q\x04", "ByteStorage\n",
		"ByteStorage\nq\x02").Replace(pickle)
	for name, c := range map[string]struct {
		change func(file []byte) []byte
		want   Status
		detail string
	}{
		"unchanged":     {func(file []byte) []byte { return file }, Serving, ""},
		"encoded again": {again([]byte(gpu), same), Serving, ""},
		"another byte": {again([]byte(pickle), func(data []byte) []byte {
			data[100] ^= 1
			return data
		}), Corrupt, "byte 100"},
		"another type": {again([]byte(strings.Replace(pickle, "ByteStorage", "CharStorage", 1)), same), Corrupt,
			"CharStorage"},
		"another size": {again(torchfile.PickleOfBytes(size-1), func(data []byte) []byte { return data[1:] }),
			Corrupt, "1000 bytes"},
		"less data": {again([]byte(pickle), func(data []byte) []byte { return data[1:] }), Failed, "has 999 bytes"},
		"truncated": {func(file []byte) []byte { return file[:len(file)-1] }, Failed, "no zip directory"},
		"no file":   {func([]byte) []byte { return []byte("hello") }, Failed, "not a zip archive"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := register(t, func(s *grpc.Server) {
				h := health.NewServer()
				h.SetServingStatus("kpu.torch.Service", healthpb.HealthCheckResponse_SERVING)
				healthpb.RegisterHealthServer(s, h)
				kputorch.RegisterServiceServer(s, editor{change: c.change})
			})
			got := GRPC(t.Context(), Endpoint{Target: target, Timeout: time.Minute, RoundTrip: size})
			if got.Status != c.want || !strings.Contains(got.Detail, c.detail) {
				t.Errorf("%+v, want %s with %q", got, c.want, c.detail)
			}
		})
	}
}
