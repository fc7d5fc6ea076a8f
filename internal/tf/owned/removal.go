package owned

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// applied returns the fields that were ours after the last apply of an object, or that were adopted by its import. ok
// is false if there are none.
func (m Memory) applied(key string) (set *fieldpath.Set, ok bool) {
	entry, known := m[key]
	if !known {
		return nil, false
	}
	set, err := fields.Parse(entry.Set)
	return set, err == nil && !set.Empty()
}

// Applied reports whether an object was applied, rather than only imported.
func (m Memory) Applied(key string) bool {
	_, ok := m.applied(key)
	return ok && !m[key].Adopted
}

// ClaimRemovedFields makes sure that the next apply of an object removes the fields that it omits, even if somebody
// else wrote them too. live is the current object, or nil if it is unknown, and dryRun returns the result of the apply.
// It sends no request if nobody else wrote these fields.
func ClaimRemovedFields(
	ctx context.Context, cluster *kube.Cluster, memory Memory, ref kube.Ref, key string,
	live *unstructured.Unstructured, dryRun func() (*unstructured.Unstructured, error),
) error {
	before, ok := memory.applied(key)
	if !ok || live == nil {
		return nil
	}
	// An apply may be unable to remove fields that another manager updated, or that we no longer own.
	_, contested, err := fields.ClaimRemoved(live, before, false)
	if err != nil || !contested {
		return err
	}
	after, err := dryRun()
	if err != nil {
		return nil //nolint:nilerr // the apply returns the same error
	}
	next, found, err := fields.Owned(after)
	if err != nil || !found { // the apply starts with a repair; see Cluster.Apply
		return err
	}
	removed := before.Difference(next)
	claim := func(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
		return fields.ClaimRemoved(live, removed, memory[key].Adopted)
	}
	return cluster.SetRecords(ctx, ref, live, claim)
}

// claimRemovedFields is like ClaimRemovedFields, but reads the object from the shared cache.
func claimRemovedFields(
	ctx context.Context, cluster *kube.Cluster, memory Memory, ref kube.Ref, sent *unstructured.Unstructured,
) error {
	key := manifest.Key(sent)
	if _, known := memory.applied(key); !known {
		return nil
	}
	live, err := cluster.Store.Get(ctx, ref)
	if kube.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return ClaimRemovedFields(ctx, cluster, memory, ref, key, live,
		func() (*unstructured.Unstructured, error) { return cluster.DryRun(ctx, memory.Marked(key, sent)) })
}

// TakeOver makes us the only owner of the fields that we applied to an object of somebody else, so that a later
// apply can remove them. live is the response to the first apply.
func TakeOver(
	ctx context.Context, cluster *kube.Cluster, ref kube.Ref, live *unstructured.Unstructured,
) diag.Diagnostics {
	err := cluster.SetRecords(ctx, ref, live, fields.TakeOver)
	if err == nil {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" still has other managers",
		fmt.Sprintf("It was applied, but its other field managers could not be removed: %v\n\n"+
			"If you later remove a field from the configuration, it remains in the cluster as long as another manager "+
			"owns it.", err))}
}

// RetainedWarning reports fields that are no longer in the configuration but remain in the cluster because others
// manage them. after is the response to a dry run. The first apply of an adopted object removes them.
func (m Memory) RetainedWarning(ref kube.Ref, key string, after *unstructured.Unstructured) diag.Diagnostics {
	before, ok := m.applied(key)
	if !ok || after == nil || m[key].Adopted {
		return nil
	}
	next, found, err := fields.Owned(after)
	if err != nil || !found {
		return nil // the apply reports an unreadable entry
	}
	kept, err := fields.Retained(after, before.Difference(next))
	if err != nil || len(kept) == 0 {
		return nil
	}
	lines := make([]string, len(kept))
	for i, field := range kept {
		lines[i] = fmt.Sprintf("  - %s: managed by %s", field.Path, field.Manager)
		if field.Subresource != "" {
			lines[i] += " through the subresource " + field.Subresource
		}
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(fmt.Sprintf("%s keeps fields that the plan removes", ref),
		"The configuration no longer sets these fields, but another manager also applies them:\n"+
			strings.Join(lines, "\n")+
			"\n\nThey are removed from the state and keep their values in the cluster. To remove a field, remove it "+
			"from the source of the other manager.")}
}

// Leave gives up a field of an object, so that the next apply without it keeps its value instead of removing it. live
// is the current object.
func Leave(
	ctx context.Context, cluster *kube.Cluster, memory Memory, ref kube.Ref, live *unstructured.Unstructured,
	field []string,
) error {
	key := manifest.Key(live)
	if set, known := memory.applied(key); known {
		entry := memory[key]
		entry.Set = fields.Format(fields.Without(set, field))
		memory[key] = entry
	}
	leave := func(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
		return fields.Leave(live, field)
	}
	return cluster.SetRecords(ctx, ref, live, leave)
}
