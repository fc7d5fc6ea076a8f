package manifest

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ServiceSettings configure the Service of a compute. A zero field is not set.
type ServiceSettings struct {
	Type                     string // "ClusterIP" (also if empty), "NodePort" or "LoadBalancer"
	Annotations              map[string]string
	LoadBalancerClass        string
	LoadBalancerSourceRanges []string
	ExternalTrafficPolicy    string // "Cluster" (also if empty) or "Local"
	SessionAffinity          string // "None" (also if empty) or "ClientIP"
}

// configureService adds the further ports and the settings to a Service.
func configureService(service *corev1ac.ServiceApplyConfiguration, c Compute) {
	s, spec := c.Service, service.Spec
	for _, p := range c.Ports {
		spec.WithPorts(corev1ac.ServicePort().WithName(p.Name).WithPort(p.Port).WithProtocol(p.protocol()).
			WithTargetPort(intstr.FromInt32(p.Port)).WithAppProtocol(p.AppProtocol))
	}
	if s == nil {
		return
	}
	service.WithAnnotations(s.Annotations)
	spec.WithType(corev1.ServiceType(s.Type)).
		WithLoadBalancerClass(s.LoadBalancerClass).
		WithLoadBalancerSourceRanges(s.LoadBalancerSourceRanges...).
		WithExternalTrafficPolicy(corev1.ServiceExternalTrafficPolicy(s.ExternalTrafficPolicy)).
		WithSessionAffinity(corev1.ServiceAffinity(s.SessionAffinity))
}

// observeService is the inverse of configureService, without the ports. Defaults of Kubernetes are not reported. It
// returns nil for a Service without settings.
func observeService(service *unstructured.Unstructured) *ServiceSettings {
	other := func(field, standard string) string {
		return unlessDefault(kind.TextAt(service.Object, "spec", field), standard)
	}
	ranges, _, _ := unstructured.NestedStringSlice(service.Object, "spec", "loadBalancerSourceRanges")
	s := ServiceSettings{
		Type: other("type", string(corev1.ServiceTypeClusterIP)), LoadBalancerSourceRanges: ranges,
		LoadBalancerClass:     other("loadBalancerClass", ""),
		ExternalTrafficPolicy: other("externalTrafficPolicy", string(corev1.ServiceExternalTrafficPolicyCluster)),
		SessionAffinity:       other("sessionAffinity", string(corev1.ServiceAffinityNone)),
	}
	for key, value := range service.GetAnnotations() {
		if key != kind.InactivityTTLAnnotation && key != kind.AllowedSerializationAnnotation {
			s.Annotations = withEntry(s.Annotations, key, value)
		}
	}
	if reflect.DeepEqual(s, ServiceSettings{}) {
		return nil
	}
	return &s
}

// validateService rejects settings that the type of the Service does not have, and those of no Service.
func validateService(c Compute, errs *Errors) {
	s, at := c.Service, At("service")
	if s == nil {
		return
	}
	if c.Endpoint != nil && c.Endpoint.URL != "" {
		errs.mutuallyExclusive("service", "endpoint.url", "the compute then has no Service")
	}
	balanced := s.Type == string(corev1.ServiceTypeLoadBalancer)
	for _, setting := range []struct {
		attribute string
		set       bool
		types     string
		supported bool
	}{
		{"load_balancer_class", s.LoadBalancerClass != "", "LoadBalancer", balanced},
		{"load_balancer_source_ranges", len(s.LoadBalancerSourceRanges) > 0, "LoadBalancer", balanced},
		{"external_traffic_policy", s.ExternalTrafficPolicy != "", "NodePort or LoadBalancer",
			balanced || s.Type == string(corev1.ServiceTypeNodePort)},
	} {
		if setting.set && !setting.supported {
			errs.At(at.At(Name(setting.attribute)), "applies only to a Service of the type %s: set service.type, or "+
				"remove it.", setting.types).Concerning(at.At(Name("type")))
		}
	}
}
