package kube

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Endpoint is the endpoint of a compute of any kind.
type Endpoint struct {
	Namespace, Name string
	Runtime         string // one of kind.RuntimeKubetorch, RuntimeSkyTorch and RuntimeKPU
	Service         string // name, or ""
	GRPC            bool   // otherwise HTTP
	Host            string // name in the cluster DNS
	Port            int32
	URL             string // of HTTP, "" for gRPC
	Elsewhere       bool   // a custom address, possibly without pods
	Headless        string // DNS name of the addresses of all pods, or ""
	// Gateways are the host:port pairs of gateways for clients outside the
	// cluster. They select the compute by the request metadata compute-id.
	Gateways []string
	// Pods are the pods of the Service, set by [Cluster.LookAtPods], or nil
	// without permission to read them.
	Pods []*corev1.Pod
	// Backend is the target of a port-forward.
	Backend Backend
}

// ID returns "namespace/name", the ID of the compute in gateways.
func (e *Endpoint) ID() string { return e.Namespace + "/" + e.Name }

// Address returns host:port.
func (e *Endpoint) Address() string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// PortForwardCommand returns the kubectl command that forwards a port to the
// endpoint, or "" if there is no target.
func (e *Endpoint) PortForwardCommand() string {
	local, port := e.Port, fmt.Sprint(e.Port)
	if local < 1024 {
		local += 8000 // low ports require root
	}
	target := "service/" + e.Service
	if e.Backend.Port.Type == intstr.Int && e.Backend.Port.IntVal == 0 || e.Service == "" {
		pod := firstReady(e.Pods)
		if pod == nil {
			return ""
		}
		number, err := podPort(pod, e.Backend.Port)
		if err != nil {
			return ""
		}
		target, port = "pod/"+pod.Name, fmt.Sprint(number)
	}
	return fmt.Sprintf("kubectl -n %s port-forward %s %d:%s", e.Namespace, target, local, port)
}

// PodReady reports whether a pod accepts calls.
func PodReady(pod *corev1.Pod) bool { return isReady(pod) }

// MissingComputeError reports that no object has the name of a compute.
type MissingComputeError struct{ Namespace, Name string }

func (e *MissingComputeError) Error() string {
	return fmt.Sprintf("there is no compute %s in namespace %s", e.Name, e.Namespace)
}

// Explain implements the same method as [Error.Explain].
func (e *MissingComputeError) Explain() (summary, detail string) {
	return fmt.Sprintf("Compute %s/%s does not exist", e.Namespace, e.Name), ready.Explain(&ready.Cause{
		Summary: fmt.Sprintf("Namespace %[2]s contains neither a Service nor a workload with the name %[1]s.", e.Name,
			e.Namespace),
		Hint: "Correct the name or the namespace. If the same run creates the compute, add `depends_on` with the " +
			"kt_compute.",
		Command: fmt.Sprintf("kubectl -n %s get services,deployments", e.Namespace),
	}, nil)
}

// services is the kind of all Services of a namespace, including those that an
// operator creates.
func services() Kind {
	k := kind.Service()
	k.LabelSelector = ""
	return k
}

// Endpoint returns the endpoint of a compute. All calls for a namespace share
// one list and watch of Services and of pods. It returns a *MissingComputeError
// if no object has that name.
func (c *Cluster) Endpoint(ctx context.Context, namespace, name string) (*Endpoint, error) {
	service, err := c.serviceNamed(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{Namespace: namespace, Name: name, Runtime: kind.RuntimeKubetorch}
	var compute *unstructured.Unstructured
	if service == nil || service.Labels[kind.ServiceLabel] == "" || slices.ContainsFunc(service.Spec.Ports, speaksGRPC) {
		if e.Runtime, compute, err = c.tensorCompute(ctx, namespace, name); err != nil {
			return nil, err
		}
	}
	switch {
	case service != nil:
		e.fromService(service)
	case compute == nil:
		if err := c.fromWorkload(ctx, e); err != nil {
			return nil, err
		}
	default:
		e.Service = name
	}
	if compute != nil {
		e.fromCompute(compute)
	}
	if e.Host == "" {
		e.Host = dnsName(namespace, name)
	}
	e.Port = cmp.Or(e.Port, map[bool]int32{true: kind.TensorServerPort, false: kind.ServicePort}[e.GRPC])
	if !e.GRPC && e.URL == "" {
		e.URL = "http://" + e.Address()
	}
	if e.Headless == "" && len(c.objects(ctx, services(), namespace,
		func(s *entry) bool { return s.Name == kind.HeadlessName(name) })) > 0 {
		e.Headless = dnsName(namespace, kind.HeadlessName(name))
	}
	e.Backend.Namespace = namespace
	if e.Backend.Selector == nil {
		e.Backend.Selector = map[string]string{kind.ServiceLabel: name}
	}
	return e, nil
}

// LookAtPods sets the pods of an endpoint, if they can be read.
func (c *Cluster) LookAtPods(ctx context.Context, e *Endpoint) error {
	var err error
	if e.Pods, err = c.podsBehind(ctx, e.Backend); ClassOf(err) == Denied {
		return nil // the other fields are still useful
	}
	return err
}

func dnsName(namespace, service string) string {
	return service + "." + namespace + ".svc.cluster.local"
}

// serviceNamed returns the Service of a name, or nil.
func (c *Cluster) serviceNamed(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	obj, err := c.Read(ctx, Ref{Kind: services(), Namespace: namespace, Name: name})
	if IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil means that it does not exist
	}
	if err != nil {
		return nil, err
	}
	service := &corev1.Service{}
	return service, convert(obj, service)
}

