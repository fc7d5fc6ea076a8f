package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Locate returns the workload of a compute, of any kind. It prefers workloads
// that no controller created for another object, and skips kinds that it has no
// permission to get.
func (c *Cluster) Locate(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	_, compute, err := c.TensorCompute(ctx, namespace, name)
	if compute != nil || err != nil && ClassOf(err) != Denied {
		return compute, err
	}
	var made *unstructured.Unstructured
	var denied []string
	workloads := kind.Workloads()
	slices.SortStableFunc(workloads, func(a, b Kind) int { return cmp.Compare(rank(a), rank(b)) })
	for _, of := range workloads {
		found, err := c.Find(ctx, Ref{Kind: of, Namespace: namespace, Name: name})
		switch {
		case ClassOf(err) == Denied:
			denied = append(denied, of.Argument())
		case err != nil:
			return nil, err
		case found == nil:
		case metav1.GetControllerOf(found) == nil:
			return found, nil
		default:
			made = cmp.Or(made, found)
		}
	}
	if made == nil {
		return nil, &MissingComputeError{Namespace: namespace, Name: name, Denied: ready.Listed(denied, maxDenied)}
	}
	return made, nil
}

// Find returns an object by a single request, or nil. A kind that is not
// installed is not requested, because a user without permission is rejected
// first.
func (c *Cluster) Find(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	if ref.Kind.Custom() {
		if installed, err := c.Discovery.Installed(ctx, ref.Kind); err == nil && !installed {
			return nil, nil
		}
	}
	found, err := c.API.Get(ctx, ref)
	if class := ClassOf(err); class == NotFound || class == KindMissing {
		return nil, nil
	}
	return found, err
}

// rank orders the kinds of Kubernetes first, which need no discovery, and kinds
// that were already checked last.
func rank(of Kind) int {
	switch {
	case of.RunsTensorServer():
		return 2
	case of.Custom():
		return 1
	default:
		return 0
	}
}

// TensorCompute returns the object of the operator for a compute, or nil.
func (c *Cluster) TensorCompute(
	ctx context.Context, namespace, name string,
) (runtime string, compute *unstructured.Unstructured, err error) {
	for _, of := range kind.TensorServers() {
		if installed, err := c.Discovery.Installed(ctx, of); err != nil || !installed {
			if err != nil {
				return "", nil, err
			}
			continue
		}
		found, err := c.Store.Get(ctx, Ref{Kind: of, Namespace: namespace, Name: name})
		switch {
		case err == nil:
			return of.Server.Runtime, found, nil
		case !IsNotFound(err):
			return "", nil, err
		}
	}
	return kind.RuntimeKubetorch, nil, nil
}

// MissingComputeError reports that no object that the user may get has the name
// of a compute. Denied lists the kinds that the user may not get.
type MissingComputeError struct{ Namespace, Name, Denied string }

// maxDenied is the maximum number of kinds in a message.
const maxDenied = 5

func (e *MissingComputeError) Error() string {
	return fmt.Sprintf("there is no compute %s in namespace %s", e.Name, e.Namespace)
}

// Explain implements the same method as [Error.Explain].
func (e *MissingComputeError) Explain() (summary string, cause ready.Cause) {
	found := fmt.Sprintf("Namespace %[2]s contains neither a Service nor a workload with the name %[1]s.", e.Name,
		e.Namespace)
	if e.Denied != "" {
		found += " It may be of a kind that the user of the provider may not get: " + e.Denied + "."
	}
	return fmt.Sprintf("Compute %s/%s does not exist", e.Namespace, e.Name), ready.Cause{
		Summary: found,
		Hint:    advice.Of("%s, or correct the name or the namespace.", advice.CreateFirst),
		Command: ready.Kubectl(e.Namespace, "get", "services,deployments"),
	}
}
