package owned

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// Forecast is the result of a server-side dry run of one planned object.
type Forecast struct {
	// Ref is the object.
	Ref kube.Ref
	// After is the object that an apply would result in. It is nil if the server sent no response or rejects the
	// object.
	After *unstructured.Unstructured
	// Err is why the server rejects the object, or nil.
	Err error
}

// PreviewOwner is like Preview, for an object of which only the name is known.
func PreviewOwner(ctx context.Context, cluster *kube.Cluster, ref kube.Ref, creation *Creation) Forecast {
	if creation.Adopt {
		return Forecast{Ref: ref}
	}
	return Forecast{Ref: ref, Err: creation.check(ctx, cluster, ref)}
}

// Preview checks whether creation admits an existing object, and dry-runs the apply. creation is nil if the object
// is in state. replacedUID is the UID of an object that is deleted before; see replacementError. As an apply does, it
// sends the annotation of the creation: without its only annotation of this manager, server-side apply also removes
// those that admission has added, which a webhook may reject.
func (m Memory) Preview(
	ctx context.Context, cluster *kube.Cluster, obj *unstructured.Unstructured, creation *Creation,
	replacedUID types.UID,
) Forecast {
	ref, err := cluster.Discovery.RefOf(ctx, obj)
	if err != nil {
		return Forecast{Ref: ref, Err: err}
	}
	if replacedUID != "" {
		if live, err := cluster.Store.Get(ctx, ref); err == nil && live.GetUID() == replacedUID {
			creation.skip()
			return Forecast{Ref: ref, Err: replacementError(ctx, cluster, ref, obj)}
		}
	}
	if creation == nil {
		obj = m.Marked(manifest.Key(obj), obj)
	} else {
		obj = kube.MarkCreation(obj, creation.identity())
	}
	var after *unstructured.Unstructured
	if creation == nil || creation.Adopt {
		after, err = cluster.DryRun(ctx, obj)
	} else {
		after, err = previewNew(ctx, cluster, ref, obj, creation)
	}
	if kube.ClassOf(err) == kube.Immutable && creation != nil {
		// Terraform passes no state of a tainted resource, whose objects are deleted before the creation. The creation
		// also waits for an object that is being deleted.
		live, readErr := cluster.Store.Get(ctx, ref)
		if readErr == nil && (creation.Holds(live) || live.GetDeletionTimestamp() != nil) {
			err = replacementError(ctx, cluster, ref, obj)
		}
	}
	return Forecast{Ref: ref, After: after, Err: err}
}

// replacementError returns why the API server rejects a workload that takes the place of another one with its name, or
// nil: otherwise, a run deletes the other one first. It dry-runs the creation under another name with the same prefix
// and the same kinds of characters, which policies may require. A quota does not count, because it also counts the
// other one. A revision of Knative has the name of its Service as a prefix, so a Service that names one is not sent.
func replacementError(ctx context.Context, cluster *kube.Cluster, ref kube.Ref, obj *unstructured.Unstructured) error {
	if kind.WorkloadOf(ref.Kind.GroupKind()).Mode == "" || ref.Kind.Group == kind.KnativeGroup &&
		kind.TextAt(obj.Object, "spec", "template", "metadata", "name") != "" {
		return nil
	}
	name := freeName(ctx, cluster, ref)
	if name == "" {
		return nil
	}
	other := obj.DeepCopy()
	other.SetName(name)
	_, _, err := cluster.DryRunNew(ctx, other)
	failed, ok := errors.AsType[*kube.Error](err)
	if !ok || failed.Class != kube.Invalid && failed.Class != kube.Refused ||
		strings.Contains(err.Error(), "exceeded quota") {
		return nil
	}
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	failed.Ref, failed.Err = ref, errors.New(word.ReplaceAllLiteralString(failed.Err.Error(), ref.Name))
	return failed
}

