package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// BudgetError reports that a PodDisruptionBudget does not allow an eviction now.
type BudgetError struct {
	Pod string // namespace/name
	// Budget is the message of the API server, which names the budget.
	Budget string
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("pod %s cannot be evicted now: %s", e.Pod, e.Budget)
}

// Evict requests the eviction of the pod with the uid, which respects
// PodDisruptionBudgets: see [BudgetError]. A missing or replaced pod is not an
// error.
func (c *Cluster) Evict(ctx context.Context, namespace, name string, uid types.UID) error {
	ref := Ref{Kind: kind.Pod(), Namespace: namespace, Name: name}
	body, _ := json.Marshal(&policyv1.Eviction{ // cannot fail for this type
		TypeMeta:      metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))},
	})
	_, err := c.API.write(ctx, "evict", ref, request{
		method: http.MethodPost, subresource: "eviction", params: map[string]string{"fieldManager": ActionManager},
		body: body,
	})
	if budget := transport.BudgetOf(err); budget != "" {
		return &BudgetError{Pod: namespace + "/" + name, Budget: budget}
	}
	if IsNotFound(err) || ClassOf(err) == Conflict { // the UID differs
		return nil
	}
	evictions := ref
	evictions.Kind.Resource += "/eviction"
	return c.API.denied(ctx, evictions, err, "create")
}

// DeleteInBackground deletes the object with the uid, a pod with its grace period. The server deletes its dependents
// later. A missing or replaced object is not an error.
func (c *Cluster) DeleteInBackground(ctx context.Context, ref Ref, uid types.UID) error {
	return c.remove(ctx, ref, uid, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))})
}
