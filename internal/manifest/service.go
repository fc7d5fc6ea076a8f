package manifest

import (
	"cmp"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// HeadlessName is the name of the Service by which the workers of a
// distributed compute find one another.
func HeadlessName(compute string) string { return compute + "-headless" }

// isDistributed tells whether the workers find one another by DNS. Those of Ray
// ask the head.
func isDistributed(c Compute) bool {
	return c.Distribute != nil && c.Distribute.Type != distributeRay
}

// renderServices are the Service through which a compute is reached, whose port
// 80 is the server of its pods, and the headless one of a distributed compute.
func renderServices(c Compute, k kind, workload map[string]any) ([]map[string]any, error) {
	var services []map[string]any
	port := serverPort(k, workload)
	if pods := servicePods(c, k, workload); pods != nil {
		service, err := toMap(corev1ac.Service(c.Name, c.Namespace).
			WithLabels(serviceLabels(c)).
			WithSpec(corev1ac.ServiceSpec().
				WithSelector(pods).
				WithPorts(corev1ac.ServicePort().
					WithName("http").
					WithPort(ServicePort).
					WithTargetPort(intstr.FromInt32(port)))))
		if err != nil {
			return nil, err
		}
		services = append(services, service)
	}
	if isDistributed(c) {
		service, err := toMap(corev1ac.Service(HeadlessName(c.Name), c.Namespace).
			WithLabels(serviceLabels(c)).
			WithSpec(corev1ac.ServiceSpec().
				WithClusterIP(corev1.ClusterIPNone).
				WithPublishNotReadyAddresses(true).
				WithSelector(computePods(c)).
				WithPorts(corev1ac.ServicePort().
					WithName("http").
					WithPort(port).
					WithTargetPort(intstr.FromInt32(port)))))
		if err != nil {
			return nil, err
		}
		services = append(services, service)
	}
	return services, nil
}

// servicePods are those that the Service selects; nil: there is no Service.
func servicePods(c Compute, k kind, workload map[string]any) map[string]string {
	switch {
	case c.Endpoint != nil && c.Endpoint.URL != "", k.ownService:
		return nil
	case c.Endpoint != nil:
		return c.Endpoint.Selector
	case k.route != nil:
		return union(computePods(c), k.route(workload))
	default:
		return computePods(c)
	}
}

// routeLabels are those by which the routes of all kinds select pods.
func routeLabels() []string {
	return []string{rayNodeLabel, trainingRoleLabel, trainingIndexLabel}
}

// computePods selects all pods of a compute.
func computePods(c Compute) map[string]string {
	if len(c.Selector) > 0 {
		return c.Selector
	}
	return ownPods(c)
}

// serverPort is where the pods listen. Where a command of the user's runs in
// the main container, our port is not there, and its first one is taken.
func serverPort(k kind, workload map[string]any) int32 {
	var first int64
	for _, port := range listAt(mainContainer(k, workload), "ports") {
		n, _ := numberAt(port, []string{"containerPort"})
		if n == ServerPort {
			return ServerPort
		}
		first = cmp.Or(first, n)
	}
	if first < 1 || first > math.MaxUint16 {
		return ServerPort
	}
	return int32(first)
}

// mainContainer is the container that takes the calls; nil where there is none.
func mainContainer(k kind, workload map[string]any) map[string]any {
	groups := k.groups(workload)
	if len(groups) == 0 {
		return nil
	}
	for _, c := range listAt(workload, under(groups[0].template, "spec", "containers")...) {
		if c["name"] == k.container {
			return c
		}
	}
	return nil
}
