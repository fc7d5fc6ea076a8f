package server

import (
	"cmp"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// storage is the content of one or more views. A write replaces the content, so
// that concurrent readers continue to read the previous content.
type storage struct {
	write   sync.Mutex // locked while new content is derived from the current one
	tensors int        // guarded by store.mu, like content
	content *content
}

// view is a tensor: a storage and the layout in it.
type view struct {
	layout    layout.Layout
	storage   *storage
	numbering wire.Numbering // numbering in which it was received and is sent
}

// store contains all tensors: those of SkyTorch by number, and files of KPU by name.
// KPU cannot delete, so new files evict the oldest ones.
type store struct {
	budget  *budget
	mu      sync.Mutex
	views   map[uint64]view
	files   map[string]*content
	ordered []string       // names of files, oldest first
	spoken  wire.Numbering // numbering of the last received tensor
}

func newStore(limit int64) *store {
	return &store{budget: &budget{limit: limit, pool: newPool(blockSize)}, views: map[uint64]view{},
		files: map[string]*content{}}
}

// held returns the number of tensors.
func (s *store) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.views) + len(s.files)
}

// get returns a tensor with its current content, which the caller must release.
func (s *store) get(id uint64) (view, *content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.views[id]
	if !ok {
		return view{}, nil, status.Errorf(codes.NotFound, "no tensor %d: send it first with UpdateTensor", id)
	}
	return v, v.storage.content.acquire(), nil
}

// peek returns a tensor if it exists.
func (s *store) peek(id uint64) (view, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.views[id]
	return v, ok
}

// ensure creates the tensor that metadata describes, unless it exists: a view of the
// storage of another tensor, or a tensor of zeros with a separate storage.
func (s *store) ensure(m *skytorch.TensorMetadata, largest int64) error {
	if m == nil {
		return nil
	}
	if _, ok := s.peek(m.GetTensorId()); ok {
		return nil
	}
	l := layoutOf(m)
	if err := l.Validate(); err != nil {
		return status.Errorf(codes.InvalidArgument, "metadata of tensor %d: %v", m.GetTensorId(), err)
	}
	span, _ := l.Span() // valid
	if m.TensorRef != nil {
		return s.addView(m.GetTensorId(), m.GetTensorRef(), l, span)
	}
	size := cmp.Or(m.GetNbytes(), span)
	if size < span {
		return status.Errorf(codes.InvalidArgument, "metadata of tensor %d: %s requires %d bytes, but its storage "+
			"has %d",
			m.GetTensorId(), l, span, size)
	}
	if size > largest {
		return status.Errorf(codes.ResourceExhausted, "metadata of tensor %d: %d bytes, but a tensor can have at "+
			"most %d",
			m.GetTensorId(), size, largest)
	}
	c, err := zeros(s.budget, size)
	if err != nil {
		return err
	}
	s.addNew(m.GetTensorId(), l, c)
	return nil
}

// addNew stores a new tensor, or releases its content if another call has created the tensor in the meantime.
func (s *store) addNew(id uint64, l layout.Layout, c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.views[id]; ok {
		c.release()
		return
	}
	s.views[id] = view{layout: l, numbering: s.spoken, storage: &storage{tensors: 1, content: c}}
}

func (s *store) addView(id, base uint64, l layout.Layout, span int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.views[base]
	if !ok {
		return status.Errorf(codes.NotFound, "metadata of tensor %d: no tensor %d to create a view of", id, base)
	}
	if size := b.storage.content.size; span > size {
		return status.Errorf(codes.InvalidArgument, "metadata of tensor %d: %s ends at byte %d, but the storage of "+
			"tensor %d has %d",
			id, l, span, base, size)
	}
	if err := s.budget.reserve(overhead); err != nil {
		return err
	}
	if _, ok := s.views[id]; ok { // created concurrently
		s.budget.used.Add(-overhead)
		return nil
	}
	b.storage.tensors++
	s.views[id] = view{layout: l, storage: b.storage, numbering: b.numbering}
	return nil
}

// ensureView is like ensure, for a tensor that will be written: a separate storage
// is not filled with zeros, unless it is larger than the tensor.
func (s *store) ensureView(m *skytorch.TensorMetadata, largest int64) error {
	if m == nil || m.GetDtype() == "" {
		return nil
	}
	l := layoutOf(m)
	bytes, _ := l.Bytes() // ensure rejects an invalid one
	if m.TensorRef == nil && l.Fills(cmp.Or(m.GetNbytes(), bytes)) {
		return nil
	}
	return s.ensure(m, largest)
}

// speaks records the numbering in which a tensor was last written. Tensors that are
// created only from metadata use the numbering of the last written tensor.
func (s *store) speaks(id uint64, n wire.Numbering) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoken = n
	if v, ok := s.views[id]; ok {
		v.numbering = n
		s.views[id] = v
	}
}

// add stores a tensor with separate content, and replaces a tensor of the same
// number.
func (s *store) add(id uint64, v view, c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.views[id]; ok {
		s.drop(old)
	}
	// Each tensor counts with the overhead. The content includes it for the first one.
	v.storage = &storage{tensors: 1, content: c}
	s.views[id] = v
}

// drop deletes a view, and its storage together with its last view.
func (s *store) drop(v view) {
	v.storage.tensors--
	if v.storage.tensors == 0 {
		v.storage.content.release()
		return
	}
	s.budget.used.Add(-overhead)
}

// delete deletes tensors, and returns how many of them existed.
func (s *store) delete(ids []uint64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, id := range ids {
		if v, ok := s.views[id]; ok {
			s.drop(v)
			delete(s.views, id)
			n++
		}
	}
	return n
}

// swap replaces the content of a storage. The caller must have locked st.write.
func (s *store) swap(st *storage, c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.tensors > 0 { // otherwise, it was deleted in the meantime
		st.content, c = c, st.content
	}
	c.release()
}

// current returns the content of a storage, which the caller must release, or nil
// if its last tensor was deleted.
func (s *store) current(st *storage) *content {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.tensors == 0 {
		return nil
	}
	return st.content.acquire()
}

// addFile stores a torch.save file.
func (s *store) addFile(name string, c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.files[name]; ok {
		old.release()
		s.ordered = slices.DeleteFunc(s.ordered, func(n string) bool { return n == name })
	}
	s.files[name] = c
	s.ordered = append(s.ordered, name)
}

// file returns a file, which the caller must release.
func (s *store) file(name string) (*content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.files[name]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no tensor %.80q: send it first with ReceiveTensors", name)
	}
	return c.acquire(), nil
}

// makeRoom deletes the oldest files until the given number of bytes is free, or no file is left.
func (s *store) makeRoom(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ordered) > 0 && s.budget.limit-s.budget.used.Load() < bytes {
		s.files[s.ordered[0]].release()
		delete(s.files, s.ordered[0])
		s.ordered = s.ordered[1:]
	}
}
