package endpoint

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func serviceOf(spec corev1.ServiceSpec) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "pool"}, Spec: spec}
}

func TestEndpointIsReadFromItsService(t *testing.T) {
	t.Parallel()
	pods, h2c := map[string]string{"app": "pool"}, "kubernetes.io/h2c"
	backend := func(port intstr.IntOrString) portforward.Backend {
		return portforward.Backend{PodSource: kube.PodSource{Labels: pods}, Port: port}
	}
	grpc := corev1.ServicePort{Name: "grpc", Port: 8001, AppProtocol: &h2c}
	rendered := func(ports ...corev1.ServicePort) *corev1.Service {
		service := serviceOf(corev1.ServiceSpec{Selector: pods, Ports: ports})
		service.Labels = map[string]string{kind.TemplateLabel: "deployment"}
		return service
	}
	for name, test := range map[string]struct {
		service *corev1.Service
		want    Endpoint
	}{
		"HTTP, with another target port": {
			serviceOf(corev1.ServiceSpec{Selector: pods, Ports: []corev1.ServicePort{{Name: "http", Port: 80,
				TargetPort: intstr.FromInt32(32300)}}}),
			Endpoint{Service: "pool", Port: 80, Backend: backend(intstr.FromInt32(32300))},
		},
		"gRPC by the name of one of two ports": {
			serviceOf(corev1.ServiceSpec{Selector: pods, Ports: []corev1.ServicePort{{Name: "metrics", Port: 9090},
				{Name: "grpc", Port: 443}}}),
			Endpoint{Service: "pool", GRPC: true, Port: 443, Backend: backend(intstr.FromInt32(443))},
		},
		"gRPC by the protocol, with a named target port": {
			serviceOf(corev1.ServiceSpec{Selector: pods, Ports: []corev1.ServicePort{{Name: "api", Port: 8080,
				AppProtocol: &h2c, TargetPort: intstr.FromString("rpc")}}}),
			Endpoint{Service: "pool", GRPC: true, Port: 8080, Backend: backend(intstr.FromString("rpc"))},
		},
		"gRPC by the port": {
			serviceOf(corev1.ServiceSpec{Selector: pods, Ports: []corev1.ServicePort{{Port: 50051}}}),
			Endpoint{Service: "pool", GRPC: true, Port: 50051, Backend: backend(intstr.FromInt32(50051))},
		},
		"headless": {
			serviceOf(corev1.ServiceSpec{Selector: pods, ClusterIP: corev1.ClusterIPNone,
				Ports: []corev1.ServicePort{{Port: 80}}}),
			Endpoint{Service: "pool", Port: 80, Headless: "pool.ml.svc.cluster.local",
				Backend: backend(intstr.FromInt32(80))},
		},
		"a Service of Knative, which selects its gateway": {
			serviceOf(corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "kourier",
				ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "http2", Port: 80}}}),
			Endpoint{Service: "pool"},
		},
		"a rendered one, HTTP with a further port for gRPC": {
			rendered(corev1.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8000)}, grpc),
			Endpoint{Service: "pool", Port: 80, Backend: backend(intstr.FromInt32(8000))},
		},
		"a rendered one, exposed as gRPC": {
			rendered(corev1.ServicePort{Name: "http", Port: 80, AppProtocol: &h2c}, grpc),
			Endpoint{Service: "pool", GRPC: true, Port: 80, Backend: backend(intstr.FromInt32(80))},
		},
		"a rendered one without the port of the server": {
			rendered(corev1.ServicePort{Name: "metrics", Port: 9090}, grpc),
			Endpoint{Service: "pool", GRPC: true, Port: 8001, Backend: backend(intstr.FromInt32(8001))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got Endpoint
			got.fromService(test.service)
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreUnexported(Endpoint{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEndpointOfAComputeIncludesItsGateways(t *testing.T) {
	t.Parallel()
	var got Endpoint
	got.fromCompute(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"addresses": []any{
		map[string]any{"type": "IPAddress", "value": "203.0.113.7"},
		map[string]any{"type": "Hostname", "value": "gw.example.com:443"},
		map[string]any{"type": "IPAddress", "value": "2001:db8::7"},
		map[string]any{"type": "IPAddress", "value": ""},
		"not an object",
	}}}})
	want := Endpoint{GRPC: true, Gateways: []string{"203.0.113.7:50051", "gw.example.com:443", "[2001:db8::7]:50051"},
		Backend: portforward.Backend{Port: intstr.FromInt32(50051)}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Endpoint{})); diff != "" {
		t.Error(diff)
	}
}

