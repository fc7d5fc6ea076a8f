package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// resources returns the resource of each kind of webhook configuration.
func resources() map[string]schema.GroupVersionResource {
	group := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	return map[string]schema.GroupVersionResource{
		"MutatingWebhookConfiguration":   group.WithResource("mutatingwebhookconfigurations"),
		"ValidatingWebhookConfiguration": group.WithResource("validatingwebhookconfigurations"),
	}
}

func definitions(client dynamic.Interface) dynamic.ResourceInterface {
	return client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
}

// apply creates the configurations and waits until they are active in the API
// server.
func (r *registration) apply(ctx context.Context, client dynamic.Interface, server *server) error {
	for _, crd := range r.converted {
		if err := setConversion(ctx, client, crd, r.conversion); err != nil {
			return err
		}
	}
	for i, configuration := range r.configurations {
		server.Register(r.markers[i].path(), r.markers[i].handler())
		if err := replace(ctx, client, configuration); err != nil {
			return fmt.Errorf("create %s %s: %w", configuration.GetKind(), configuration.GetName(), err)
		}
	}
	for _, mark := range r.markers {
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			return mark.call(ctx, client)
		})
		if err != nil {
			return fmt.Errorf("the API server does not call the webhooks of %s: %w", mark.name, err)
		}
	}
	return nil
}

// replace creates a configuration, and first deletes the one that a killed
// process may have left.
func replace(ctx context.Context, client dynamic.Interface, configuration *unstructured.Unstructured) error {
	api := client.Resource(resources()[configuration.GetKind()])
	err := api.Delete(ctx, configuration.GetName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err = api.Create(ctx, configuration, metav1.CreateOptions{})
	return err
}

// remove reverts apply, also if apply failed halfway.
func (r *registration) remove(ctx context.Context, client dynamic.Interface) error {
	var errs []error
	for _, configuration := range r.configurations {
		err := client.Resource(resources()[configuration.GetKind()]).Delete(ctx, configuration.GetName(),
			metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	for _, crd := range r.converted {
		errs = append(errs, setConversion(ctx, client, crd, map[string]any{"strategy": "None", "webhook": nil}))
	}
	return errors.Join(errs...)
}

func setConversion(ctx context.Context, client dynamic.Interface, crd string, conversion map[string]any) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"conversion": conversion}})
	if err != nil {
		return err
	}
	if _, err := definitions(client).Patch(ctx, crd, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("set the conversion of %s: %w", crd, err)
	}
	return nil
}