// freeName returns a name without an object that differs only in the last character, which is also a letter or a digit;
// "" if there is none. If objects cannot be read, any name counts.
func freeName(ctx context.Context, cluster *kube.Cluster, ref kube.Ref) string {
	last := len(ref.Name) - 1
	for _, other := range "0123456789abcdefghijklmnopqrstuvwxyz" {
		at := ref
		at.Name = ref.Name[:last] + string(other)
		if (other <= '9') != (ref.Name[last] <= '9') || at.Name == ref.Name {
			continue
		}
		if live, err := cluster.Look(ctx, at); err != nil || live == nil {
			return at.Name
		}
	}
	return ""
}

// previewNew dry-runs the apply of a new object. It reads the existing object only if the server does not respond
// that it would create the object.
func previewNew(
	ctx context.Context, cluster *kube.Cluster, ref kube.Ref, obj *unstructured.Unstructured, creation *Creation,
) (*unstructured.Unstructured, error) {
	after, created, err := cluster.DryRunNew(ctx, obj)
	if created {
		creation.skip()
		return after, nil
	}
	if rejected := creation.check(ctx, cluster, ref); rejected != nil {
		return nil, rejected
	}
	return after, err
}

// Is reports whether the dry run failed with an error of one of the classes.
func (f Forecast) Is(classes ...kube.Class) bool {
	return f.Err != nil && slices.Contains(classes, kube.ClassOf(f.Err))
}

// Unreachable reports whether the server sent no response.
func (f Forecast) Unreachable() bool {
	return f.Is(kube.Unreachable, kube.Misconfigured, kube.Unauthorized)
}

// Diagnostics returns the errors and warnings for the plan. A changed immutable field of an object of ours means a
// replacement, which is not an error. A missing object that the same run may still create is only a warning, and so
// is an unreachable cluster while something new is planned.
func (f Forecast) Diagnostics(creating, known bool) diag.Diagnostics {
	switch immutable := f.Is(kube.Immutable); {
	case f.Err == nil, immutable && known:
		return nil
	case immutable:
		return diag.Diagnostics{f.immutableError()}
	}
	return diag.Diagnostics{PlanRejection(f.Err, creating)}
}

// PlanRejection returns the diagnostic for a rejected plan. A missing object that the same run may still create is
// only a warning, and so are rejected pods of an accepted object, and an unreachable cluster while something new is
// planned.
func PlanRejection(err error, creating bool) diag.Diagnostic {
	switch class := kube.ClassOf(err); {
	case class == kube.NamespaceMissing, class == kube.KindMissing:
		return tf.Warning(err, "The plan continues, because the same run may create what is missing.")
	case class == kube.PodsRefused:
		return tf.Warning(err, "The plan continues, because Knative checks the pods only in a dry run. The apply "+
			"changes the Knative Service, and its pods start when the cause is corrected.")
	case class == kube.Denied:
		return tf.Warning(err, "Planned without a server-side dry run: the API server may reject the objects at apply.")
	case creating && (class == kube.Unreachable || class == kube.Misconfigured):
		return tf.Warning(err, "Planned without a server-side dry run. The apply requires the cluster.")
	default:
		return Failure(err)
	}
}

// immutableError reports that an existing object cannot be taken over, because an immutable field differs.
func (f Forecast) immutableError() diag.Diagnostic {
	return diag.NewErrorDiagnostic(f.Ref.String()+" cannot be taken over",
		fmt.Sprintf("The configuration changes an immutable field of it. %v\n\n"+
			"Next step: Import it, which keeps such fields, or choose another name. Otherwise, delete it and apply "+
			"again:\n  %s", f.Err, f.Ref.Kubectl("delete")))
}

// Failure is like [tf.Failure], but also explains errors about the ownership of objects.
func Failure(err error) diag.Diagnostic {
	if ownership, ok := errors.AsType[*ownershipError](err); ok {
		return ownership.Diagnostic
	}
	if failed, ok := errors.AsType[*run.CreationFailedError](err); ok {
		return diag.NewErrorDiagnostic(failed.Ref.String()+" is not deleted", failed.Error()+
			". This resource stays in the state.\n\nNext step: Correct the cause of the failed creation, and apply "+
			"again.")
	}
	return tf.Failure(err)
}
