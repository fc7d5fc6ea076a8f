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
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Apply applies one object, remembers what became ours, and warns of what
// admission has changed.
func Apply(ctx context.Context, cluster *kube.Cluster, memory Memory, obj *unstructured.Unstructured) (*unstructured.Unstructured, diag.Diagnostics, error) {
	return ApplyAs(ctx, cluster, memory, obj, obj)
}

// ApplyAs is Apply of an object that is sent with more than what is ours; see
// [Memory.MergeForeign].
func ApplyAs(ctx context.Context, cluster *kube.Cluster, memory Memory, obj, sent *unstructured.Unstructured) (*unstructured.Unstructured, diag.Diagnostics, error) {
	key := manifest.Key(obj)
	if err := vacate(ctx, cluster, memory, sent); err != nil {
		return nil, nil, err
	}
	if !memory.Expects(key) {
		return applyBy(ctx, cluster.Apply, cluster, memory, obj, memory.Marked(key, sent))
	}
	sent, err := expectedToSend(ctx, cluster, memory, key, sent)
	if err != nil {
		return nil, nil, err
	}
	apply := func(ctx context.Context, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		live, err := cluster.Apply(ctx, sent)
		if err != nil {
			return nil, err
		}
		if ref, err := cluster.RefOf(ctx, obj); err == nil {
			cluster.Complete(ref, live)
		}
		return live, nil
	}
	return applyBy(ctx, apply, cluster, memory, obj, sent)
}

// expectedToSend is what to send of an object in state of whose creation no
// answer came: what that creation would have sent, or with the UID of what it made.
// An object that it did not make is an error.
func expectedToSend(
	ctx context.Context, cluster *kube.Cluster, memory Memory, key string, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	ref, err := cluster.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	live, err := cluster.Read(ctx, ref)
	if err != nil && !kube.IsNotFound(err) {
		return nil, err
	}
	if err != nil {
		live = nil
	}
	return memory.ToSend(key, ref, live, obj)
}

// ToSend is what to send of an object of state, where live, nil for none, is what
// the cluster has. Where its creation had no answer, that is what it would have
// sent, or what has the UID of the object that it made.
func (m Memory) ToSend(key string, ref kube.Ref, live, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !m.Expects(key) {
		return obj, nil
	}
	if live == nil {
		return kube.MarkUnfinished(obj, m[key].Creation), nil
	}
	same, err := m.Has(key, live)
	if err != nil {
		return nil, err
	}
	if !same {
		return nil, &otherObjectError{ref: ref, live: live}
	}
	out := obj.DeepCopy()
	out.SetUID(live.GetUID())
	return out, nil
}

// MakeWay sees to it that a new object can be created: one that creation does
// not admit is an error, and one that is still being deleted is waited for,
// with the pods that podLabels select.
func MakeWay(
	ctx context.Context, cluster *kube.Cluster, creation *Creation, obj *unstructured.Unstructured, podLabels map[string]string,
) error {
	ref, err := cluster.RefOf(ctx, obj)
	if err != nil {
		return err
	}
	live, err := creation.Look(ctx, cluster, ref)
	if err != nil {
		return err
	}
	if err := creation.Admit(ref, live); err != nil || live == nil || live.GetDeletionTimestamp() == nil {
		return err
	}
	return cluster.WaitGone(ctx, ref, podLabels)
}

// Delete starts the deletion of one object and says whether there was one to
// delete. Another one of its name is left alone with a warning. One that this run
// has created is left alone: see [Kept].
func Delete(ctx context.Context, cluster *kube.Cluster, memory Memory, key string, ref kube.Ref) (bool, diag.Diagnostics, error) {
	live, err := cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if same, err := memory.Has(key, live); err != nil || !same {
		return false, LeftAlone(memory, key, ref, live, err), err
	}
	started, err := cluster.DeleteUnlessClaimed(ctx, ref, func() error { return cluster.Delete(ctx, ref, live.GetUID()) })
	return started, nil, err
}

