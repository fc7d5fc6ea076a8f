package acctest_test

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	k8s "k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// An operator plays the part of SkyTorch's or KPU's in one namespace: what it
// makes of a Compute is what pkg/controllers of github.com/astefanutti/skytorch
// does, but for the route.
type operator struct {
	group     string
	server    string // the label app.kubernetes.io/name of what it makes
	addresses []any  // those of the gateway, if it knows one

	client    k8s.Interface
	namespace string
}

func skyTorch() operator {
	return operator{
		group: "compute.skytorch.dev", server: "skytorch-server",
		addresses: []any{map[string]any{"type": "IPAddress", "value": "203.0.113.7"}},
	}
}

func kpu() operator { return operator{group: "compute.kpu.dev", server: "kpu-torch-server"} }

func (o operator) computes() k8s.ResourceInterface {
	return o.client.Resource(schema.GroupVersionResource{Group: o.group, Version: "v1alpha1", Resource: "computes"}).Namespace(o.namespace)
}

func (o operator) statefulSets() k8s.ResourceInterface {
	return o.client.Resource(appsv1.SchemeGroupVersion.WithResource("statefulsets")).Namespace(o.namespace)
}

// withComputes is the cluster that has the kinds of both operators.
func withComputes(t *testing.T) *acctest.Cluster {
	t.Helper()
	on := withCRDs.Get(t)
	for _, of := range []string{"skytorch", "kpu"} {
		on.Kubectl(t, "apply", "--server-side", "-f", filepath.Join("testdata", of+"-compute-crd.yaml"))
	}
	on.Kubectl(t, "wait", "--for=condition=Established", "crd/computes.compute.skytorch.dev", "crd/computes.compute.kpu.dev")
	return on
}

// play acts on every change in a namespace until the test ends.
func (o operator) play(t *testing.T, on *acctest.Cluster, ns string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", on.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if o.client, err = k8s.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	o.namespace = ns
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var watches []watch.Interface
	for _, kind := range []k8s.ResourceInterface{o.computes(), o.statefulSets()} {
		changes, err := kind.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, changes)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			var change watch.Event
			var open bool
			select {
			case change, open = <-watches[0].ResultChan():
			case change, open = <-watches[1].ResultChan():
			}
			if !open {
				return
			}
			if obj, ok := change.Object.(*unstructured.Unstructured); ok {
				for ctx.Err() == nil && o.reconcile(ctx, obj.GetName()) != nil {
					time.Sleep(100 * time.Millisecond) // somebody else wrote in between
				}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for _, changes := range watches {
			changes.Stop()
		}
		<-done
	})
}

// computeSpec is what an operator takes from a Compute.
type computeSpec struct {
	Labels               map[string]string              `json:"labels"`
	Annotations          map[string]string              `json:"annotations"`
	Suspend              bool                           `json:"suspend"`
	Image                string                         `json:"image"`
	Command              []string                       `json:"command"`
	Args                 []string                       `json:"args"`
	Env                  []corev1.EnvVar                `json:"env"`
	Resources            corev1.ResourceList            `json:"resources"`
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates"`
	Override             corev1.PodSpec                 `json:"override"`
}

