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

// Endpoint is where a compute answers, whatever runs it.
type Endpoint struct {
	Namespace, Name string
	Runtime         string // one of kind.RuntimeKubetorch, RuntimeSkyTorch and RuntimeKPU
	Service         string // its name, "" where there is none
	GRPC            bool   // else HTTP
	Host            string // its name in the cluster's DNS
	Port            int32
	URL             string // of HTTP, "" for gRPC
	Elsewhere       bool   // it is an address of the user's own, which no pod need be behind
	Headless        string // the DNS name of all pods' addresses, "" where there is none
	// Gateways are host:port of what leads here from outside of the cluster. They
	// know the compute by the request metadata compute-id.
	Gateways []string
	// Pods are those behind the Service, as [Cluster.LookAtPods] saw them; nil
	// where they may not be read.
	Pods []*corev1.Pod
	// Backend is where a port-forward goes to.
	Backend Backend
}

// ID is "namespace/name", by which gateways know the compute.
func (e *Endpoint) ID() string { return e.Namespace + "/" + e.Name }

// Address is host:port.
func (e *Endpoint) Address() string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// PortForwardCommand is how kubectl reaches the endpoint: "" where nothing can
// be forwarded to.
func (e *Endpoint) PortForwardCommand() string {
	local, port := e.Port, fmt.Sprint(e.Port)
	if local < 1024 {
		local += 8000 // low ports need root
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

// PodReady says whether a pod takes calls.
func PodReady(pod *corev1.Pod) bool { return isReady(pod) }

// MissingComputeError says that there is nothing of a compute's name.
type MissingComputeError struct{ Namespace, Name string }

func (e *MissingComputeError) Error() string {
	return fmt.Sprintf("there is no compute %s in namespace %s", e.Name, e.Namespace)
}

// Explain is what [Error.Explain] is.
func (e *MissingComputeError) Explain() (summary, detail string) {
	return fmt.Sprintf("Compute %s/%s does not exist", e.Namespace, e.Name), ready.Explain(&ready.Cause{
		Summary: fmt.Sprintf("Neither a Service nor a workload of any kind is called %s in namespace %s.", e.Name, e.Namespace),
		Hint:    "Add `depends_on` with the kt_compute if the same run creates it, so that it is looked up afterwards. Else correct the name or the namespace.",
		Command: fmt.Sprintf("kubectl -n %s get services,deployments", e.Namespace),
	}, nil)
}

// services are all Services of a namespace: an operator makes those of its computes.
func services() Kind {
	k := kind.Service()
	k.LabelSelector = ""
	return k
}

// Endpoint finds where a compute answers. However many are asked for, their
// Services and pods cost one list and watch each a namespace. An error is a
// *MissingComputeError where there is nothing of that name.
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
	if e.Headless == "" && len(c.objects(ctx, services(), namespace, func(s *entry) bool { return s.Name == kind.HeadlessName(name) })) > 0 {
		e.Headless = dnsName(namespace, kind.HeadlessName(name))
	}
	e.Backend.Namespace = namespace
	if e.Backend.Selector == nil {
		e.Backend.Selector = map[string]string{kind.ServiceLabel: name}
	}
	return e, nil
}

// LookAtPods fills in the pods of an endpoint, as far as they may be read.
func (c *Cluster) LookAtPods(ctx context.Context, e *Endpoint) error {
	var err error
	if e.Pods, err = c.podsBehind(ctx, e.Backend); ClassOf(err) == Denied {
		return nil // what else is known is worth having
	}
	return err
}

func dnsName(namespace, service string) string {
	return service + "." + namespace + ".svc.cluster.local"
}

// serviceNamed returns nil where there is none.
func (c *Cluster) serviceNamed(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	obj, err := c.Read(ctx, Ref{Kind: services(), Namespace: namespace, Name: name})
	if IsNotFound(err) {
		return nil, nil //nolint:nilnil // the absence is the answer
	}
	if err != nil {
		return nil, err
	}
	service := &corev1.Service{}
	return service, convert(obj, service)
}

// tensorCompute finds the operator's object of a compute; nil where there is none.
func (c *Cluster) tensorCompute(ctx context.Context, namespace, name string) (runtime string, compute *unstructured.Unstructured, err error) {
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

// fromService takes over what the Service of a compute says.
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
		return // Knative's leads to its gateway, and names no pods
	}
	i := max(0, slices.IndexFunc(ports, speaksGRPC))
	e.GRPC, e.Port, e.Backend.Port = speaksGRPC(ports[i]), ports[i].Port, TargetPort(ports[i])
}

// speaksGRPC goes by the port's name, by what it says it speaks
// (https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol),
// or by its number.
func speaksGRPC(p corev1.ServicePort) bool {
	protocol := ""
	if p.AppProtocol != nil {
		protocol = *p.AppProtocol
	}
	return p.Name == "grpc" || strings.HasPrefix(p.Name, "grpc-") || protocol == "grpc" || protocol == "kubernetes.io/h2c" || p.Port == kind.TensorServerPort
}

// TargetPort is the port of the pods that a Service's port leads to.
func TargetPort(p corev1.ServicePort) intstr.IntOrString {
	if p.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(p.Port)
	}
	return p.TargetPort
}

// fromCompute takes over what an operator's object says.
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

// withPort adds the port where an address has none.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), strconv.Itoa(kind.TensorServerPort))
}

// fromWorkload is for a compute without a Service: one with an endpoint of its
// own, which only its registration names, or one that was just made.
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
		return fmt.Errorf("the registration of %s names an address that is none: %w", e.ID(), err)
	}
	e.URL, e.Host, e.Elsewhere = address, parsed.Hostname(), true
	if port, err := strconv.ParseInt(parsed.Port(), 10, 32); err == nil {
		e.Port = int32(port)
	} else if parsed.Scheme == "https" {
		e.Port = 443
	}
	return nil
}

// Locate finds the workload of a compute, whatever its kind. One that a
// controller made for another object is passed over while there is a better one.
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

// rank puts Kubernetes' own kinds first, which need no look-up, and those last
// that were looked for already.
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

// InCluster says whether this process runs in a pod of the very cluster: there
// alone do the names of Services mean something, and their addresses lead there.
func (c *Cluster) InCluster() bool {
	host := c.config.Env.Get("KUBERNETES_SERVICE_HOST")
	config, err := c.restConfig()
	if host == "" || err != nil {
		return false
	}
	parsed, err := url.Parse(config.Host)
	return err == nil && (parsed.Hostname() == host || strings.HasPrefix(parsed.Hostname(), "kubernetes.default"))
}