// tensorCompute returns the object of the operator for a compute, or nil.
func (c *Cluster) tensorCompute(ctx context.Context, namespace, name string) (runtime string,
	compute *unstructured.Unstructured, err error) {
	for _, of := range kind.TensorServers() {
		named := &unstructured.Unstructured{}
		named.SetGroupVersionKind(of.GroupVersionKind)
		named.SetNamespace(namespace)
		named.SetName(name)
		if installed, err := c.Installed(ctx, of); err != nil || !installed {
			if err != nil {
				return "", nil, err
			}
			continue
		}
		ref, err := c.RefOf(ctx, named)
		if err != nil {
			return "", nil, err
		}
		found, err := c.Read(ctx, ref)
		switch {
		case err == nil:
			return of.Server.Runtime, found, nil
		case !IsNotFound(err):
			return "", nil, err
		}
	}
	return kind.RuntimeKubetorch, nil, nil
}

// fromService sets the fields of the endpoint from the Service of a compute.
func (e *Endpoint) fromService(service *corev1.Service) {
	e.Service = service.Name
	if len(service.Spec.Selector) > 0 {
		e.Backend.Selector = service.Spec.Selector
	}
	if service.Spec.ClusterIP == corev1.ClusterIPNone && service.Spec.Type != corev1.ServiceTypeExternalName {
		e.Headless = dnsName(service.Namespace, service.Name)
	}
	ports := service.Spec.Ports
	if len(ports) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
		return // the Service of Knative selects its gateway, not the pods
	}
	i := max(0, slices.IndexFunc(ports, speaksGRPC))
	e.GRPC, e.Port, e.Backend.Port = speaksGRPC(ports[i]), ports[i].Port, TargetPort(ports[i])
}

// speaksGRPC reports whether a port uses gRPC, by its name, by its appProtocol
// (https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol),
// or by its number.
func speaksGRPC(p corev1.ServicePort) bool {
	protocol := ""
	if p.AppProtocol != nil {
		protocol = *p.AppProtocol
	}
	return p.Name == "grpc" || strings.HasPrefix(p.Name, "grpc-") || protocol == "grpc" ||
		protocol == "kubernetes.io/h2c" || p.Port == kind.TensorServerPort
}

// TargetPort returns the port of the pods for a port of a Service.
func TargetPort(p corev1.ServicePort) intstr.IntOrString {
	if p.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(p.Port)
	}
	return p.TargetPort
}

// fromCompute sets the fields of the endpoint from the object of an operator.
func (e *Endpoint) fromCompute(compute *unstructured.Unstructured) {
	e.GRPC, e.URL = true, ""
	if e.Backend.Port == (intstr.IntOrString{}) {
		e.Backend.Port = intstr.FromInt32(kind.TensorServerPort)
	}
	addresses, _, _ := unstructured.NestedSlice(compute.Object, "status", "addresses")
	for _, item := range addresses {
		address, _ := item.(map[string]any)
		if value, _ := address["value"].(string); value != "" {
			e.Gateways = append(e.Gateways, withPort(value))
		}
	}
}

// withPort adds the default port to an address without one.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), strconv.Itoa(kind.TensorServerPort))
}

// fromWorkload is for a compute without a Service: a compute with a custom
// endpoint, which only its registration contains, or a new one.
func (c *Cluster) fromWorkload(ctx context.Context, e *Endpoint) error {
	registration, err := c.Get(ctx, Ref{Kind: kind.KubetorchWorkload(), Namespace: e.Namespace, Name: e.Name})
	if err != nil && !IsNotFound(err) && ClassOf(err) != KindMissing {
		return err
	}
	if err == nil {
		if address, _, _ := unstructured.NestedString(registration.Object, "spec", "serviceConfig", "url"); address != "" {
			return e.fromURL(address)
		}
	}
	_, err = c.Locate(ctx, e.Namespace, e.Name)
	return err
}

func (e *Endpoint) fromURL(address string) error {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("the registration of %s contains an invalid address: %w", e.ID(), err)
	}
	e.URL, e.Host, e.Elsewhere = address, parsed.Hostname(), true
	if port, err := strconv.ParseInt(parsed.Port(), 10, 32); err == nil {
		e.Port = int32(port)
	} else if parsed.Scheme == "https" {
		e.Port = 443
	}
	return nil
}

// Locate returns the workload of a compute, of any kind. It prefers workloads
// that no controller created for another object.
func (c *Cluster) Locate(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	if _, compute, err := c.tensorCompute(ctx, namespace, name); compute != nil || err != nil {
		return compute, err
	}
	var made *unstructured.Unstructured
	workloads := kind.Workloads()
	slices.SortStableFunc(workloads, func(a, b Kind) int { return cmp.Compare(rank(a), rank(b)) })
	for _, of := range workloads {
		if of.Custom() {
			if installed, err := c.Installed(ctx, of); err != nil || !installed {
				continue
			}
		}
		found, err := c.Get(ctx, Ref{Kind: of, Namespace: namespace, Name: name})
		switch class := ClassOf(err); {
		case err == nil && metav1.GetControllerOf(found) == nil:
			return found, nil
		case err == nil:
			made = cmp.Or(made, found)
		case class == NotFound, class == KindMissing, class == Denied:
		default:
			return nil, err
		}
	}
	if made == nil {
		return nil, &MissingComputeError{Namespace: namespace, Name: name}
	}
	return made, nil
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

// InCluster reports whether this process runs in a pod of the same cluster.
// Only there, the names and addresses of Services can be used.
func (c *Cluster) InCluster() bool {
	host := c.config.Env.Get("KUBERNETES_SERVICE_HOST")
	config, err := c.restConfig()
	if host == "" || err != nil {
		return false
	}
	parsed, err := url.Parse(config.Host)
	return err == nil && (parsed.Hostname() == host || strings.HasPrefix(parsed.Hostname(), "kubernetes.default"))
}
