// Package endpoint resolves how a compute is reached, and probes it. It is independent of Terraform.
package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Endpoint describes how a compute of any kind is reached.
type Endpoint struct {
	Namespace, Name string
	Runtime         string // one of kind.RuntimeKubetorch, RuntimeSkyTorch and RuntimeKPU
	Service         string // name, or ""
	GRPC            bool   // otherwise HTTP
	Host            string // name in the cluster DNS, or "" without a Service and a custom address
	Port            int32  // 0 without a Host
	URL             string // of HTTP, "" for gRPC and without a Host
	Elsewhere       bool   // a custom address, possibly without pods
	Headless        string // DNS name of the addresses of all pods, or ""
	// Gateways are the host:port pairs of gateways for clients outside the
	// cluster. They select the compute by the request metadata compute-id.
	Gateways []string
	// Pods are the pods of the Service, set by [Endpoint.ReadPods], or nil without permission to read them.
	Pods []*corev1.Pod
	// Backend is the target of a port-forward.
	Backend portforward.Backend

	ports []corev1.ServicePort // of a Service that selects pods
}

// ID returns "namespace/name", the ID of the compute in gateways.
func (e *Endpoint) ID() string { return e.Namespace + "/" + e.Name }

// HasAddress reports whether the compute has a Service or a custom address.
func (e *Endpoint) HasAddress() bool { return e.GRPC || e.URL != "" }

// Address returns host:port.
func (e *Endpoint) Address() string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// BackendAt returns the target of a port-forward to a port of the Service or, if that has no such port, of the pods.
func (e *Endpoint) BackendAt(port int32) portforward.Backend {
	backend := e.Backend
	backend.Port = portforward.TargetPortOf(e.ports, port)
	return backend
}

// PortForwardCommand returns the kubectl command that forwards a port to the endpoint, or "" if there is no target.
func (e *Endpoint) PortForwardCommand() string {
	target, port := "service/"+e.Service, e.Port
	if e.Backend.Port.Type == intstr.Int && e.Backend.Port.IntVal == 0 || e.Service == "" {
		pod := portforward.FirstReady(e.Pods)
		if pod == nil {
			return ""
		}
		number, err := portforward.PodPort(pod, e.Backend.Port)
		if err != nil {
			return ""
		}
		target, port = "pod/"+pod.Name, number
	}
	local := cmp.Or(e.Port, port)
	if local < 1024 {
		local += 8000 // low ports require root
	}
	return ready.Kubectl(e.Namespace, "port-forward", target, fmt.Sprintf("%d:%d", local, port))
}

// FindPods returns the source of the pods of a compute, without a workload if they have none of a known kind. If the
// kind does not tell their labels, they are those that its Service selects, which is a guess.
func FindPods(
	ctx context.Context, c *kube.Cluster, namespace, name string,
) (pods kube.PodSource, guessed bool, err error) {
	pods.Namespace = namespace
	if pods.Workload, err = Locate(ctx, c, namespace, name); err != nil {
		return pods, false, err
	}
	if pods.Workload != nil {
		if pods.Labels = kind.PodLabels(pods.Workload); pods.Labels != nil {
			return pods, false, nil
		}
	}
	found, err := Of(ctx, c, namespace, name)
	if err == nil {
		pods.Labels = found.Backend.Labels
	}
	return pods, true, err
}

// Locate returns the workload of a compute, or nil if there is none of a known kind.
func Locate(ctx context.Context, c *kube.Cluster, namespace, name string) (*unstructured.Unstructured, error) {
	workload, err := c.Locate(ctx, namespace, name)
	if _, missing := errors.AsType[*kube.MissingComputeError](err); missing {
		return nil, nil
	}
	return workload, err
}

// Of returns the endpoint of a compute. All calls for a namespace share one list and watch of Services and of pods. It
// returns a *kube.MissingComputeError if no object has that name.
func Of(ctx context.Context, c *kube.Cluster, namespace, name string) (*Endpoint, error) {
	service, err := kube.As[corev1.Service](c.Store.Get(ctx, kube.Ref{Kind: kind.Service().All(), Namespace: namespace,
		Name: name}))
	if err != nil && !kube.IsNotFound(err) {
		return nil, err
	}
	e := &Endpoint{Namespace: namespace, Name: name, Runtime: kind.RuntimeKubetorch}
	var compute *unstructured.Unstructured
	var denied error // permission for tensor servers is not needed to find other computes
	if service == nil || service.Labels[kind.ServiceLabel] == "" || usesGRPC(serverPort(service)) {
		runtime, found, err := c.TensorCompute(ctx, namespace, name)
		switch {
		case err == nil:
			e.Runtime, compute = runtime, found
		case kube.ClassOf(err) == kube.Denied:
			denied = err
		default:
			return nil, err
		}
	}
	switch {
	case service != nil:
		e.fromService(service)
	case compute == nil:
		err := e.fromWorkload(ctx, c)
		if _, missing := errors.AsType[*kube.MissingComputeError](err); missing && denied != nil {
			return nil, denied
		}
		if err != nil {
			return nil, err
		}
	default:
		e.Service = name
	}
	if compute != nil {
		e.fromCompute(compute)
	}
	e.complete()
	if e.Headless == "" {
		headless, _ := c.Store.List(ctx, kind.Service().All(), namespace, // optional
			func(s *kube.Entry) bool { return s.Name == kind.HeadlessName(name) })
		if len(headless) > 0 {
			e.Headless = kind.ServiceHost(namespace, kind.HeadlessName(name))
		}
	}
	return e, nil
}

