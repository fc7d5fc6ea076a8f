package compute

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
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
		equal := equality.Semantic.DeepEqual
		if !equal(was, is) && (!equal(withoutSizes(was), withoutSizes(is)) || p.hasImmutableTemplates(ctx, after)) {
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

// withoutSizes returns a list of claim templates without the sizes of the claims.
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

// hasImmutableTemplates reports whether the operator uses the templates as those of a StatefulSet, which are immutable.
// Since commit deb2850 of February 2026 (pkg/controllers/pvc.go of github.com/astefanutti/skytorch), the operator of
// SkyTorch instead applies a claim with the name of the template, which can be expanded.
func (p *planner) hasImmutableTemplates(ctx context.Context, workload *unstructured.Unstructured) bool {
	ref := kube.Ref{Kind: kind.StatefulSet(), Namespace: workload.GetNamespace(), Name: workload.GetName()}
	live, err := p.Data.Cluster.API.Get(ctx, ref)
	if err != nil {
		return false
	}
	templates, _, _ := unstructured.NestedSlice(live.Object, "spec", "volumeClaimTemplates")
	return len(templates) > 0
}

// warnOfClaims warns of templates whose claim will differ from the template: an existing claim of a changed template,
// and a claim that is shared.
func (p *planner) warnOfClaims(ctx context.Context) {
	attribute := path.Root("volume_claim_templates")
	var applied, planned []manifest.VolumeClaimTemplate
	p.converter.Decode(attribute, p.State.VolumeClaimTemplates, &applied)
	p.converter.Decode(attribute, p.Plan.VolumeClaimTemplates, &planned)
	for i, t := range planned {
		at := attribute.AtListIndex(i)
		was := slices.IndexFunc(applied, func(o manifest.VolumeClaimTemplate) bool { return o.Name == t.Name })
		switch {
		case was < 0 && t.Name != "":
			p.warnOfSharedClaim(ctx, at, t.Name)
		case was >= 0 && t.Size != nil && applied[was].Size != nil &&
			(applied[was].Size.Cmp(*t.Size) != 0 || applied[was].StorageClass != t.StorageClass ||
				applied[was].AccessMode != t.AccessMode):
			claim := fmt.Sprintf("%s-%s-0", t.Name, p.Plan.Name.ValueString())
			p.Diags.AddAttributeWarning(at, "The claim is not changed",
				fmt.Sprintf("The PersistentVolumeClaim of the template keeps its data, class and access mode, and "+
					"its size unless its class allows expansion. It is %s, or with operators of SkyTorch since "+
					"February 2026 %s. \n\nNext step: For an empty claim, use another name for the template. To "+
					"expand the claim, run:\n  kubectl edit pvc %s -n "+
					"%s", claim, t.Name, claim, p.Plan.Namespace.ValueString()))
		}
	}
}

// warnOfSharedClaim warns if a claim with the name of a new template exists, or if another compute of this run has
// such a template.
func (p *planner) warnOfSharedClaim(ctx context.Context, at path.Path, name string) {
	namespace := p.Plan.Namespace.ValueString()
	ref := kube.Ref{Kind: kind.PersistentVolumeClaim(), Namespace: namespace, Name: name}
	user := ""
	first := run.Once(p.Data.Run, "first template of "+ref.Key(), p.Plan.ID.ValueString)
	if first != p.Plan.ID.ValueString() {
		user = "compute " + first + " has a template of the same name"
	}
	if live, err := p.Data.Cluster.API.Get(ctx, ref); err == nil && !isDeletedWith(p.Replaced, live) {
		user = "the claim exists"
		if manager := live.GetLabels()[kind.ManagedByLabel]; manager != "" {
			user += ", managed by " + manager
		}
	}
	if user != "" {
		p.Diags.AddAttributeWarning(at.AtName("name"), "The claim is shared",
			fmt.Sprintf("Operators of SkyTorch since February 2026 directly mount the PersistentVolumeClaim %s/%s "+
				"for a template named %s, with the labels of the operator, and %s. Both then share the data, and the "+
				"size of the template may be ignored.\n\nNext step: Use a name for the template that is unique in "+
				"the namespace, such as %s-%s; for a kt_volume, use `volumes`.",
				namespace, name, name, user, p.Plan.Name.ValueString(), name))
	}
}
