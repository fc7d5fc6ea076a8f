package manager

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFindKindsReportsAKindThatIsNotServed(t *testing.T) {
	t.Parallel()
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{version})
	mapper.Add(version.WithKind("Widget"), meta.RESTScopeNamespace)

	served := Program{Kinds: []schema.GroupKind{{Group: "example.com", Kind: "Widget"}}}
	if err := served.findKinds(mapper); err != nil {
		t.Error(err)
	}
	missing := Program{Kinds: append(served.Kinds, schema.GroupKind{Group: "example.com", Kind: "Gadget"})}
	if err := missing.findKinds(mapper); err == nil || !strings.Contains(err.Error(), "Gadget.example.com") {
		t.Errorf("error %v; want one that names the kind", err)
	}
}