// complete sets the fields that have defaults.
func (e *Endpoint) complete() {
	if e.Service != "" {
		e.Host = kind.ServiceHost(e.Namespace, e.Name)
	}
	if e.Host != "" {
		e.Port = cmp.Or(e.Port, map[bool]int32{true: kind.TensorServerPort, false: kind.ServicePort}[e.GRPC])
		if !e.GRPC && e.URL == "" {
			e.URL = "http://" + e.Address()
		}
	}
	e.Backend.Namespace = e.Namespace
	if e.Backend.Labels == nil {
		e.Backend.Labels = map[string]string{kind.ServiceLabel: e.Name}
	}
}

// ReadPods sets the pods of an endpoint, if they can be read.
func (e *Endpoint) ReadPods(ctx context.Context, c *kube.Cluster) error {
	var err error
	if e.Pods, err = e.Backend.Pods(ctx, c); kube.ClassOf(err) == kube.Denied {
		return nil // the other fields are still useful
	}
	return err
}

// fromService sets the fields of the endpoint from the Service of a compute.
func (e *Endpoint) fromService(service *corev1.Service) {
	e.Service = service.Name
	if len(service.Spec.Selector) > 0 {
		e.Backend.Labels = service.Spec.Selector
	}
	if service.Spec.ClusterIP == corev1.ClusterIPNone && service.Spec.Type != corev1.ServiceTypeExternalName {
		e.Headless = kind.ServiceHost(service.Namespace, service.Name)
	}
	ports := service.Spec.Ports
	if len(ports) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
		return // the Service of Knative selects its gateway, not the pods
	}
	if len(service.Spec.Selector) > 0 {
		e.ports = ports
	}
	port := serverPort(service)
	e.GRPC, e.Port, e.Backend.Port = usesGRPC(port), port.Port, portforward.TargetPort(port)
}

// serverPort returns the port of a Service for the server of the compute, or a zero port of a Service without ports. In
// a Service that was rendered for a compute, it has a fixed number, and the other ports may use any protocol. In
// others, it is the first port that uses gRPC, or else the first one.
func serverPort(service *corev1.Service) corev1.ServicePort {
	ports, i := service.Spec.Ports, -1
	if service.Labels[kind.TemplateLabel] != "" {
		i = slices.IndexFunc(ports, func(p corev1.ServicePort) bool { return p.Port == kind.ServicePort })
	}
	if i < 0 {
		i = max(0, slices.IndexFunc(ports, usesGRPC))
	}
	if len(ports) == 0 {
		return corev1.ServicePort{}
	}
	return ports[i]
}

// usesGRPC reports whether a port uses gRPC, by its name, by its appProtocol
// (https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol), or by its number.
func usesGRPC(p corev1.ServicePort) bool {
	protocol := ptr.Deref(p.AppProtocol, "")
	return p.Name == "grpc" || strings.HasPrefix(p.Name, "grpc-") || protocol == "grpc" ||
		protocol == kind.PlainHTTP2 || p.Port == kind.TensorServerPort
}

// fromCompute sets the fields of the endpoint from the object of an operator.
func (e *Endpoint) fromCompute(compute *unstructured.Unstructured) {
	e.GRPC, e.URL = true, ""
	if e.Backend.Port == (intstr.IntOrString{}) {
		e.Backend.Port = intstr.FromInt32(kind.TensorServerPort)
	}
	for _, address := range kind.ListAt(compute.Object, "status", "addresses") {
		if value := kind.TextAt(address, "value"); value != "" {
			if _, _, err := net.SplitHostPort(value); err != nil {
				value = net.JoinHostPort(strings.Trim(value, "[]"), strconv.Itoa(kind.TensorServerPort))
			}
			e.Gateways = append(e.Gateways, value)
		}
	}
}

// fromWorkload sets the fields of the endpoint of a compute without a Service: a custom address, which only its
// registration contains, or the pods of its workload, which have no common address.
func (e *Endpoint) fromWorkload(ctx context.Context, c *kube.Cluster) error {
	registration, err := c.API.Get(ctx, kube.Ref{Kind: kind.KubetorchWorkload(), Namespace: e.Namespace, Name: e.Name})
	switch class := kube.ClassOf(err); {
	case err == nil:
		if address := kind.TextAt(registration.Object, "spec", "serviceConfig", "url"); address != "" {
			e.Backend.Labels, _, _ = unstructured.NestedStringMap(registration.Object, "spec", "selector")
			return e.fromURL(address)
		}
	case class == kube.NotFound, class == kube.KindMissing, class == kube.Denied:
	default:
		return err
	}
	workload, err := c.Locate(ctx, e.Namespace, e.Name)
	if err != nil {
		return err
	}
	if kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).OwnService {
		e.Host = kind.ServiceHost(e.Namespace, e.Name) // its controller is about to create the Service
	}
	e.Backend.Workload, e.Backend.Labels = workload, kind.PodLabels(workload)
	return nil
}

func (e *Endpoint) fromURL(address string) error {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("the registration of %s contains an invalid address: %w", e.ID(), err)
	}
	_, rest, _ := strings.Cut(address, "://") // the scheme is case-insensitive, and parsed in lower case
	e.URL, e.Host, e.Elsewhere = parsed.Scheme+"://"+rest, parsed.Hostname(), true
	if port, err := strconv.ParseInt(parsed.Port(), 10, 32); err == nil {
		e.Port = int32(port)
	} else if parsed.Scheme == "https" {
		e.Port = 443
	}
	return nil
}
