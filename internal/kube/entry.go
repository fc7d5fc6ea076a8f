package kube

import (
	"bytes"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientcache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/json"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Entry is one object in the cache: its metadata without large fields, and the
// complete object as JSON, which is much smaller than decoded maps. It is
// immutable.
type Entry struct {
	metav1.ObjectMeta
	json  []byte
	typed atomic.Pointer[any] // the object, decoded to the type as which it was last read
}

// Object decodes the object.
func (e *Entry) Object() (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	return obj, obj.UnmarshalJSON(e.json)
}

func (e *Entry) key() types.NamespacedName {
	return types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
}

// Mentions reports whether the JSON of the object contains text. It does not
// decode the object.
func (e *Entry) Mentions(text string) bool { return bytes.Contains(e.json, []byte(text)) }

// names returns the names that the object belongs to: its own name, the parts of it that end before "-" or ".", and
// the value of its label of Kubetorch. Controllers name objects after their owner, and events after their object.
func (e *Entry) names() []string {
	names := []string{e.Name}
	for i, char := range e.Name {
		if char == '-' || char == '.' {
			names = append(names, e.Name[:i])
		}
	}
	if service, ok := e.Labels[kind.ServiceLabel]; ok {
		names = append(names, service)
	}
	return names
}

// byName is the index of entries by the names that they belong to.
const byName = "name"

func newEntries() clientcache.ThreadSafeStore {
	return clientcache.NewThreadSafeStore(clientcache.Indexers{}, clientcache.Indices{})
}

// namesOf is the client-go IndexFunc of byName, for entries and for a list of names.
func namesOf(obj any) ([]string, error) {
	switch obj := obj.(type) {
	case *Entry:
		return obj.names(), nil
	case []string:
		return obj, nil
	}
	return nil, fmt.Errorf("%T is not an entry", obj)
}

// belonging returns the entries that belong to one of names, each once, or all entries without names. The first call
// with names builds the index: a plan without changes needs none.
func belonging(entries clientcache.ThreadSafeStore, names []string) []*Entry {
	var found []any
	if len(names) == 0 {
		found = entries.List()
	} else {
		if len(entries.GetIndexers()) == 0 {
			_ = entries.AddIndexers(clientcache.Indexers{byName: namesOf}) // fails only if it exists
		}
		found, _ = entries.Index(byName, names) // fails only if the index does not exist
	}
	out := make([]*Entry, 0, len(found))
	for _, obj := range found {
		if e, ok := obj.(*Entry); ok {
			out = append(out, e)
		}
	}
	return out
}

// GetObjectKind implements [runtime.Object].
func (e *Entry) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the entry, which is immutable.
func (e *Entry) DeepCopyObject() runtime.Object { return e }

// asEntry returns an object of a list or a watch as an entry.
func asEntry(obj any) (*Entry, error) {
	if e, ok := obj.(*Entry); ok {
		return e, nil
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%T is not an object", obj)
	}
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return &Entry{
		ObjectMeta: metav1.ObjectMeta{
			Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
			Labels: u.GetLabels(),
		},
		json: data,
	}, nil
}

// entrySerializer decodes the objects of a watch to entries. They keep the JSON of the server, so that nothing but the
// metadata is decoded before an object is read.
type entrySerializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion returns the decoder of objects.
func (s entrySerializer) DecoderToVersion(status runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return entryDecoder{s.NegotiatedSerializer.DecoderToVersion(status, version)}
}

type entryDecoder struct{ status runtime.Decoder }

// Decode keeps data, which the decoder of watch events allocates for each object. It returns the Status of a failure as
// such.
func (d entryDecoder) Decode(
	data []byte, defaults *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	var head struct {
		metav1.TypeMeta `json:",inline"`

		Metadata struct {
			Name            string            `json:"name"`
			Namespace       string            `json:"namespace"`
			UID             types.UID         `json:"uid"`
			ResourceVersion string            `json:"resourceVersion"`
			Labels          map[string]string `json:"labels"`
			Annotations     struct {
				InitialEventsEnd string `json:"k8s.io/initial-events-end"` // metav1.InitialEventsAnnotationKey
			} `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return nil, nil, err
	}
	gvk := head.GroupVersionKind()
	if gvk == (schema.GroupVersionKind{Version: "v1", Kind: "Status"}) || into != nil {
		return d.status.Decode(data, defaults, into)
	}
	meta := head.Metadata
	entry := &Entry{json: data, ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID,
		ResourceVersion: meta.ResourceVersion, Labels: meta.Labels}}
	if end := meta.Annotations.InitialEventsEnd; end != "" {
		entry.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: end}
	}
	return entry, &gvk, nil
}
