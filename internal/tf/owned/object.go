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
	"k8s.io/apimachinery/pkg/types"

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
// [Memory.Carry].
func ApplyAs(ctx context.Context, cluster *kube.Cluster, memory Memory, obj, sent *unstructured.Unstructured) (*unstructured.Unstructured, diag.Diagnostics, error) {
	var diags diag.Diagnostics
	key := manifest.Key(obj)
	if err := vacate(ctx, cluster, memory, sent); err != nil {
		return nil, diags, err
	}
	live, err := cluster.Apply(ctx, sent)
	if err != nil {
		return nil, diags, err
	}
	if !memory.Applied(key) {
		if ref, err := cluster.RefOf(ctx, obj); err == nil {
			diags.Append(TakeOver(ctx, cluster, ref, live)...)
		}
	}
	rewritten, err := memory.Remember(key, obj, live)
	for _, field := range rewritten {
		diags.AddWarning("The cluster changed a field on admission",
			fmt.Sprintf("%s: %s holds another value than the one applied. A mutating webhook or policy of the cluster has set it; see\n  kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations", key, field))
	}
	return live, diags, err
}

// Create is Apply of an object of a resource that is being created, with what
// marks it as unfinished.
func Create(
	ctx context.Context, cluster *kube.Cluster, memory Memory, creation *Creation, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	ref, err := cluster.RefOf(ctx, obj)
	if err != nil {
		return nil, nil, err
	}
	live, diags, err := ApplyAs(ctx, cluster, memory, obj, creation.Mark(obj))
	if err == nil {
		creation.Created(ref, live)
	}
	return live, diags, err
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
	var live *unstructured.Unstructured
	err = cluster.Claim(ref, func() (err error) {
		live, err = cluster.Get(ctx, ref)
		return err
	})
	switch {
	case kube.IsNotFound(err):
		return creation.Admit(ref, nil)
	case err != nil:
		return err
	}
	if err := creation.Admit(ref, live); err != nil || live.GetDeletionTimestamp() == nil {
		return err
	}
	return cluster.WaitGone(ctx, ref, podLabels)
}

// Delete starts the deletion of one object and says whether there was one to
// delete. One that somebody has made in its place since is left alone: the UID
// tells, or where none is remembered, that its fields are not ours. So is one
// that this run has created: see [Kept].
func Delete(ctx context.Context, cluster *kube.Cluster, ref kube.Ref, uid types.UID) (bool, error) {
	live, err := cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	same, err := sameObject(live, uid)
	if err != nil || !same {
		return false, err
	}
	return cluster.DeleteUnlessClaimed(ref, func() error { return cluster.Delete(ctx, ref, live.GetUID()) })
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
// there no more. What somebody else has made in its place is another object.
func Find(ctx context.Context, cluster *kube.Cluster, memory Memory, key string, ref kube.Ref) (Found, diag.Diagnostics, error) {
	var diags diag.Diagnostics
	live, err := cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		diags.AddWarning("An object was deleted outside of Terraform", fmt.Sprintf("%s does not exist any more. The next apply makes it again.", ref))
		return Found{}, diags, ErrGone
	}
	known, ok := memory[key]
	if err != nil || !ok || known.UID == live.GetUID() {
		if err == nil {
			Keep(cluster, ref, live)
		}
		return Found{Live: live}, diags, err
	}
	_, ours, err := kube.OwnedFields(live)
	if err != nil {
		return Found{}, diags, err
	}
	if !ours {
		diags.AddWarning("An object was replaced outside of Terraform",
			fmt.Sprintf("%s was deleted, and made again by somebody else: its fields are managed by %s.", ref, strings.Join(Managers(live), ", ")))
		return Found{}, diags, ErrGone
	}
	Keep(cluster, ref, live)
	known.UID = live.GetUID() // deleted and restored with all of its metadata
	memory[key] = known
	return Found{Live: live, Learned: true}, diags, nil
}

// Keep notes an object that is in state, whatever became of the run that
// created it.
func Keep(cluster *kube.Cluster, ref kube.Ref, live *unstructured.Unstructured) {
	cluster.Hold(ref, live.GetUID())
	cluster.Complete(ref, live)
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
