package server

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
)

func TestReadersNeverSeeMixedWrites(t *testing.T) {
	t.Parallel()
	s, conn := start(t, Options{MemoryLimit: 64 << 20, ChunkSize: 100_000})
	const size = 3<<20 + 7
	write := func(fill byte) error {
		var chunks []*skytorch.TensorChunk
		for i := range 4 {
			n := min(1<<20, size-i<<20)
			chunks = append(chunks, &skytorch.TensorChunk{TensorId: 1, ChunkNumber: uint32(i), TotalChunks: 4,
				Data: bytes.Repeat([]byte{fill}, n)})
		}
		chunks[0].Dtype, chunks[0].Shape = "torch.uint8", []int64{size}
		return update(t, conn, chunks...)
	}
	if err := write(0); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 5 {
				if err := write(byte(i)); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range 5 {
				got, _, err := read(t, conn, &skytorch.GetTensorRequest{TensorId: 1})
				if err != nil || len(got) != size || bytes.Count(got, got[:1]) != size {
					t.Errorf("%d bytes, of which %d are equal: %v", len(got), bytes.Count(got, got[:1]), err)
				}
			}
		})
	}
	all.Wait()
	s.store.delete([]uint64{1})
	waitEmpty(t, s)
}

func TestNewTensorDoesNotReplaceOneOfAConcurrentCall(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	written, err := zeros(s.store.budget, 8)
	if err != nil {
		t.Fatal(err)
	}
	late, err := zeros(s.store.budget, 8)
	if err != nil {
		t.Fatal(err)
	}
	bytes8 := layout.Of("torch.int8", 8)
	s.store.add(1, view{layout: bytes8}, written)
	s.store.addNew(1, bytes8, late)
	_, got, err := s.store.get(1)
	if err != nil || got != written {
		t.Errorf("the content was replaced: %v", err)
	}
	got.release()
	s.store.delete([]uint64{1})
	waitEmpty(t, s)
}

// The destination can be created as a view of a source that is created by the same call.
func TestCopyCreatesTheSourceFirst(t *testing.T) {
	t.Parallel()
	_, conn := start(t, Options{})
	for id := uint64(1); id < 60; id += 2 {
		source := &skytorch.TensorMetadata{Dtype: "torch.uint8", Shape: []int64{8}, Nbytes: 8}
		view := &skytorch.TensorMetadata{Dtype: "torch.uint8", Shape: []int64{8}, TensorRef: &id}
		if _, err := skytorch.NewServiceClient(conn).CopyTensor(t.Context(), &skytorch.CopyTensorRequest{
			SrcTensorId: id, SrcMetadata: source, DstTensorId: id + 1, DstMetadata: view,
		}); err != nil {
			t.Fatalf("tensors %d and %d: %v", id, id+1, err)
		}
	}
}

func TestStopCancelsCallsAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	s, conn := start(t, Options{})
	st, err := skytorch.NewServiceClient(conn).UpdateTensor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Send(&skytorch.TensorChunk{TensorId: 1, TotalChunks: 2, Dtype: "torch.int8", Shape: []int64{2},
		Data: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	for s.store.budget.used.Load() == 0 { // until the call has started
		time.Sleep(time.Millisecond)
	}
	s.Stop(10 * time.Millisecond)
	if err := st.RecvMsg(&skytorch.TensorResponse{}); status.Code(err) != codes.Unavailable {
		t.Errorf("the call that never ends: %v", err)
	}
	waitEmpty(t, s)
}