// LeftAlone warns of an object that a deletion leaves alone, since it is not the
// one in state; nothing where err says that this is not known.
func LeftAlone(memory Memory, key string, ref kube.Ref, live *unstructured.Unstructured, err error) diag.Diagnostics {
	if err != nil {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" was not deleted",
		fmt.Sprintf("%s It was left alone. If nobody needs it, delete it:\n  kubectl delete %s %s -n %s",
			otherObject(memory[key], ref, live), strings.ToLower(ref.Kind.Kind), ref.Name, ref.Namespace))}
}

// otherObject says that live is not the object in state.
func otherObject(known Entry, ref kube.Ref, live *unstructured.Unstructured) string {
	managers := strings.Join(Managers(live), ", ")
	if known.UID == "" {
		return fmt.Sprintf("The cluster has %s with UID %s, whose fields are managed by %s. "+
			"It was not made by the creation in state, of which no answer came.", ref, live.GetUID(), managers)
	}
	return fmt.Sprintf("The object in state has UID %s. The cluster has another %s with UID %s, created at %s, whose fields are managed by %s.",
		known.UID, ref, live.GetUID(), live.GetCreationTimestamp().UTC().Format(time.RFC3339), managers)
}

// otherObjectError says that an object was not made by the creation in state.
type otherObjectError struct {
	ref  kube.Ref
	live *unstructured.Unstructured
}

func (e *otherObjectError) Error() string {
	return otherObject(Entry{}, e.ref, e.live) + " Run a plan with a refresh, and apply that."
}

func (e *otherObjectError) diagnostic() diag.Diagnostic {
	return diag.NewErrorDiagnostic(e.ref.String()+" is another object than the one in state", e.Error())
}

// Kept warns where an object is not deleted, since a resource of this run has
// created it: it is the same for the cluster, whatever its resource is called.
func Kept(cluster *kube.Cluster, ref kube.Ref) diag.Diagnostics {
	if !cluster.Claimed(ref) {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" stays",
		"This run was to create and to delete it, as two resources of the same name: after a rename in the configuration, or because of create_before_destroy. "+
			"It was created first, so it was not deleted, and belongs to the new resource.\n\n"+
			"For a rename, a moved block says that it is the same. To replace it by a new one, leave create_before_destroy out, also of what depends on it.")}
}

// ErrGone says that an object is no more.
var ErrGone = errors.New("it does not exist")

// Found is a live object that was applied before.
type Found struct {
	Live *unstructured.Unstructured
	// Learned says that the memory has changed and is to be saved.
	Learned bool
}

// Find returns the object that was applied, ErrGone with a warning where it is
// there no more. What was made in its place is another object, but for one that
// was restored from a backup. resource is the type and ID of whose it is.
func Find(ctx context.Context, cluster *kube.Cluster, memory Memory, key string, ref kube.Ref, resource string) (Found, diag.Diagnostics, error) {
	live, err := cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		return Found{}, diag.Diagnostics{memory.Missing(key, ref)}, ErrGone
	}
	if err != nil {
		return Found{}, nil, err
	}
	learned, diags, err := memory.Recognize(key, ref, live, resource)
	if err != nil {
		return Found{}, diags, err
	}
	Keep(cluster, ref, live, resource)
	return Found{Live: live, Learned: learned}, diags, nil
}

