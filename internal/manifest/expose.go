package manifest

import (
	"cmp"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Expose makes the Service of a compute reachable from outside of the cluster: by an Ingress, or by a route of a
// Gateway.
type Expose struct {
	Hosts       []string
	Path        string // prefix of the paths, absolute; empty: "/"
	Protocol    string // of the server, ProtocolHTTP (also if empty) or ProtocolGRPC
	Annotations map[string]string

	// IngressClassName is the class of the Ingress; empty: the default of the cluster.
	IngressClassName string
	// TLSSecretName is the Secret with the certificate of the Ingress; empty: plain HTTP.
	TLSSecretName string

	// Gateway has the route; nil for an Ingress.
	Gateway *GatewayRef
}

// Protocols of a server that is exposed.
const (
	ProtocolHTTP = "http"
	ProtocolGRPC = "grpc" // over plain HTTP/2
)

const rootPath = "/"

func (e Expose) isGRPC() bool { return e.Protocol == ProtocolGRPC }

// GatewayRef is a Gateway, or one of its listeners.
type GatewayRef struct {
	Name        string
	Namespace   string // empty: that of the compute
	SectionName string // name of the listener; empty: all of them
}

func renderExpose(c Compute) map[string]any {
	k, spec := kind.Ingress(), ingressSpec(c)
	if c.Expose.Gateway != nil {
		k, spec = kind.HTTPRoute(), routeSpec(c)
		if c.Expose.isGRPC() {
			k = kind.GRPCRoute()
		}
	}
	return newObject(k, c.Namespace, c.Name, kind.Texts(serviceLabels(c)), kind.Texts(c.Expose.Annotations), spec)
}

func ingressSpec(c Compute) map[string]any {
	e := c.Expose
	backend := map[string]any{"service": map[string]any{
		"name": c.Name, "port": map[string]any{"number": int64(kind.ServicePort)},
	}}
	rules := make([]any, len(e.Hosts))
	for i, host := range e.Hosts {
		rules[i] = map[string]any{"host": host, "http": map[string]any{"paths": []any{map[string]any{
			"path": cmp.Or(e.Path, rootPath), "pathType": string(networkingv1.PathTypePrefix), "backend": backend,
		}}}}
	}
	spec := map[string]any{"ingressClassName": e.IngressClassName, "rules": rules}
	if e.TLSSecretName != "" {
		spec["tls"] = []any{map[string]any{"hosts": listOf(e.Hosts), "secretName": e.TLSSecretName}}
	}
	return spec
}

// routeSpec has the fields that HTTPRoute and GRPCRoute share, and the path of an HTTPRoute.
func routeSpec(c Compute) map[string]any {
	e := c.Expose
	rule := map[string]any{"backendRefs": []any{map[string]any{"name": c.Name, "port": int64(kind.ServicePort)}}}
	if !e.isGRPC() {
		rule["matches"] = []any{map[string]any{"path": map[string]any{
			"type": "PathPrefix", "value": cmp.Or(e.Path, rootPath),
		}}}
	}
	return map[string]any{
		"parentRefs": []any{map[string]any{
			"name": e.Gateway.Name, "namespace": e.Gateway.Namespace, "sectionName": e.Gateway.SectionName,
		}},
		"hostnames": listOf(e.Hosts),
		"rules":     []any{rule},
	}
}

// observeExpose is the inverse of renderExpose. Only a GRPCRoute shows the protocol.
func observeExpose(live *unstructured.Unstructured) *Expose {
	e := &Expose{Annotations: live.GetAnnotations()}
	content := live.Object
	rules := kind.ListAt(content, "spec", "rules")
	if live.GetKind() == kind.Ingress().Kind {
		e.IngressClassName = kind.TextAt(content, "spec", "ingressClassName")
		for _, rule := range rules {
			e.Hosts = append(e.Hosts, kind.TextAt(rule, "host"))
			for _, path := range kind.ListAt(rule, "http", "paths") {
				e.Path = unlessDefault(kind.TextAt(path, "path"), rootPath)
			}
		}
		for _, tls := range kind.ListAt(content, "spec", "tls") {
			e.TLSSecretName = kind.TextAt(tls, "secretName")
		}
		return e
	}
	e.Gateway = &GatewayRef{}
	if live.GetKind() == kind.GRPCRoute().Kind {
		e.Protocol = ProtocolGRPC
	}
	e.Hosts, _, _ = unstructured.NestedStringSlice(content, "spec", "hostnames")
	for _, parent := range kind.ListAt(content, "spec", "parentRefs") {
		*e.Gateway = GatewayRef{Name: kind.TextAt(parent, "name"), Namespace: kind.TextAt(parent, "namespace"),
			SectionName: kind.TextAt(parent, "sectionName")}
	}
	for _, rule := range rules {
		for _, match := range kind.ListAt(rule, "matches") {
			e.Path = unlessDefault(kind.TextAt(match, "path", "value"), rootPath)
		}
	}
	return e
}

// validateExpose rejects a compute without a Service of its own, and attributes of an Ingress beside a Gateway.
func validateExpose(c Compute, errs *Errors) {
	e, at := c.Expose, At("expose")
	if e == nil {
		return
	}
	if c.Endpoint != nil && c.Endpoint.URL != "" {
		errs.mutuallyExclusive("expose", "endpoint.url", "the compute then has no Service that could be exposed")
	}
	if kindOf(c).OwnService {
		errs.report(at, conflict, "expose routes to the Service of the compute, but the controller of a %s creates a "+
			"route itself: remove expose.", kindOf(c).Word()).Concerning(modeAttributes()...)
	}
	gateway := at.At(Name("gateway"))
	if e.Gateway == nil {
		return
	}
	for _, only := range []struct{ attribute, value string }{
		{"ingress_class_name", e.IngressClassName}, {"tls_secret_name", e.TLSSecretName},
	} {
		if only.value != "" {
			errs.report(at.At(Name(only.attribute)), conflict, "expose.%s configures an Ingress, but expose.gateway "+
				"creates a route of a Gateway, whose listener has the certificate: remove one of the two.",
				only.attribute).Concerning(gateway)
		}
	}
	if e.isGRPC() && e.Path != "" {
		errs.report(at.At(Name("path")), conflict, "expose.path is a prefix of HTTP paths, which a GRPCRoute does not "+
			"have: remove it.").Concerning(gateway, at.At(Name("protocol")))
	}
}
