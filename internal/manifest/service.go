package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// renderService is the Service through which a compute is reached: its port 80
// is the Kubetorch server of the pods.
func renderService(c Compute) (*unstructured.Unstructured, error) {
	pods := ownPods(c)
	if c.Endpoint != nil {
		pods = c.Endpoint.Selector
	}
	service, err := toMap(corev1ac.Service(c.Name, c.Namespace).
		WithLabels(serviceLabels(c)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(pods).
			WithPorts(corev1ac.ServicePort().
				WithName("http").
				WithPort(ServicePort).
				WithTargetPort(intstr.FromInt32(ServerPort)))))
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: normalizeMap(service, "")}, nil
}
