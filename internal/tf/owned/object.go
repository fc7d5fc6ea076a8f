package owned

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// ApplyAs applies one object, remembers the fields that are ours, and warns of fields that admission has changed. sent
// can contain more than our fields, such as the UID; see [Memory.MergeForeign].
func ApplyAs(
	ctx context.Context, r *run.Run, memory Memory, obj, sent *unstructured.Unstructured,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	key := manifest.Key(obj)
	ref, err := r.Cluster.Discovery.RefOf(ctx, obj)
	if err != nil {
		return nil, nil, err
	}
	if err := claimRemovedFields(ctx, r.Cluster, memory, ref, sent); err != nil {
		return nil, nil, err
	}
	if !memory.Expects(key) {
		return applyWith(ctx, r.Cluster.Apply, r.Cluster, memory, ref, obj, memory.Marked(key, sent))
	}
	existing, err := r.Cluster.Store.Get(ctx, ref)
	if err != nil && !kube.IsNotFound(err) {
		return nil, nil, err
	}
	sent, err = memory.ObjectToSend(key, ref, existing, sent)
	if err != nil {
		return nil, nil, err
	}
	live, diags, err := applyWith(ctx, r.Cluster.Apply, r.Cluster, memory, ref, obj, sent)
	if live != nil {
		r.Complete(ref, live)
	}
	return live, diags, err
}

// ObjectToSend returns the object to send for an object in state. live is the live object, or nil. If the response
// to its creation was lost, the result repeats the creation, or has the UID of the object that it created. An object
// of another creation is an error.
func (m Memory) ObjectToSend(
	key string, ref kube.Ref, live, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if !m.Expects(key) {
		return obj, nil
	}
	if live == nil {
		return kube.MarkUnfinished(m.Marked(key, obj), m[key].Creation), nil
	}
	same, err := m.Has(key, live)
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, &ownershipError{diag.NewErrorDiagnostic(ref.String()+" is another object than the one in state",
			otherObject(Entry{}, ref, live)+"\n\nNext step: Run a plan with a refresh, and apply it.")}
	}
	out := obj.DeepCopy()
	out.SetUID(live.GetUID())
	return out, nil
}

// PrepareCreate makes sure that a new object can be created. It returns an error for an existing object that creation
// does not admit. It waits for an object that is still being deleted, and for the pods that podLabels select.
func PrepareCreate(
	ctx context.Context, r *run.Run, creation *Creation, obj *unstructured.Unstructured,
	podLabels map[string]string,
) error {
	ref, err := r.Cluster.Discovery.RefOf(ctx, obj)
	if err != nil {
		return err
	}
	live, err := creation.LookUp(ctx, r, ref)
	if err != nil {
		return err
	}
	if err := creation.Admit(ref, live); err != nil || live == nil || live.GetDeletionTimestamp() == nil {
		return err
	}
	return observe.WaitGone(ctx, r.Cluster, ref, live.GetUID(), podLabels)
}

// Delete starts the deletion of one object, and reports whether it existed. It does not delete another object with
// the same name, which it reports in a warning, nor one that this run has created; see [NotDeletedWarning].
func Delete(
	ctx context.Context, r *run.Run, memory Memory, key string, ref kube.Ref,
) (bool, diag.Diagnostics, error) {
	live, err := r.Cluster.Store.Get(ctx, ref)
	if kube.IsNotFound(err) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if same, err := memory.Has(key, live); err != nil || !same {
		return false, OtherObjectWarning(memory, key, ref, live, err), err
	}
	started, err := r.DeleteUnlessClaimed(ctx, ref,
		func() error { return r.Cluster.Delete(ctx, ref, live.GetUID()) })
	return started, nil, err
}

// OtherObjectWarning reports that a deletion does not delete an object because it is not the one in state. It
// returns nothing if err means that this is unknown.
func OtherObjectWarning(
	memory Memory, key string, ref kube.Ref, live *unstructured.Unstructured, err error,
) diag.Diagnostics {
	if err != nil {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" was not deleted",
		fmt.Sprintf("%s It was not changed. If it is not needed, delete it:\n  %s",
			otherObject(memory[key], ref, live), ref.Kubectl("delete")))}
}

