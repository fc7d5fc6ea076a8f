package manifest

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// isDistributed reports whether distribute is set, except to Ray, whose workers use the head.
func isDistributed(c Compute) bool {
	return c.Distribute != nil && c.Distribute.Type != kind.DistributionRay
}

// distributionOf returns how Kubetorch distributes calls over the pods, or nil. It distributes those of a training job
// with several pods without being told to (_launch in resources/compute/compute.py of Kubetorch 0.5.0).
func distributionOf(c Compute, k kind.Kind) *Distribute {
	if workers, _ := requestedReplicas(c); c.Distribute == nil && k.Distributed && workers > 1 {
		return &Distribute{}
	}
	return c.Distribute
}

// needsHeadless reports whether Kubetorch's server finds the pods by the DNS name of the headless Service
// (needs_headless in resources/compute/compute.py, pod_ips in serving/distributed_supervisor.py). This is so for each
// RayCluster, where the server of the head looks for the workers. The pods of a Job find each other by it too.
func needsHeadless(c Compute, k kind.Kind) bool {
	return distributionOf(c, k) != nil || k.Distribution == kind.DistributionRay || c.runsManyPods()
}

// renderServices returns the Service of a compute, which maps port 80 to the server
// in its pods, and the headless Service if Kubetorch needs it and no controller
// creates it.
func renderServices(c Compute, k kind.Kind, workload map[string]any) []*corev1ac.ServiceApplyConfiguration {
	var services []*corev1ac.ServiceApplyConfiguration
	port := serverPort(c, k, workload)
	add := func(
		name string, spec *corev1ac.ServiceSpecApplyConfiguration, mapped *corev1ac.ServicePortApplyConfiguration,
	) *corev1ac.ServiceApplyConfiguration {
		service := corev1ac.Service(name, c.Namespace).
			WithLabels(serviceLabels(c)).WithLabels(map[string]string{kind.TemplateLabel: k.Template}).
			WithAnnotations(workloadAnnotations(c)).
			WithSpec(spec.WithPorts(mapped.WithName(servicePortName).WithTargetPort(intstr.FromInt32(port))))
		services = append(services, service)
		return service
	}
	if pods := serviceSelector(c, k, workload); pods != nil {
		public := corev1ac.ServicePort().WithPort(kind.ServicePort)
		if c.Expose != nil && c.Expose.isGRPC() {
			public.WithAppProtocol(kind.PlainHTTP2)
		}
		configureService(add(c.Name, corev1ac.ServiceSpec().WithSelector(pods), public), c)
	}
	headless := kind.HeadlessName(c.Name)
	exists := k.Headless != nil && k.Headless(workload) == headless
	if needsHeadless(c, k) && !exists {
		add(headless, corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithPublishNotReadyAddresses(true).
			WithSelector(podSelector(c)), corev1ac.ServicePort().WithPort(port))
	}
	return services
}

// serviceSelector returns the selector of the Service, or nil if there is no Service.
func serviceSelector(c Compute, k kind.Kind, workload map[string]any) map[string]string {
	switch {
	case c.Endpoint != nil && c.Endpoint.URL != "", k.OwnService, c.runsAlone():
		return nil
	case c.Endpoint != nil:
		return c.Endpoint.Selector
	case k.Route != nil:
		return union(podSelector(c), k.Route(workload))
	default:
		return podSelector(c)
	}
}

// podSelector returns the selector of all pods of a compute.
func podSelector(c Compute) map[string]string {
	if len(c.Selector) > 0 {
		return c.Selector
	}
	return ownPods(c)
}

// serverPort returns the port of the server in the pods: ours, or the first port of
// the main container, without further ones, if it runs a command of the user.
func serverPort(c Compute, k kind.Kind, workload map[string]any) int32 {
	var first int64
	for _, port := range kind.ListAt(mainContainer(k, workload), "ports") {
		n, _ := kind.NumberAt(port, []string{"containerPort"})
		if n == kind.ServerPort {
			return kind.ServerPort
		}
		if !slices.ContainsFunc(c.Ports, func(p Port) bool { return p.Name == kind.TextAt(port, "name") }) {
			first = cmp.Or(first, n)
		}
	}
	if first < 1 || first > math.MaxUint16 {
		return kind.ServerPort
	}
	return int32(first)
}

// mainContainer returns the container that receives the calls, or nil if there is none.
func mainContainer(k kind.Kind, workload map[string]any) map[string]any {
	groups := k.Groups(workload)
	if len(groups) == 0 {
		return nil
	}
	return containerIn(workload, groups[0].Template, k.Container)
}

// containerIn returns the container with a name in the pod template at a path, or nil if there is none.
func containerIn(workload map[string]any, template []string, name string) map[string]any {
	for _, c := range kind.ListAt(workload, kind.Under(template, "spec", "containers")...) {
		if c["name"] == name {
			return c
		}
	}
	return nil
}
