package manifest

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Port is a port of the container in addition to that of its server. The Service maps the same number to it.
type Port struct {
	Name        string
	Port        int32
	Protocol    corev1.Protocol // empty: TCP
	AppProtocol string          // only of the Service; empty: none
}

// Names of the port of the server, in the container and in the Service.
const (
	serverPortName  = "http1" // Knative recognizes HTTP/1 by it
	servicePortName = "http"
)

func (p Port) protocol() corev1.Protocol { return cmp.Or(p.Protocol, corev1.ProtocolTCP) }

// observeContainerPorts is the inverse of serve. It returns the port of the server separately: the one with
// its name, or without a name.
func observeContainerPorts(ports []corev1.ContainerPort) (server int32, others []Port) {
	for _, p := range ports {
		if p.Name == serverPortName || p.Name == "" {
			server = cmp.Or(server, p.ContainerPort)
		} else {
			others = append(others, Port{Name: p.Name, Port: p.ContainerPort,
				Protocol: unlessDefault(p.Protocol, corev1.ProtocolTCP)})
		}
	}
	return server, others
}

// observeServicePorts is the inverse of configureService for the ports.
func observeServicePorts(service map[string]any) []Port {
	var ports []Port
	for _, p := range kind.ListAt(service, "spec", "ports") {
		number, _ := kind.NumberAt(p, []string{"port"})
		if name := kind.TextAt(p, "name"); name != servicePortName {
			ports = append(ports, Port{Name: name, Port: portNumber(number), AppProtocol: kind.TextAt(p, "appProtocol"),
				Protocol: unlessDefault(corev1.Protocol(kind.TextAt(p, "protocol")), corev1.ProtocolTCP)})
		}
	}
	return ports
}

// validatePorts rejects ports with a name or a number that the container or the Service has already.
func validatePorts(c Compute, errs *Errors) {
	if len(c.Ports) > 0 && c.Endpoint != nil && c.Endpoint.URL != "" && kindOf(c).Empty() {
		errs.mutuallyExclusive("ports", "endpoint.url", "the compute then has neither pods of its own nor a Service")
	}
	type key struct {
		number   int32
		protocol corev1.Protocol
	}
	names := map[string]string{serverPortName: "the server", servicePortName: "the server"}
	numbers := map[key]string{
		{c.mainPort(), corev1.ProtocolTCP}:     "the server",
		{kind.ServicePort, corev1.ProtocolTCP}: "the Service for the server",
	}
	for i, p := range c.Ports {
		at, number := At("ports", Index(i)), key{p.Port, p.protocol()}
		if other, ok := names[p.Name]; ok && p.Name != "" {
			errs.At(at.At(Name("name")), "is %q, which is that of %s: use another name.", p.Name, other)
		} else if other, ok := numbers[number]; ok && p.Port > 0 {
			errs.At(at.At(Name("port")), "is %d with the protocol %s, which is that of %s: remove one of the two.",
				p.Port, p.protocol(), other).Concerning(at.At(Name("protocol")), At("port"), At("command"), At("args"))
		}
		names[p.Name], numbers[number] = at.String(), at.String()
	}
}