// otherObject describes how live differs from the object in state.
func otherObject(known Entry, ref kube.Ref, live *unstructured.Unstructured) string {
	managers := strings.Join(Managers(live), ", ")
	if known.UID == "" {
		return fmt.Sprintf("The cluster has %s with UID %s, whose fields are managed by %s. "+
			"The creation in state, whose response was lost, did not create it.", ref, live.GetUID(), managers)
	}
	return fmt.Sprintf("The object in state has UID %s. The cluster has another %s with UID %s, created at %s, whose "+
		"fields are managed by %s.",
		known.UID, ref, live.GetUID(), live.GetCreationTimestamp().UTC().Format(time.RFC3339), managers)
}

// NotDeletedWarning reports that an object is not deleted because a resource of this run has created it. For the
// cluster, it is the same object whatever the address of its resource is.
func NotDeletedWarning(r *run.Run, ref kube.Ref) diag.Diagnostics {
	if !r.Claimed(ref) {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" was not deleted",
		"Two resources with the same name would create and delete it in this run, because of a rename in the "+
			"configuration or of create_before_destroy. It was created first. Therefore it was not deleted and "+
			"belongs to the new resource.\n\n"+
			"For a rename, add a moved block. To replace the object, remove create_before_destroy from the resource "+
			"and from those that depend on it.")}
}

// ErrGone reports that an object no longer exists.
var ErrGone = errors.New("it does not exist")

// ErrDeleted is ErrGone for an object that somebody has deleted.
var ErrDeleted = fmt.Errorf("%w: it was deleted", ErrGone)

// Find returns the object that was applied. If it no longer exists, it returns ErrGone or ErrDeleted, with a warning.
// An object that was created in its place is another object, unless it was restored from a backup. resource is the type
// and ID of its resource.
func Find(
	ctx context.Context, r *run.Run, memory Memory, key string, ref kube.Ref, resource string,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	live, err := r.Cluster.Store.Get(ctx, ref)
	if kube.IsNotFound(err) {
		gone := ErrDeleted
		if memory.Expects(key) {
			gone = ErrGone
		}
		return nil, diag.Diagnostics{memory.Missing(key, ref)}, gone
	}
	if err != nil {
		return nil, nil, err
	}
	diags, err := memory.Recognize(key, ref, live, resource)
	if err != nil {
		return nil, diags, err
	}
	RecordInState(r, ref, live, resource)
	return live, diags, nil
}

// Recognize returns ErrGone with a warning if live is not the object of the entry. It updates the entry for an
// object that was restored from a backup. Backup tools give it another UID, and restore
// managedFields (https://github.com/vmware-tanzu/velero/releases/tag/v1.17.2, "managed fields patch"). Only the ID of
// its creation proves that it is the object in state: their times are those of any object whose creation was slow.
func (m Memory) Recognize(
	key string, ref kube.Ref, live *unstructured.Unstructured, resource string,
) (diags diag.Diagnostics, err error) {
	same, err := m.Has(key, live)
	if err != nil || same {
		return nil, err
	}
	known := m[key]
	if known.UID != "" && known.Creation != "" && kube.MarkedCreation(live) == known.Creation {
		diags.AddWarning(ref.String()+" was restored outside of Terraform",
			fmt.Sprintf("%s had UID %s, and now has UID %s, which was created at %s. It has the annotation %s = %s "+
				"of the creation in state. Therefore it was restored from a backup, and the resource continues with "+
				"it. If this configuration should not manage it, remove the resource from the state:\n"+
				"  terraform state rm ADDRESS", ref, known.UID, live.GetUID(),
				live.GetCreationTimestamp().UTC().Format(time.RFC3339), kube.CreationAnnotation, known.Creation))
		known.UID = live.GetUID()
		m[key] = known
		return diags, nil
	}
	resourceType, id, _ := strings.Cut(resource, " ")
	diags.AddWarning(ref.String()+" was replaced outside of Terraform",
		fmt.Sprintf("%s It may belong to another configuration. Therefore it is neither changed nor deleted, and the "+
			"resource is removed from the state.\n\n"+
			"To manage it here, import it after this run:\n%s\n"+
			"or set adopt_existing = true. To create a new one, delete it first:\n  %s",
			otherObject(known, ref, live), importBlock(resourceType, id), ref.Kubectl("delete")))
	return diags, ErrGone
}

