package owned

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// Outlook is what the server said of one planned object.
type Outlook struct {
	// Immutable says that a field changes which Kubernetes never lets change.
	Immutable bool
	// Unreachable says that the server could not be asked.
	Unreachable bool

	// Ref is the object.
	Ref kube.Ref
	// After is what the server would make of it; nil where it was not asked, or
	// refuses.
	After *unstructured.Unstructured

	err error
}

// PreviewOwner is Preview as long as no more than the object's name is known.
func PreviewOwner(ctx context.Context, cluster *kube.Cluster, ref kube.Ref, creation *Creation) Outlook {
	if creation.Adopt {
		return Outlook{Ref: ref}
	}
	return outlookOf(ref, creation.check(ctx, cluster, ref))
}

// Preview asks creation, nil where the object is in state, whether an object
// that exists may be taken over, and runs the apply dry. An object that goes
// first, known by its UID, has no say.
func Preview(ctx context.Context, cluster *kube.Cluster, obj *unstructured.Unstructured, creation *Creation, goes types.UID) Outlook {
	ref, err := cluster.RefOf(ctx, obj)
	if err == nil && goes != "" {
		if live, err := cluster.Read(ctx, ref); err == nil && live.GetUID() == goes {
			creation.leave()
			return Outlook{Ref: ref}
		}
	}
	var after *unstructured.Unstructured
	switch {
	case err != nil:
	case creation == nil || creation.Adopt:
		after, err = cluster.DryRun(ctx, obj)
	default:
		after, err = previewNew(ctx, cluster, ref, obj, creation)
	}
	out := outlookOf(ref, err)
	out.After = after
	return out
}

// previewNew runs the apply of a new object dry. It looks at what is there only
// where the server does not answer that it would create the object.
func previewNew(
	ctx context.Context, cluster *kube.Cluster, ref kube.Ref, obj *unstructured.Unstructured, creation *Creation,
) (*unstructured.Unstructured, error) {
	after, created, err := cluster.DryRunNew(ctx, obj)
	if created {
		return after, creation.Admit(ref, nil)
	}
	if refused := creation.check(ctx, cluster, ref); refused != nil {
		return nil, refused
	}
	return after, err
}

func outlookOf(ref kube.Ref, err error) Outlook {
	class := kube.ClassOf(err)
	return Outlook{
		Ref:         ref,
		err:         err,
		Immutable:   class == kube.Immutable,
		Unreachable: class == kube.Unreachable || class == kube.Misconfigured || class == kube.Unauthorized,
	}
}

// Diagnostics decides which of the server's answers stop the plan. A field
// that cannot change of an object that is ours means a replacement. What the
// same run may still create is only a warning, and so is a cluster that cannot
// be reached while something new is planned.
func (o Outlook) Diagnostics(creating, known bool) diag.Diagnostics {
	if o.err == nil {
		return nil
	}
	if o.Immutable {
		if known {
			return nil
		}
		return diag.Diagnostics{o.rigid()}
	}
	return diag.Diagnostics{PlanRefusal(o.err, creating)}
}

// PlanRefusal is an answer of the server to a plan. What the same run may still
// create is only a warning, and so is a cluster that cannot be reached while
// something new is planned.
func PlanRefusal(err error, creating bool) diag.Diagnostic {
	switch class := kube.ClassOf(err); {
	case class == kube.NamespaceMissing, class == kube.KindMissing:
		return tf.Caution(err, "The plan stands if the same run creates what is missing.")
	case class == kube.Denied:
		return tf.Caution(err, "The plan stands from the renderer alone: the server was not asked whether it would take it.")
	case creating && (class == kube.Unreachable || class == kube.Misconfigured):
		return tf.Caution(err, "The plan stands from the renderer alone. Applying it needs the cluster.")
	default:
		return Failure(err)
	}
}

// rigid says that an object of somebody else cannot be made what is needed.
func (o Outlook) rigid() diag.Diagnostic {
	kind, name := strings.ToLower(o.Ref.Kind.Kind), o.Ref.Name
	return diag.NewErrorDiagnostic(o.Ref.String()+" cannot be taken over",
		fmt.Sprintf("It differs from what is needed here in a field that Kubernetes never lets change. %v\n\n"+
			"Choose another name, or delete it and apply again:\n  kubectl delete %s %s -n %s", o.err, kind, name, o.Ref.Namespace))
}

// Failure is tf.Failure for what concerns objects of others too.
func Failure(err error) diag.Diagnostic {
	if foreign, ok := errors.AsType[*foreignError](err); ok {
		return diag.NewErrorDiagnostic(foreign.ref+" belongs to somebody else", foreign.Error())
	}
	if taken, ok := errors.AsType[*takenError](err); ok {
		return taken.diagnostic()
	}
	if shared, ok := errors.AsType[*sharedError](err); ok {
		return shared.diagnostic()
	}
	if failed, ok := errors.AsType[*kube.CreationFailedError](err); ok {
		return diag.NewErrorDiagnostic(failed.Ref.String()+" is not deleted", failed.Error())
	}
	if other, ok := errors.AsType[*otherObjectError](err); ok {
		return other.diagnostic()
	}
	return tf.Failure(err)
}
