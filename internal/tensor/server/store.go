package server

import (
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// storage is content that one or more tensors are views of. Writing replaces
// the content: whoever is reading keeps what was there.
type storage struct {
	write   sync.Mutex // held while new content is made from the old
	tensors int        // guarded by store.mu, as is content
	content *content
}

// view is a tensor: a storage and how it lies in it.
type view struct {
	layout    layout.Layout
	storage   *storage
	numbering wire.Numbering // in which it came, and is sent
}

// store holds all tensors: SkyTorch's by number, KPU's files by name. KPU
// cannot delete, so its oldest files give way to new ones.
type store struct {
	budget  *budget
	mu      sync.Mutex
	views   map[uint64]view
	files   map[string]*content
	ordered []string       // names of files, oldest first
	spoken  wire.Numbering // in which the last tensor came
}

func newStore(limit int64) *store {
	return &store{budget: &budget{limit: limit, pool: wire.NewPool(blockSize)}, views: map[uint64]view{}, files: map[string]*content{}}
}

// held is the number of tensors.
func (s *store) held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.views) + len(s.files)
}

// get returns a tensor with its current content, which the caller releases.
func (s *store) get(id uint64) (view, *content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.views[id]
	if !ok {
		return view{}, nil, status.Errorf(codes.NotFound, "there is no tensor %d: send it first, with UpdateTensor", id)
	}
	return v, v.storage.content.acquire(), nil
}

// peek returns a tensor, if it is there.
func (s *store) peek(id uint64) (view, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.views[id]
	return v, ok
}

// ensure makes the tensor that metadata describes, if it is not there: a view
// of another tensor's storage, or one with a storage of its own, all 0.
func (s *store) ensure(m *skytorch.TensorMetadata, largest int64) error {
	if m == nil {
		return nil
	}
	if _, ok := s.peek(m.GetTensorId()); ok {
		return nil
	}
	l := wire.MetadataLayout(m)
	if err := l.Validate(); err != nil {
		return status.Errorf(codes.InvalidArgument, "metadata of tensor %d: %v", m.GetTensorId(), err)
	}
	span, err := l.Span()
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "metadata of tensor %d: %v", m.GetTensorId(), err)
	}
	if m.TensorRef != nil {
		return s.addView(m.GetTensorId(), m.GetTensorRef(), l, span)
	}
	size := m.GetNbytes()
	if size == 0 {
		size = span
	}
	if size < span {
		return status.Errorf(codes.InvalidArgument, "metadata of tensor %d: %s takes %d bytes; its storage has %d",
			m.GetTensorId(), l, span, size)
	}
	if size > largest {
		return status.Errorf(codes.ResourceExhausted, "metadata of tensor %d: %d bytes; a tensor has at most %d",
			m.GetTensorId(), size, largest)
	}
	c, err := zeros(s.budget, size)
	if err != nil {
		return err
	}
	s.mu.Lock()
	numbering := s.spoken
	s.mu.Unlock()
	s.add(m.GetTensorId(), view{layout: l, numbering: numbering}, c)
	return nil
}

func (s *store) addView(id, base uint64, l layout.Layout, span int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.views[base]
	if !ok {
		return status.Errorf(codes.NotFound, "metadata of tensor %d: there is no tensor %d to be a view of", id, base)
	}
	if size := b.storage.content.size; span > size {
		return status.Errorf(codes.InvalidArgument, "metadata of tensor %d: %s reaches to byte %d; the storage of tensor %d has %d",
			id, l, span, base, size)
	}
	if err := s.budget.reserve(overhead); err != nil {
		return err
	}
	if _, ok := s.views[id]; ok { // somebody else was faster
		s.budget.used.Add(-overhead)
		return nil
	}
	b.storage.tensors++
	s.views[id] = view{layout: l, storage: b.storage, numbering: b.numbering}
	return nil
}

// ensureView is ensure for a tensor that is about to be written: one with a
// storage of its own needs no zeros first, unless the storage is larger.
func (s *store) ensureView(m *skytorch.TensorMetadata, largest int64) error {
	if m == nil || m.GetDtype() == "" {
		return nil
	}
	l := wire.MetadataLayout(m)
	size := m.GetNbytes()
	if size == 0 {
		size, _ = l.Bytes()
	}
	if m.TensorRef == nil && l.Fills(size) {
		return nil
	}
	return s.ensure(m, largest)
}

// speaks notes in which numbering a tensor was last written. One that is made
// of metadata alone, which has but one form, is sent in that of the last.
func (s *store) speaks(id uint64, n wire.Numbering) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spoken = n
	if v, ok := s.views[id]; ok {
		v.numbering = n
		s.views[id] = v
	}
}

// add keeps a tensor with content of its own, in place of what was there
// under its number.
func (s *store) add(id uint64, v view, c *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.views[id]; ok {
		s.drop(old)
	}
	// Each tensor is charged the overhead; the content brought it for the first.
	v.storage = &storage{tensors: 1, content: c}
	s.views[id] = v
}

// drop forgets a view, and its storage with the last one.
func (s *store) drop(v view) {
	v.storage.tensors--
	if v.storage.tensors == 0 {
		v.storage.content.release()
		return
	}
	s.budget.used.Add(-overhead)
}

// delete forgets tensors, and says how many were there.
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

// swap puts new content into a storage. The caller holds st.write.
func (s *store) swap(st *storage, c *content) {
	s.mu.Lock()
	old := st.content
	gone := st.tensors == 0 // deleted meanwhile
	if !gone {
		st.content = c
	}
	s.mu.Unlock()
	if gone {
		old = c
	}
	old.release()
}

// current returns the content of a storage, which the caller releases; nil
// when its last tensor was deleted.
func (s *store) current(st *storage) *content {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.tensors == 0 {
		return nil
	}
	return st.content.acquire()
}

// addFile keeps a torch.save file.
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

// file returns a file, which the caller releases.
func (s *store) file(name string) (*content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.files[name]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "there is no tensor %.80q: send it first, with ReceiveTensors", name)
	}
	return c.acquire(), nil
}

// makeRoom forgets the oldest files until so many bytes are free, or no file is left.
func (s *store) makeRoom(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ordered) > 0 && s.budget.limit-s.budget.used.Load() < bytes {
		s.files[s.ordered[0]].release()
		delete(s.files, s.ordered[0])
		s.ordered = s.ordered[1:]
	}
}
