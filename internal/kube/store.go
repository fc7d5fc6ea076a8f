package kube

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Store contains one collection for each kind and namespace, or one of a kind for many namespaces. The first read
// starts a collection: one list followed by one watch, shared by all resources.
type Store struct {
	ctx       context.Context // lifetime of the watches, which outlive each call
	api       *API
	discovery *Discovery

	mu          sync.Mutex
	collections map[string]*collection
	namespaces  map[string]int // number of collections of single namespaces, by the key of that for all
}

// namespacesOfTheirOwn is the number of namespaces of a kind that get a collection of their own. Further namespaces
// share a collection of all namespaces, because a run over a hundred namespaces would otherwise hold hundreds of
// watches. It also contains the objects of other states, so a run over few namespaces does without it.
const namespacesOfTheirOwn = 2

// collection returns the collection that contains the objects of a namespace, starting it if it isn't running.
func (s *Store) collection(of Kind, namespace string) *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace = Ref{Kind: of, Namespace: namespace}.namespace()
	if col := s.running(of, namespace); col != nil {
		return col
	}
	key := scopeKey(of, "")
	if _, shared := s.collections[key]; namespace != "" && of.LabelSelector == kind.Ours && !shared {
		if s.namespaces[key] < namespacesOfTheirOwn {
			s.namespaces[key]++
		} else {
			namespace = ""
		}
	}
	return s.start(of, namespace)
}

// running returns the running collection that contains the objects of a namespace, or nil.
func (s *Store) running(of Kind, namespace string) *collection {
	if col, ok := s.collections[scopeKey(of, namespace)]; ok {
		return col
	}
	if shared, ok := s.collections[scopeKey(of, "")]; ok && !shared.isDenied() {
		return shared
	}
	return nil
}

func (s *Store) start(of Kind, namespace string) *collection {
	col := newCollection(Ref{Kind: of, Namespace: namespace})
	col.clock = s.api.clock
	col.list = func() ([]any, string, error) { return s.list(s.ctx, col.scope) }
	s.collections[scopeKey(of, namespace)] = col
	go col.run(s.ctx, s.api)
	return col
}

// ready returns the complete collection that contains the objects of a namespace. Without permission for all
// namespaces, that is one of this namespace.
func (s *Store) ready(ctx context.Context, of Kind, namespace string) (*collection, error) {
	col := s.collection(of, namespace)
	err := col.ready(ctx)
	if col.scope.Namespace != namespace && ClassOf(err) == Denied {
		col = s.collection(of, namespace)
		err = col.ready(ctx)
	}
	return col, err
}

// scopeKey returns the key of a collection. Collections of one kind with
// different label or field selectors have different keys.
func scopeKey(kind Kind, namespace string) string {
	return strings.Join([]string{kind.String(), strconv.FormatBool(kind.MetadataOnly), kind.LabelSelector,
		kind.FieldSelector, namespace}, "\x00")
}

// find returns the running collection that can contain an object, or nil.
func (s *Store) find(ref Ref) *collection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running(ref.Kind, ref.Namespace)
}

// note stores an object that the server returned for a write, so that no later
// read returns an older version.
func (s *Store) note(ref Ref, obj *unstructured.Unstructured) {
	col := s.find(ref)
	if col == nil {
		return // the first read lists after this write
	}
	if e, err := asEntry(obj); err == nil {
		col.wrote(e)
	}
}

// has reports whether a running collection contains the object.
func (s *Store) has(ref Ref) bool {
	col := s.find(ref)
	if col == nil {
		return false
	}
	_, there := col.get(ref.key())
	return there
}

func (r Ref) key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}