func TestEndpointOfACustomAddressHasItsHostAndPort(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]Endpoint{
		"http://h.example.com:8080": {URL: "http://h.example.com:8080", Host: "h.example.com", Port: 8080,
			Elsewhere: true},
		"https://h.example.com/v1": {URL: "https://h.example.com/v1", Host: "h.example.com", Port: 443,
			Elsewhere: true},
		"HTTPS://H.example.com/V1": {URL: "https://H.example.com/V1", Host: "H.example.com", Port: 443,
			Elsewhere: true},
		"h.example.com": {URL: "http://h.example.com", Host: "h.example.com", Elsewhere: true},
	} {
		var got Endpoint
		if err := got.fromURL(address); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Endpoint{})); diff != "" {
			t.Errorf("%s: %s", address, diff)
		}
	}
}

// restricted returns a cluster with one Deployment, in which the user may get no object of the operators, and list
// nothing.
func restricted(t *testing.T, workload string) *kube.Cluster {
	t.Helper()
	operator := kind.TensorServers()[0]
	return clusterOf(t, func(verb, path string, request *http.Request) (int, any) {
		code, body, answered := kubetest.GetsOnly(verb, path, request)
		switch {
		case answered:
			return code, body
		case path == "/apis/":
			return http.StatusOK, metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: operator.Group}}}
		case path == "/apis/"+operator.GroupVersion().String():
			return http.StatusOK, metav1.APIResourceList{APIResources: []metav1.APIResource{
				{Name: operator.Resource, Kind: operator.Kind, Namespaced: true},
			}}
		case strings.Contains(path, operator.Group), strings.Contains(path, kind.KubetorchWorkload().Group):
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		case path == "/apis/apps/v1/namespaces/ml/deployments/"+workload:
			return http.StatusOK, kubetest.Deployment("1", 0)
		}
		return notFound()
	})
}

func notFound() (int, any) {
	return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
		Details: &metav1.StatusDetails{Name: "x", Kind: "x"}}
}

// clusterOf returns a cluster whose API server answers with a function.
func clusterOf(t *testing.T, answer func(verb, path string, request *http.Request) (int, any)) *kube.Cluster {
	t.Helper()
	server := httptest.NewServer(kubetest.API{Answer: answer})
	t.Cleanup(server.Close)
	return kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x", Env: config.Env{
		Getenv: func(string) string { return "" },
	}}).WithClock(&kubetest.Clock{})
}

func TestEndpointNeedsNoPermissionForOtherKindsOfComputes(t *testing.T) {
	t.Parallel()
	found, err := Of(t.Context(), restricted(t, "trainer"), "ml", "trainer")
	if err != nil || found.Name != "trainer" {
		t.Errorf("%+v, %v", found, err)
	}
	// A compute that is not found may be one without permission.
	if _, err := Of(t.Context(), restricted(t, ""), "ml", "trainer"); kube.ClassOf(err) != kube.Denied {
		t.Errorf("%v, want the missing permission", err)
	}
}