// Recognize returns ErrGone with a warning where live is another object than the
// one that is remembered. One that was restored from a backup takes its place;
// learned says that the memory has changed by that.
func (m Memory) Recognize(key string, ref kube.Ref, live *unstructured.Unstructured, resource string) (learned bool, diags diag.Diagnostics, err error) {
	same, err := m.Has(key, live)
	if err != nil || same {
		return false, nil, err
	}
	known := m[key]
	_, ours, err := kube.OwnedFields(live)
	if err != nil {
		return false, nil, err
	}
	if ours && known.UID != "" && kube.Restored(live) {
		diags.AddWarning(ref.String()+" was restored outside of Terraform",
			fmt.Sprintf("%s had UID %s, and has UID %s now. This provider applied it before it was created at %s, so it was restored from a backup, "+
				"and the state goes on with it. If it is not to be managed here, remove the resource from the state:\n  terraform state rm ADDRESS",
				ref, known.UID, live.GetUID(), live.GetCreationTimestamp().UTC().Format(time.RFC3339)))
		known.UID = live.GetUID()
		m[key] = known
		return true, diags, nil
	}
	resourceType, id, _ := strings.Cut(resource, " ")
	diags.AddWarning(ref.String()+" was replaced outside of Terraform",
		fmt.Sprintf("%s It may belong to another configuration, so it is neither changed nor deleted, and the resource leaves the state.\n\n"+
			"To manage it here from now on, import it after this run:\n%s\n"+
			"Or set adopt_existing = true. To have a new one, delete it first:\n  kubectl delete %s %s -n %s",
			otherObject(known, ref, live), importBlock(resourceType, id), strings.ToLower(ref.Kind.Kind), ref.Name, ref.Namespace))
	return false, diags, ErrGone
}

// Missing warns of an object that the cluster does not have.
func (m Memory) Missing(key string, ref kube.Ref) diag.Diagnostic {
	if m.Expects(key) {
		return diag.NewWarningDiagnostic(ref.String()+" was not created",
			fmt.Sprintf("%s does not exist: the apply that was to create it ended before that, or no answer told whether it did. The next apply creates it.", ref))
	}
	return diag.NewWarningDiagnostic("An object was deleted outside of Terraform", fmt.Sprintf("%s does not exist any more. The next apply makes it again.", ref))
}

// Keep notes an object that is in state as one of a resource, by type and ID,
// whatever became of the run that created it.
func Keep(cluster *kube.Cluster, ref kube.Ref, live *unstructured.Unstructured, resource string) {
	cluster.Hold(live.GetUID(), resource)
	cluster.CompleteInState(ref, live)
}

// DriftWarning names every changed field, who changed it and when. The values
// stand in the plan's diff, where Terraform hides the ones that it knows to be
// sensitive.
func DriftWarning(ref kube.Ref, changes []fields.Change) diag.Diagnostics {
	if len(changes) == 0 {
		return nil
	}
	lines := make([]string, 0, len(changes))
	for _, change := range changes {
		line := "  - " + change.Path + ": "
		switch {
		case change.Removed:
			line += "removed (Kubernetes does not record who removes a field)"
		case change.Reordered:
			line += "reordered (Kubernetes does not record who moves list items)"
		case change.Added && change.Manager == "":
			line += "added, which excludes what was applied"
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
	return diag.Diagnostics{diag.NewWarningDiagnostic(fmt.Sprintf("%s was changed outside of Terraform", ref),
		"These fields no longer hold what was applied:\n"+strings.Join(lines, "\n")+
			"\n\nThe next apply puts them back. To keep a change, put it into the configuration, or into lifecycle.ignore_changes.")}
}

// TerminatingWarning says that an object is on its way out.
func TerminatingWarning(ref kube.Ref, live *unstructured.Unstructured) diag.Diagnostic {
	return diag.NewWarningDiagnostic(ref.String()+" is being deleted",
		fmt.Sprintf("Its deletion began at %s. An apply waits until it is gone, and then makes it again.", live.GetDeletionTimestamp().UTC().Format(time.RFC3339)))
}

// RefuseIfProtected is the error of a plan or a deletion that
// deletion_protection stops; what is the thing in words: "compute".
func RefuseIfProtected(protected bool, what, id string) diag.Diagnostics {
	if !protected {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("deletion_protection"), "The "+what+" is protected from deletion",
		fmt.Sprintf("%s has deletion_protection = true, and this plan would delete it. Set it to false and apply that first. "+
			"If Terraform marked the %s as tainted after a failed start, `terraform untaint` keeps it.", id, what))}
}
