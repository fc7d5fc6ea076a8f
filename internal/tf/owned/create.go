package owned

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// Create applies an object of a resource that is being created, marked as unfinished. If PrepareCreate found no
// object with that name, an object that somebody has created since is an error, and remains unchanged.
func Create(
	ctx context.Context, r *run.Run, memory Memory, creation *Creation, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	ref, err := r.Cluster.Discovery.RefOf(ctx, obj)
	if err != nil {
		return nil, nil, err
	}
	marked := creation.Mark(obj)
	var live *unstructured.Unstructured
	var diags diag.Diagnostics
	if creation.IsNew(ref) {
		live, diags, err = applyWith(ctx, r.Cluster.ApplyNew, r.Cluster, memory, ref, obj, marked)
	} else {
		live, diags, err = ApplyAs(ctx, r, memory, obj, marked)
	}
	switch {
	case err == nil:
		creation.Created(ref, live)
	case kube.OutcomeUnknown(err):
		creation.Created(ref, nil)
		memory.Expect(manifest.Key(obj), creation)
	default:
		err = creation.explainRejection(ctx, r, ref, err)
	}
	return live, diags, err
}

// CreateSecret is like Create, but for a Secret, and remembers nothing.
func CreateSecret(
	ctx context.Context, r *run.Run, creation *Creation, ref kube.Ref, secret *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	apply := r.Cluster.Apply
	if creation.IsNew(ref) {
		apply = r.Cluster.ApplyNew
	}
	live, err := apply(ctx, creation.Mark(secret))
	if err != nil && !kube.OutcomeUnknown(err) {
		return nil, creation.explainRejection(ctx, r, ref, err)
	}
	creation.Created(ref, live)
	return live, err
}

// LookUp claims the object of a creation for this run, and returns the live object with that name, or nil.
func (c *Creation) LookUp(
	ctx context.Context, r *run.Run, ref kube.Ref,
) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	err := c.Claim(r, ref, func() (err error) {
		live, err = r.Cluster.Look(ctx, ref)
		return err
	})
	if err == nil && live == nil && !c.Adopt {
		c.missing = append(c.missing, ref.Key())
	}
	return live, err
}

// IsNew reports whether LookUp found no object with that name.
func (c *Creation) IsNew(ref kube.Ref) bool { return slices.Contains(c.missing, ref.Key()) }

// explainRejection converts the error of an apply that found an object of somebody else. The result names the owner.
// It also reverts what the apply has written.
func (c *Creation) explainRejection(ctx context.Context, r *run.Run, ref kube.Ref, err error) error {
	if found, ok := errors.AsType[*kube.ExistsError](err); ok {
		return c.withdraw(ctx, r, found)
	}
	if !c.IsNew(ref) || kube.ClassOf(err) != kube.Conflict {
		return err
	}
	live, lookErr := r.Cluster.API.Get(ctx, ref)
	if lookErr != nil {
		return err
	}
	fresh := Creation{Type: c.Type, ID: c.ID, PerObject: c.PerObject, Imports: c.Imports}
	if rejected := fresh.Admit(ref, live); rejected != nil {
		return rejected
	}
	return err
}

// withdraw leaves an object to the manager that created it. If that is another run of this provider, the two cannot be
// distinguished. Then the object keeps the fields of both, and the next apply of the other state restores its own.
func (c *Creation) withdraw(ctx context.Context, r *run.Run, found *kube.ExistsError) error {
	others := slices.DeleteFunc(managersOf(found.Live), func(manager string) bool { return manager == kube.Manager })
	if len(others) == 0 {
		r.Complete(found.Ref, found.Live)
		return c.otherResourceError(found.Ref, "", "Another run created it at the same time as this one, and it now "+
			"has the values of this configuration. The next apply of the other run restores its own values. ")
	}
	return c.foreignError(found.Ref, found.Live, others, r.Cluster.Withdraw(ctx, found))
}

// applyWith is like ApplyAs, but sends the object with the function apply.
func applyWith(
	ctx context.Context, apply func(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error),
	cluster *kube.Cluster, memory Memory, ref kube.Ref, obj, sent *unstructured.Unstructured,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	var diags diag.Diagnostics
	key := manifest.Key(obj)
	live, err := apply(ctx, sent)
	if err != nil {
		return nil, diags, err
	}
	if !memory.Applied(key) {
		diags.Append(TakeOver(ctx, cluster, ref, live)...)
	}
	rewritten, err := memory.Remember(key, obj, live)
	diags.Append(AdmissionWarnings(key, rewritten)...)
	return live, diags, err
}
