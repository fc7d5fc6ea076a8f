package compute

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// outlook is what the server said of one planned object.
type outlook struct {
	err         error
	immutable   bool
	unreachable bool
}

// preview looks whether somebody else's object is in the way, where that
// matters, and runs the apply dry.
func preview(ctx context.Context, cluster *kube.Cluster, obj *unstructured.Unstructured, mustBeOurs bool) outlook {
	if mustBeOurs {
		if err := checkOwner(ctx, cluster, obj); err != nil {
			return verdictOf(err)
		}
	}
	_, err := cluster.DryRun(ctx, obj)
	return verdictOf(err)
}

func verdictOf(err error) outlook {
	class := kube.ClassOf(err)
	return outlook{
		err:         err,
		immutable:   class == kube.Immutable,
		unreachable: class == kube.Unreachable || class == kube.Misconfigured || class == kube.Unauthorized,
	}
}

// diagnostics decides which of the server's answers stop the plan. What the
// same run may still create is only a warning, and so is a cluster that cannot
// be reached while something new is planned.
func (o outlook) diagnostics(creating bool) diag.Diagnostics {
	if o.err == nil {
		return nil
	}
	warning := ""
	switch class := kube.ClassOf(o.err); {
	case class == kube.Immutable:
		return nil // a replacement, or a field that Kubernetes will name at apply
	case class == kube.NamespaceMissing, class == kube.KindMissing:
		warning = "The plan stands if the same run creates what is missing."
	case class == kube.Denied:
		warning = "The plan stands from the renderer alone: the server was not asked whether it would take it."
	case creating && (class == kube.Unreachable || class == kube.Misconfigured):
		warning = "The plan stands from the renderer alone. Applying it needs the cluster."
	}
	if warning != "" {
		return diag.Diagnostics{tf.Caution(o.err, warning)}
	}
	return diag.Diagnostics{tf.Failure(o.err)}
}

// foreignError says that an object is in the way which we did not make.
type foreignError struct {
	ref      string
	managers []string
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s already exists and was not created by this provider; its fields are managed by %s. "+
		"Import it, choose another name, or set adopt_existing = true to take it over.", e.ref, strings.Join(e.managers, ", "))
}

// checkOwner returns a *foreignError if the object exists and is not ours.
func checkOwner(ctx context.Context, cluster *kube.Cluster, obj *unstructured.Unstructured) error {
	ref, err := kube.RefOf(obj)
	if err != nil {
		return err
	}
	live, err := cluster.Read(ctx, ref)
	switch {
	case kube.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	if _, ours, err := fields.Owned(live, kube.Manager); err != nil || ours {
		return err
	}
	return &foreignError{ref: ref.String(), managers: managers(live)}
}

func managers(obj *unstructured.Unstructured) []string {
	var out []string
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource == "" {
			out = append(out, entry.Manager)
		}
	}
	if len(out) == 0 {
		return []string{"nobody on record"}
	}
	return out
}