// computeObject is what an operator reads of a Compute.
type computeObject struct {
	Spec   computeSpec `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func (o operator) reconcile(ctx context.Context, name string) error {
	compute, err := o.computes().Get(ctx, name, metav1.GetOptions{})
	if err != nil || compute.GetDeletionTimestamp() != nil {
		return nil //nolint:nilerr // it is gone, or will be
	}
	var read computeObject
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(compute.Object, &read); err != nil {
		return nil //nolint:nilerr // no operator could do better
	}
	for resource, obj := range map[string]runtime.Object{
		"services": o.service(compute, read.Spec), "statefulsets": o.statefulSet(compute, read.Spec),
	} {
		if err := o.apply(ctx, resource, obj); err != nil {
			return err
		}
	}
	return o.report(ctx, compute, read)
}

func (o operator) apply(ctx context.Context, resource string, obj runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(content, "status")
	u := &unstructured.Unstructured{Object: content}
	gvr := u.GroupVersionKind().GroupVersion().WithResource(resource)
	_, err = o.client.Resource(gvr).Namespace(o.namespace).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: o.server, Force: true})
	return err
}

// metadata is that of all objects for a Compute. Labels of the user's win.
func (o operator) metadata(compute *unstructured.Unstructured, spec computeSpec) metav1.ObjectMeta {
	labels := o.selector(compute)
	maps.Copy(labels, map[string]string{"app.kubernetes.io/component": "compute", "app.kubernetes.io/managed-by": o.server + "-operator"})
	maps.Copy(labels, spec.Labels)
	return metav1.ObjectMeta{
		Name: compute.GetName(), Namespace: compute.GetNamespace(), Labels: labels, Annotations: spec.Annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(compute, compute.GroupVersionKind())},
	}
}

func (o operator) selector(compute *unstructured.Unstructured) map[string]string {
	return map[string]string{"app.kubernetes.io/name": o.server, "app.kubernetes.io/instance": compute.GetName()}
}

func (o operator) service(compute *unstructured.Unstructured, spec computeSpec) *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: o.metadata(compute, spec),
		Spec: corev1.ServiceSpec{
			Selector: o.selector(compute),
			Ports: []corev1.ServicePort{{
				Name: "grpc", Protocol: corev1.ProtocolTCP, AppProtocol: new("kubernetes.io/h2c"), Port: 50051, TargetPort: intstr.FromString("grpc"),
			}},
		},
	}
}

func (o operator) statefulSet(compute *unstructured.Unstructured, spec computeSpec) *appsv1.StatefulSet {
	server := corev1.Container{
		Name: "server", Image: spec.Image, Command: spec.Command, Args: spec.Args, Env: spec.Env,
		Ports:     []corev1.ContainerPort{{Name: "grpc", ContainerPort: 50051, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{Requests: spec.Resources, Limits: spec.Resources},
	}
	if server.Image == "" {
		server.Image = o.server + ":latest"
	}
	for _, override := range spec.Override.Containers {
		server.Env, server.VolumeMounts = append(server.Env, override.Env...), override.VolumeMounts
	}
	pod := spec.Override
	pod.Containers = []corev1.Container{server}
	replicas := int32(1)
	if spec.Suspend {
		replicas = 0
	}
	template := o.metadata(compute, spec)
	return &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: o.metadata(compute, spec),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: compute.GetName(), PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector:             &metav1.LabelSelector{MatchLabels: o.selector(compute)},
			VolumeClaimTemplates: spec.VolumeClaimTemplates,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations}, Spec: pod,
			},
		},
	}
}

// report writes the status: as the operators do, without a generation.
func (o operator) report(ctx context.Context, compute *unstructured.Unstructured, read computeObject) error {
	obj, err := o.statefulSets().Get(ctx, compute.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	var set appsv1.StatefulSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &set); err != nil {
		return err
	}
	conditions := read.Status.Conditions
	switch {
	case read.Spec.Suspend:
		meta.SetStatusCondition(&conditions, metav1.Condition{Type: "Suspended", Status: metav1.ConditionTrue, Reason: "Suspended", Message: "Compute is suspended"})
	case meta.IsStatusConditionTrue(conditions, "Suspended"):
		meta.SetStatusCondition(&conditions, metav1.Condition{Type: "Suspended", Status: metav1.ConditionFalse, Reason: "Resumed", Message: "Compute is resumed"})
	}
	up := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "StatefulSetNotReady", Message: "StatefulSet has no ready replicas"}
	if set.Status.ReadyReplicas > 0 && *set.Spec.Replicas > 0 {
		up = metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "AllComponentsReady", Message: "Pods are ready"}
	}
	meta.SetStatusCondition(&conditions, up)
	status := compute.DeepCopy()
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{conditions})
	if err != nil {
		return err
	}
	if up.Status == metav1.ConditionTrue && o.addresses != nil {
		written["addresses"] = o.addresses
	}
	status.Object["status"] = written
	_, err = o.computes().UpdateStatus(ctx, status, metav1.UpdateOptions{FieldManager: o.server})
	return err
}