// Nothing resolves the name of a compute without a Service, such as a Job without port.
func TestEndpointWithoutAServiceHasOnlyThePodsOfItsWorkload(t *testing.T) {
	t.Parallel()
	labels := map[string]any{"app": "web"}
	made := func(name string, labels map[string]any, kind, owner string) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
			"namespace": "ml", "name": name, "uid": name, "labels": labels, "ownerReferences": []any{map[string]any{
				"apiVersion": "v1", "kind": kind, "name": owner, "uid": owner, "controller": true}},
		}}}
	}
	list := func(kind string, items ...unstructured.Unstructured) (int, any) {
		return http.StatusOK, &unstructured.UnstructuredList{
			Object: map[string]any{"apiVersion": "v1", "kind": kind + "List"}, Items: items}
	}
	deployment := kubetest.Deployment("1", 0)
	kind.SetAt(deployment.Object, []string{"spec", "selector", "matchLabels"}, labels)
	cronJob := kind.CronJob().Named("ml", "trainer")
	cronJob.SetUID("trainer")
	kind.SetAt(cronJob.Object, []string{"spec", "jobTemplate", "spec", "template", "metadata", "labels"}, labels)
	for name, test := range map[string]struct {
		path     string
		workload *unstructured.Unstructured
		owner    string // kind of the controller of the pods
		watches  bool   // whether the server allows to watch, but does not stream a list
		unknown  bool   // whether the pods are unknown without permission
	}{
		"a Deployment, without permission to watch": {"/apis/apps/v1/namespaces/ml/deployments/trainer", deployment,
			"ReplicaSet", false, false},
		"a CronJob": {"/apis/batch/v1/namespaces/ml/cronjobs/trainer", cronJob, "Job", true, false},
		"a CronJob, without permission to watch Jobs": {"/apis/batch/v1/namespaces/ml/cronjobs/trainer", cronJob,
			"Job", false, true},
	} {
		cluster := clusterOf(t, func(verb, asked string, request *http.Request) (int, any) {
			switch {
			case strings.HasSuffix(asked, "/selfsubjectaccessreviews"):
				return kubetest.Reviewed(request, func(verb string) bool { return verb != "watch" })
			case asked == test.path:
				return http.StatusOK, test.workload
			case verb == "list" && strings.HasSuffix(asked, "/pods"):
				return list("Pod", made("other-1", labels, test.owner, "other-5f6d"),
					made("trainer-1", labels, test.owner, "trainer-5f6d"))
			case verb == "list" && strings.HasSuffix(asked, "/jobs"):
				return list("Job", made("other-5f6d", nil, "CronJob", "other"),
					made("trainer-5f6d", nil, "CronJob", "trainer"))
			case verb == "list" && strings.HasSuffix(asked, "/services"):
				return list("Service")
			case verb == "watch" && test.watches:
				return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
			case verb == "watch":
				return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
			}
			return notFound()
		})
		found, err := Of(t.Context(), cluster, "ml", "trainer")
		if err != nil {
			t.Fatal(err)
		}
		if found.URL != "" || found.Host != "" || found.Port != 0 {
			t.Errorf("%s: the address is %q, %q, %d", name, found.URL, found.Host, found.Port)
		}
		if found.Backend.Labels["app"] != "web" {
			t.Errorf("%s: the pods are those with the labels %v", name, found.Backend.Labels)
		}
		err = found.ReadPods(t.Context(), cluster)
		_, failure := portforward.Dial(t.Context(), cluster, found.Backend)
		if test.unknown {
			if err != nil || found.Pods != nil || kube.ClassOf(failure) != kube.Denied {
				t.Errorf("%s: %v, %v, %v", name, found.Pods, err, failure)
			}
			continue
		}
		if err != nil || len(found.Pods) != 1 || found.Pods[0].Name != "trainer-1" {
			t.Errorf("%s: %d pods, %v", name, len(found.Pods), err)
		}
		if noPod, ok := errors.AsType[*portforward.NoPodError](failure); !ok || len(noPod.Pods) != 1 {
			t.Errorf("%s: %v, want that only one pod is not ready", name, failure)
		}
	}
}

func TestBackendAtAnotherPortIsThatOfTheServiceOrOfThePods(t *testing.T) {
	t.Parallel()
	metrics := corev1.ServicePort{Name: "metrics", Port: 9090, TargetPort: intstr.FromString("metrics")}
	http := corev1.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromInt32(32300)}
	pods := map[string]string{"app": "pool"}
	for name, test := range map[string]struct {
		service corev1.ServiceSpec
		port    int32
		want    intstr.IntOrString
	}{
		"of the Service": {corev1.ServiceSpec{Selector: pods, Ports: []corev1.ServicePort{http, metrics}}, 9090,
			intstr.FromString("metrics")},
		"of the pods": {corev1.ServiceSpec{Selector: pods, Ports: []corev1.ServicePort{http}}, 9090,
			intstr.FromInt32(9090)},
		"of the pods of Knative": {corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "kourier",
			Ports: []corev1.ServicePort{metrics}}, 9090, intstr.FromInt32(9090)},
	} {
		var e Endpoint
		e.fromService(serviceOf(test.service))
		if got := e.BackendAt(test.port).Port; got != test.want {
			t.Errorf("%s: %s, want %s", name, &got, &test.want)
		}
	}
}

func TestPortForwardCommandNamesTheServiceOrAReadyPod(t *testing.T) {
	t.Parallel()
	ready := kubetest.RunningPod("pool-0")
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	ready.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8012}}
	for name, test := range map[string]struct {
		endpoint Endpoint
		want     string
	}{
		"a Service at a low port": {Endpoint{Service: "pool", Port: 80,
			Backend: portforward.Backend{Port: intstr.FromInt32(32300)}}, "kubectl -n ml port-forward service/pool " +
			"8080:80"},
		"a Service at a high port": {Endpoint{Service: "pool", Port: 50051,
			Backend: portforward.Backend{Port: intstr.FromString("grpc")}}, "kubectl -n ml port-forward service/pool " +
			"50051:50051"},
		"a Service that does not select pods": {Endpoint{Service: "pool", Port: 80,
			Pods: []*corev1.Pod{kubetest.RunningPod("new"), ready}}, "kubectl -n ml port-forward pod/pool-0 8080:8012"},
		"no Service":   {Endpoint{Pods: []*corev1.Pod{ready}}, "kubectl -n ml port-forward pod/pool-0 8012:8012"},
		"no ready pod": {Endpoint{Service: "pool", Port: 80, Pods: []*corev1.Pod{kubetest.RunningPod("new")}}, ""},
	} {
		test.endpoint.Namespace = "ml"
		if got := test.endpoint.PortForwardCommand(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
