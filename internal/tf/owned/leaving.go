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

// DryRun asks the server what an apply would make of an object.
type DryRun func() (*unstructured.Unstructured, error)

// applied returns the fields that were ours after the last apply of an object;
// ok is false for one that was never applied.
func (m Memory) applied(key string) (set *fieldpath.Set, ok bool) {
	entry, known := m[key]
	if !known {
		return nil, false
	}
	set, err := fields.Parse(entry.Set)
	return set, err == nil && !set.Empty()
}

// Applied says whether an object was applied: not while it is only imported.
func (m Memory) Applied(key string) bool {
	_, ok := m.applied(key)
	return ok
}

// Vacate sees to it that the next apply of an object removes the fields that it
// leaves out, although somebody else wrote them, too: live is the object as it is,
// and dryRun asks what the apply would make of it. It costs no request where
// nobody else did.
func Vacate(ctx context.Context, cluster *kube.Cluster, memory Memory, ref kube.Ref, key string, live *unstructured.Unstructured, dryRun DryRun) error {
	before, ok := memory.applied(key)
	if !ok {
		return nil
	}
	contested, err := fields.Contested(live, kube.Manager, before)
	if err != nil || !contested {
		return err
	}
	after, err := dryRun()
	if err != nil {
		return nil //nolint:nilerr // the apply meets the same error
	}
	next, found, err := fields.Owned(after, kube.Manager)
	if err != nil || !found { // a repair comes first: see Cluster.Apply
		return err
	}
	leaving := fields.Removed(before, next)
	return cluster.SetRecords(ctx, ref, live, func(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
		return fields.ClaimRemoved(live, kube.Manager, leaving)
	})
}

// vacate is Vacate for an object that is read through the shared collection.
func vacate(ctx context.Context, cluster *kube.Cluster, memory Memory, sent *unstructured.Unstructured) error {
	key := manifest.Key(sent)
	if !memory.Applied(key) {
		return nil
	}
	ref, err := cluster.RefOf(ctx, sent)
	if err != nil {
		return err
	}
	live, err := cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return Vacate(ctx, cluster, memory, ref, key, live, func() (*unstructured.Unstructured, error) { return cluster.DryRun(ctx, sent) })
}

// TakeOver makes us the only owner of what we have applied to an object that was
// somebody else's, so that a later apply can remove it. live is the response to
// the first apply.
func TakeOver(ctx context.Context, cluster *kube.Cluster, ref kube.Ref, live *unstructured.Unstructured) diag.Diagnostics {
	err := cluster.SetRecords(ctx, ref, live, func(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
		return fields.TakeOver(live, kube.Manager)
	})
	if err == nil {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" still has other managers",
		fmt.Sprintf("It was applied, but the records of its other field managers could not be changed: %v\n\n"+
			"A field that you remove from the configuration later stays in the cluster for as long as another manager owns it.", err))}
}

// Staying warns of fields that the configuration no longer has, and that stay in
// the cluster since others manage them. after is the response to a dry run.
func (m Memory) Staying(ref kube.Ref, key string, after *unstructured.Unstructured) diag.Diagnostics {
	before, ok := m.applied(key)
	if !ok || after == nil {
		return nil
	}
	next, found, err := fields.Owned(after, kube.Manager)
	if err != nil || !found {
		return nil // what cannot be read here is an error of the apply
	}
	kept, err := fields.Retained(after, kube.Manager, fields.Removed(before, next))
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
		"The configuration no longer sets these fields, but another manager applies them, too:\n"+strings.Join(lines, "\n")+
			"\n\nThey leave the state and keep their values in the cluster. To remove a field, remove it where the other manager gets it from.")}
}
