package compute

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// sameButSize reports whether two lists of claim templates differ in the sizes of claims at most.
func sameButSize(before, after any) bool {
	return equality.Semantic.DeepEqual(withoutSizes(before), withoutSizes(after))
}

func withoutSizes(templates any) any {
	list, ok := templates.([]any)
	if !ok {
		return templates
	}
	list = runtime.DeepCopyJSONValue(list).([]any) //nolint:forcetypeassert,errcheck // it is one
	for _, item := range list {
		if template, ok := item.(map[string]any); ok {
			unstructured.RemoveNestedField(template, "spec", "resources")
		}
	}
	return list
}

// templatesLast reports whether the operator made the templates those of a StatefulSet, which never lets them
// change. Since commit deb2850 of February 2026 (pkg/controllers/pvc.go of github.com/astefanutti/skytorch),
// SkyTorch's applies a claim of the template's name instead, whose size may grow.
func (p *planner) templatesLast(ctx context.Context, workload *unstructured.Unstructured) bool {
	ref := kube.Ref{Kind: kind.StatefulSet(), Namespace: workload.GetNamespace(), Name: workload.GetName()}
	live, err := p.Data.Cluster.Get(ctx, ref)
	if err != nil {
		return false
	}
	templates, _, _ := unstructured.NestedSlice(live.Object, "spec", "volumeClaimTemplates")
	return len(templates) > 0
}

// warnOfClaims warns of templates whose claim is not what the template says: one that stays although the template
// changes, and one that belongs to something else.
func (p *planner) warnOfClaims(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	d := decoder{ctx: ctx}
	made := decodeItems(&d, p.State.VolumeClaimTemplates, (*decoder).claimTemplate)
	for i, t := range decodeItems(&d, p.Plan.VolumeClaimTemplates, (*decoder).claimTemplate) {
		at := path.Root("volume_claim_templates").AtListIndex(i)
		was := slices.IndexFunc(made, func(o manifest.VolumeClaimTemplate) bool { return o.Name == t.Name })
		switch {
		case was < 0 && t.Name != "":
			diags.Append(p.warnOfSharedClaim(ctx, at, t.Name)...)
		case was >= 0 && t.Size != nil && made[was].Size != nil &&
			(made[was].Size.Cmp(*t.Size) != 0 || made[was].StorageClass != t.StorageClass ||
				made[was].AccessMode != t.AccessMode):
			claim := fmt.Sprintf("%s-%s-0", t.Name, p.Plan.Name.ValueString())
			diags.AddAttributeWarning(at, "The claim is not changed",
				fmt.Sprintf("The PersistentVolumeClaim of the template keeps its data, class and access mode, and "+
					"its size unless its class allows expansion. It is %s, or with operators of SkyTorch since "+
					"February 2026 %s. \n\nNext step: For an empty claim, use another name for the template. To "+
					"expand the claim, run:\n  kubectl edit pvc %s -n "+
					"%s", claim, t.Name, claim, p.Plan.Namespace.ValueString()))
		}
	}
	return diags
}

// warnOfSharedClaim warns of a claim of a new template's name that is there, or that another compute of this run makes.
func (p *planner) warnOfSharedClaim(ctx context.Context, at path.Path, name string) diag.Diagnostics {
	var diags diag.Diagnostics
	namespace := p.Plan.Namespace.ValueString()
	ref := kube.Ref{Kind: kind.PersistentVolumeClaim(), Namespace: namespace, Name: name}
	user := ""
	first := kube.OfRun(p.Data.Cluster, "first template of "+ref.String(), p.Plan.ID.ValueString)
	if first != p.Plan.ID.ValueString() {
		user = "compute " + first + " has a template of the same name"
	}
	if live, err := p.Data.Cluster.Get(ctx, ref); err == nil {
		user = "the claim exists"
		if manager := live.GetLabels()["app.kubernetes.io/managed-by"]; manager != "" {
			user += ", managed by " + manager
		}
	}
	if user != "" {
		diags.AddAttributeWarning(at.AtName("name"), "The claim is shared",
			fmt.Sprintf("Operators of SkyTorch since February 2026 directly mount the PersistentVolumeClaim %s/%s "+
				"for a template named %s, with the labels of the operator, and %s. Both then share the data, and the "+
				"size of the template may be ignored.\n\nNext step: Use a name for the template that is unique in "+
				"the namespace, such as %s-%s; for a kt_volume, use `volumes`.",
				namespace, name, name, user, p.Plan.Name.ValueString(), name))
	}
	return diags
}
