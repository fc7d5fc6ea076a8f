package tensor_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// release010Chunk returns TensorChunk of SkyTorch 0.1.0, its only release: the fields after the first four have the
// numbers 7 to 12, instead of 5 to 10 as on its current main branch.
func release010Chunk(t testing.TB) protoreflect.MessageDescriptor {
	t.Helper()
	file := protodesc.ToFileDescriptorProto(skytorch.File_skytorch_torch_service_proto)
	file.Service, file.Name = nil, new("release010.proto")
	for _, m := range file.MessageType {
		if m.GetName() != "TensorChunk" {
			continue
		}
		for _, f := range m.Field {
			if f.GetNumber() > 4 {
				f.Number = new(f.GetNumber() + 2)
			}
		}
	}
	made, err := protodesc.NewFile(file, new(protoregistry.Files))
	if err != nil {
		t.Fatal(err)
	}
	return made.Messages().ByName("TensorChunk")
}

func newChunk(d protoreflect.MessageDescriptor, id uint64, number, total uint32, data []byte) *dynamicpb.Message {
	m := dynamicpb.NewMessage(d)
	m.Set(d.Fields().ByName("tensor_id"), protoreflect.ValueOfUint64(id))
	m.Set(d.Fields().ByName("chunk_number"), protoreflect.ValueOfUint32(number))
	m.Set(d.Fields().ByName("total_chunks"), protoreflect.ValueOfUint32(total))
	m.Set(d.Fields().ByName("data"), protoreflect.ValueOfBytes(data))
	return m
}

func bytesIn(m *dynamicpb.Message) []byte {
	return m.Get(m.Descriptor().Fields().ByName("data")).Bytes()
}

func text(m *dynamicpb.Message, field protoreflect.Name) string {
	return m.Get(m.Descriptor().Fields().ByName(field)).String()
}

func TestServerSupportsClientsOfSkyTorch010(t *testing.T) {
	t.Parallel()
	d := release010Chunk(t)
	conn, err := grpc.NewClient(serve(t, server.Options{}), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	data := random(3 << 20)
	st, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true},
		skytorch.Service_UpdateTensor_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(3) {
		m := newChunk(d, 5, i, 3, data[i<<20:(i+1)<<20])
		if i == 0 {
			shape := m.Mutable(d.Fields().ByName("shape")).List()
			shape.Append(protoreflect.ValueOfInt64(3 << 18))
			m.Mutable(d.Fields().ByName("stride")).List().Append(protoreflect.ValueOfInt64(1))
			m.Set(d.Fields().ByName("dtype"), protoreflect.ValueOfString("torch.float32"))
			m.Set(d.Fields().ByName("total_bytes"), protoreflect.ValueOfUint64(3<<20))
			metadata := m.Mutable(d.Fields().ByName("metadata")).Message()
			metadata.Set(metadata.Descriptor().Fields().ByName("tensor_id"), protoreflect.ValueOfUint64(5))
		}
		if err := st.SendMsg(m); err != nil {
			break
		}
	}
	var resp skytorch.TensorResponse
	if err := st.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := st.RecvMsg(&resp); err != nil || !resp.Success {
		t.Fatalf("upload: %v, %v", &resp, err)
	}
	st, err = conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true},
		skytorch.Service_GetTensor_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.SendMsg(&skytorch.GetTensorRequest{TensorId: 5}), st.CloseSend()); err != nil {
		t.Fatal(err)
	}
	var got []byte
	for {
		m := dynamicpb.NewMessage(d)
		err := st.RecvMsg(m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 && (text(m, "dtype") != "torch.float32" || text(m, "total_bytes") != "3145728") {
			t.Errorf("first chunk: %s of %s bytes", text(m, "dtype"), text(m, "total_bytes"))
		}
		got = append(got, bytesIn(m)...)
	}
	if !bytes.Equal(got, data) {
		t.Errorf("%d returned bytes differ", len(got))
	}
}

// release010 starts a server that reads chunks like SkyTorch 0.1.0: it allocates
// total_bytes, counts chunks, and then requires the dtype.
func release010(t *testing.T) string {
	t.Helper()
	d := release010Chunk(t)
	tensors := map[string][]*dynamicpb.Message{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	desc := skytorch.Service_ServiceDesc
	desc.Streams = slices.Clone(desc.Streams)
	handlers := map[string]grpc.StreamHandler{
		"UpdateTensor": func(_ any, st grpc.ServerStream) error {
			var all []*dynamicpb.Message
			for {
				m := dynamicpb.NewMessage(d)
				err := st.RecvMsg(m)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return err
				}
				all = append(all, m)
			}
			if _, err := layout.ParseDType(text(all[0], "dtype")); err != nil {
				return st.SendMsg(&skytorch.TensorResponse{Message: "Error: " + err.Error()})
			}
			tensors[text(all[0], "tensor_id")] = all
			return st.SendMsg(&skytorch.TensorResponse{Success: true})
		},
		"GetTensor": func(_ any, st grpc.ServerStream) error {
			var req skytorch.GetTensorRequest
			if err := st.RecvMsg(&req); err != nil {
				return err
			}
			for all := range maps.Values(tensors) {
				for _, m := range all {
					if err := st.SendMsg(m); err != nil {
						return err
					}
				}
				return nil
			}
			return status.Error(codes.NotFound, "no tensor")
		},
	}
	for i, s := range desc.Streams {
		desc.Streams[i].Handler = handlers[s.StreamName]
	}
	g := grpc.NewServer()
	g.RegisterService(&desc, deleter{})
	h := health.NewServer()
	h.SetServingStatus("skytorch.torch.Service", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(g, h)
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	return l.Addr().String()
}

// deleter implements the unary calls.
type deleter struct {
	skytorch.UnimplementedServiceServer
}

func (deleter) DeleteTensors(context.Context, *skytorch.DeleteTensorsRequest) (*skytorch.TensorResponse, error) {
	return &skytorch.TensorResponse{Success: true}, nil
}

func TestClientSupportsServersOfSkyTorch010(t *testing.T) {
	t.Parallel()
	target := release010(t)
	c := dial(t, target, tensor.Options{Numbering: wire.From7})
	data := random(8 * 1000 * 300)
	if err := upload(t.Context(), c, 1, data); err != nil {
		t.Fatal(err)
	}
	got, err := download(t.Context(), c, 1, int64(len(data)))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes: %v", len(got), err)
	}
	other := dial(t, target, tensor.Options{})
	if err := upload(t.Context(), other, 2, data); tensor.ClassOf(err) != tensor.Refused {
		t.Errorf("in the other numbering: %v", err)
	}
}

func TestProbeDetectsTheNumbering(t *testing.T) {
	t.Parallel()
	got := probe.GRPC(t.Context(), probe.Endpoint{Target: release010(t), RoundTrip: 3 << 20})
	if got.Status != probe.Serving || got.Bytes != 3<<20 {
		t.Errorf("%+v", got)
	}
}
