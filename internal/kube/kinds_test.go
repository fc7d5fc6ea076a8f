package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// row is a kind of the table.
func row(group, name string) Kind {
	k, ok := kind.Of(schema.GroupKind{Group: group, Kind: name})
	if !ok {
		panic("the table of kinds has no " + name)
	}
	return k
}

func TestErrorsNameObjectsAndKinds(t *testing.T) {
	t.Parallel()
	for want, ref := range map[string]Ref{
		"Deployment ml/trainer":       {Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"},
		"StorageClass fast":           {Kind: kind.StorageClass(), Name: "fast"},
		"storageclasses":              {Kind: kind.StorageClass()},
		"deployments in namespace ml": {Kind: kind.Deployment(), Namespace: "ml"},
		"Widget":                      {Kind: Kind{GroupVersionKind: metav1.SchemeGroupVersion.WithKind("Widget")}},
	} {
		if got := ref.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
