package compute

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// replaceIfImmutable plans a replacement if a field changes that the API server allows to change but the operator does
// not apply.
func (p *planner) replaceIfImmutable(ctx context.Context) {
	before, after := workloadIn(p.prior), workloadIn(p.rendered)
	if before == nil || after == nil || before.GroupVersionKind() != after.GroupVersionKind() {
		return
	}
	k := kind.WorkloadOf(after.GroupVersionKind().GroupKind())
	if k.Headless != nil { // a Service that its controller keeps would prevent that of the provider
		kept := manifest.Key(kind.Service().Named(after.GetNamespace(), k.Headless(before.Object)))
		if p.rendered[kept] != nil && p.prior[kept] == nil {
			p.replaceObjects()
			p.otherIdentity = true
		}
	}
	for _, field := range k.CreationOnly {
		was, _, _ := unstructured.NestedFieldNoCopy(before.Object, field...)
		is, _, _ := unstructured.NestedFieldNoCopy(after.Object, field...)
		if !equality.Semantic.DeepEqual(was, is) &&
			(!differOnlyInSize(was, is) || p.hasImmutableTemplates(ctx, after)) {
			p.replaceObjects()
		}
	}
}

// isDeletedWith reports whether an object is one of the replaced ones, or deleted with them: one of them owns it, or a
// child of one of them, such as the Route of a Knative Service. The key of a core Service is also that of a Knative
// Service, so only the UID tells them apart.
func isDeletedWith(replaced owned.Memory, live *unstructured.Unstructured) bool {
	for key, entry := range replaced {
		if entry.UID == "" {
			continue
		}
		if entry.UID == live.GetUID() {
			return true
		}
		kindName, id, _ := strings.Cut(key, "/")
		for _, owner := range live.GetOwnerReferences() {
			if entry.UID == owner.UID || isChild(owner, kindName, strings.TrimPrefix(id, live.GetNamespace()+"/")) {
				return true
			}
		}
	}
	return false
}

// isChild reports whether an owner is a child of a workload with that kind, of the same group, and name.
func isChild(owner metav1.OwnerReference, workloadKind, name string) bool {
	group := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).Group
	pattern := kind.WorkloadOf(schema.GroupKind{Group: group, Kind: workloadKind}).Children[owner.Kind]
	suffix, named := strings.CutPrefix(owner.Name, name)
	return named && pattern != nil && pattern.MatchString(suffix)
}
