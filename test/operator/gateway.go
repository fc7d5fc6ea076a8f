package operator

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GatewayName is the name of the Gateway that all routes refer to (pkg/controllers/grpcroute.go of SkyTorch).
const GatewayName = "skytorch-gateway"

// Gateways and Routes are the kinds that SkyTorch's operator uses, from the CRDs of Gateway API.
func Gateways() schema.GroupVersionResource { return gatewayAPI("gateways") }

// Routes are [Gateways].
func Routes() schema.GroupVersionResource { return gatewayAPI("grpcroutes") }

func gatewayAPI(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: resource}
}

// parent refers to the Gateway, which is in the namespace of the operator.
func (o *Operator) parent() map[string]any {
	return map[string]any{"kind": "Gateway", "namespace": o.GatewayNamespace, "name": GatewayName}
}

func (o *Operator) route(c compute) (*unstructured.Unstructured, error) {
	metadata := c.metadata()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metadata)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Routes().GroupVersion().String(), "kind": "GRPCRoute", "metadata": content,
		"spec": map[string]any{
			"parentRefs": []any{o.parent()},
			"rules": []any{map[string]any{
				"matches": []any{map[string]any{"headers": []any{map[string]any{
					"type": "Exact", "name": "compute-id", "value": c.Namespace + "/" + c.Name,
				}}}},
				"backendRefs": []any{map[string]any{"name": c.Name, "port": int64(grpcPort)}},
			}},
		},
	}}, nil
}

// routed reports whether requests from outside of the cluster reach a Compute whose pods are ready: why not, and
// otherwise at which addresses. The reasons, and their order, are those of pkg/controllers/compute_controller.go.
func (o *Operator) routed(ctx context.Context, c compute) (reason, message string, addresses []any, err error) {
	route, err := o.client.Resource(Routes()).Namespace(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "GRPCRouteNotAvailable", "GRPCRoute is not available", nil, nil
	}
	if err != nil {
		return "", "", nil, err
	}
	gateway, err := o.client.Resource(Gateways()).Namespace(o.GatewayNamespace).
		Get(ctx, GatewayName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "GatewayNotAvailable", fmt.Sprintf("Gateway %s is not available", GatewayName), nil, nil
	}
	if err != nil {
		return "", "", nil, err
	}
	status, _, _ := unstructured.NestedMap(gateway.Object, "status")
	if !isTrue(status, "Programmed") {
		return "GatewayNotProgrammed", fmt.Sprintf("Gateway %s is not programmed", GatewayName), nil, nil
	}
	parents, _, _ := unstructured.NestedSlice(route.Object, "status", "parents")
	for _, parent := range parents {
		if parent, ok := parent.(map[string]any); ok && isTrue(parent, "Accepted") {
			addresses, _, _ = unstructured.NestedSlice(status, "addresses")
			if o.Address != "" {
				addresses = []any{map[string]any{"type": "IPAddress", "value": o.Address}}
			}
			return "", "", addresses, nil
		}
	}
	return "GRPCRouteNotAccepted", fmt.Sprintf("GRPCRoute is not accepted by Gateway %s", GatewayName), nil, nil
}

// isTrue reports whether the conditions of a status have one of a type that is true.
func isTrue(status map[string]any, conditionType string) bool {
	var found struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &found)
	return err == nil && meta.IsStatusConditionTrue(found.Conditions, conditionType)
}