// Missing reports an object that the cluster does not have.
func (m Memory) Missing(key string, ref kube.Ref) diag.Diagnostic {
	if m.Expects(key) {
		return diag.NewWarningDiagnostic(ref.String()+" was not created",
			fmt.Sprintf("%s does not exist. The apply that should have created it ended before, or its response was "+
				"lost. The next apply creates it.", ref))
	}
	return diag.NewWarningDiagnostic("An object was deleted outside of Terraform",
		fmt.Sprintf("%s no longer exists. The next apply creates it again.", ref))
}

// RecordInState records that an object in state belongs to a resource, by type and ID, regardless of the outcome of
// the run that created it.
func RecordInState(r *run.Run, ref kube.Ref, live *unstructured.Unstructured, resource string) {
	r.Hold(live.GetUID(), resource)
	r.CompleteInState(ref, live)
}

// DriftWarning lists every changed field with its manager and time. A refresh does not know the configuration, so the
// text holds whether or not lifecycle.ignore_changes contains the attribute. The values are in the diff of the plan,
// where Terraform hides sensitive ones.
func DriftWarning(ref kube.Ref, found Refreshed) diag.Diagnostics {
	if len(found.Changes) == 0 || found.InState {
		return nil
	}
	lines := make([]string, 0, len(found.Changes))
	for _, change := range found.Changes {
		line := "  - " + change.Path + ": "
		switch {
		case change.Removed:
			line += "removed (Kubernetes does not record who removes a field)"
		case change.Reordered:
			line += "reordered (Kubernetes does not record who moves list items)"
		case change.Gained:
			line += "added"
		case change.Added && change.Manager == "":
			line += "added, in conflict with the applied field"
		case change.Added:
			line += "added by " + change.Manager
		case change.Manager == "":
			line += "changed"
		default:
			line += "changed by " + change.Manager
		}
		if !change.Time.IsZero() {
			line += " at " + change.Time.UTC().Format(time.RFC3339)
		}
		lines = append(lines, line)
	}
	text := "These fields no longer have the applied values:\n" + strings.Join(lines, "\n") + "\n\n" +
		"An apply restores them, except for attributes in lifecycle.ignore_changes and for values that the " +
		"configuration now has."
	if found.Unrecorded {
		return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" was changed by another run of the provider",
			"The run was killed before its results were written to the state, or it used another state. "+text)}
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" was changed outside of Terraform", text)}
}

// TerminatingWarning reports that an object is being deleted. protected reports whether deletion_protection prevents
// its replacement.
func TerminatingWarning(ref kube.Ref, live *unstructured.Unstructured, protected bool) diag.Diagnostic {
	consequence := ". An apply waits until it is deleted, and then creates it again."
	if protected {
		consequence = " and cannot be undone. Because of `deletion_protection`, a plan does not replace it.\n\n" +
			"Next step: Set `deletion_protection` to false, and apply. The plan after that replaces it."
	}
	return diag.NewWarningDiagnostic(ref.String()+" is being deleted",
		"Its deletion began at "+live.GetDeletionTimestamp().UTC().Format(time.RFC3339)+consequence)
}

// RefuseIfProtected returns an error if deletion_protection prevents a deletion. noun names the resource: "compute".
func RefuseIfProtected(protected bool, noun, id string) diag.Diagnostics {
	if !protected {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("deletion_protection"),
		"The "+noun+" is protected from deletion",
		fmt.Sprintf("%s has deletion_protection = true, and this plan would delete it.\n\n"+
			"Next step: To keep it, undo the change. If it is tainted after a failed start, run `terraform untaint "+
			"ADDRESS`. To delete it, first apply deletion_protection = false with nothing else changed.", id))}
}
