package compute

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// replaceIfImmutable plans a replacement if a field changes that the API server allows to change but the operator does
// not apply.
func (p *planner) replaceIfImmutable(ctx context.Context) {
	before, after := workloadIn(p.prior), workloadIn(p.rendered)
	if before == nil || after == nil || before.GroupVersionKind() != after.GroupVersionKind() {
		return
	}
	for _, field := range kind.WorkloadOf(after.GroupVersionKind().GroupKind()).CreationOnly {
		was, _, _ := unstructured.NestedFieldNoCopy(before.Object, field...)
		is, _, _ := unstructured.NestedFieldNoCopy(after.Object, field...)
		if !equality.Semantic.DeepEqual(was, is) &&
			(!differOnlyInSize(was, is) || p.hasImmutableTemplates(ctx, after)) {
			p.replaceObjects()
		}
	}
}

// replacedUID returns the UID of the object that is deleted before obj is created: the object of the replaced compute,
// or one that an operator created for it, such as the Service of a tensor server.
func (p *planner) replacedUID(ctx context.Context, key string, obj *unstructured.Unstructured) apitypes.UID {
	if replaced := p.Replaced[key].UID; replaced != "" || len(p.Replaced) == 0 {
		return replaced
	}
	ref, err := p.Data.Cluster.Discovery.RefOf(ctx, obj)
	if err != nil {
		return ""
	}
	live, err := p.Data.Cluster.Store.Get(ctx, ref)
	if err != nil {
		return ""
	}
	for _, owner := range live.GetOwnerReferences() {
		for _, entry := range p.Replaced {
			if entry.UID == owner.UID {
				return live.GetUID()
			}
		}
	}
	return ""
}
