package compute

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func (d *decoder) claimTemplate(t claimTemplateModel) manifest.VolumeClaimTemplate {
	return manifest.VolumeClaimTemplate{
		Name: t.Name.ValueString(), Size: d.quantity("volume_claim_templates", t.Size),
		MountPath:    t.MountPath.ValueString(),
		StorageClass: t.StorageClass.ValueString(), AccessMode: t.AccessMode.ValueString(),
	}
}

func (f *follower) claimTemplate(t manifest.VolumeClaimTemplate) claimTemplateModel {
	size := ""
	if t.Size != nil {
		size = t.Size.String()
	}
	return claimTemplateModel{
		Name: types.StringValue(t.Name), Size: tf.QuantityOf(size), MountPath: textOrNull(t.MountPath),
		StorageClass: textOrNull(t.StorageClass), AccessMode: textOrNull(t.AccessMode),
	}
}

// last plans a replacement where a field changes that lasts as long as the
// workload, and says what a replacement does not change.
func (p *planner) last(ctx context.Context, prior objects) {
	was, err := prior.workload()
	if err != nil || was == nil {
		return
	}
	will, err := p.rendered.workload()
	if err != nil || will == nil || was.GroupVersionKind() != will.GroupVersionKind() {
		return
	}
	for _, field := range manifest.Lasting(will.GroupVersionKind()) {
		before, _, _ := unstructured.NestedFieldNoCopy(was.Object, field...)
		after, _, _ := unstructured.NestedFieldNoCopy(will.Object, field...)
		if !equality.Semantic.DeepEqual(before, after) && (!sameButSize(before, after) || p.templatesLast(ctx, will)) {
			p.replace = true
		}
	}
}

// goes is the UID of what stands where an object is planned, and is deleted
// before: the object of that name of the compute that is replaced, or what an
// operator made for it, such as the Service of a tensor server.
func (p *planner) goes(ctx context.Context, key string, obj *unstructured.Unstructured) apitypes.UID {
	if replaced := p.Replaced[key].UID; replaced != "" || len(p.Replaced) == 0 {
		return replaced
	}
	ref, err := p.Data.Cluster.RefOf(ctx, obj)
	if err != nil {
		return ""
	}
	live, err := p.Data.Cluster.Read(ctx, ref)
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
