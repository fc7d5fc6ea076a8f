package operator

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	server      = "skytorch-server" // what it calls what it makes
	grpcPort    = 50051
	grpcService = "skytorch.torch.Service" // whose health it asks for
)

func computes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "compute.skytorch.dev", Version: "v1alpha1", Resource: "computes"}
}

// compute is what counts of a Compute here.
type compute struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Labels      map[string]string   `json:"labels"`
		Annotations map[string]string   `json:"annotations"`
		Suspend     bool                `json:"suspend"`
		Image       string              `json:"image"`
		Command     []string            `json:"command"`
		Args        []string            `json:"args"`
		Env         []corev1.EnvVar     `json:"env"`
		Resources   corev1.ResourceList `json:"resources"`
		Override    corev1.PodSpec      `json:"override"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// reconcile brings what belongs to a Compute to what this says, and then says in its status how that is.
func (o *Operator) reconcile(ctx context.Context, object *unstructured.Unstructured) error {
	if object.GetDeletionTimestamp() != nil {
		return nil // the garbage collector does the rest
	}
	var c compute
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &c); err != nil {
		return err
	}
	owner := metav1.NewControllerRef(object, object.GroupVersionKind())
	if _, err := o.apply(ctx, "services", c.service(*owner)); err != nil {
		return err
	}
	made, err := o.apply(ctx, "statefulsets", c.statefulSet(*owner))
	if err != nil {
		return err
	}
	var set appsv1.StatefulSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(made.Object, &set); err != nil {
		return err
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{c.conditions(&set)})
	if err != nil {
		return err
	}
	object.Object["status"] = status
	_, err = o.client.Resource(computes()).Namespace(c.Namespace).UpdateStatus(ctx, object, metav1.UpdateOptions{FieldManager: server})
	return err
}

func (o *Operator) apply(ctx context.Context, resource string, object runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "status")
	u := &unstructured.Unstructured{Object: content}
	kind := u.GroupVersionKind().GroupVersion().WithResource(resource)
	return o.client.Resource(kind).Namespace(u.GetNamespace()).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: server, Force: true})
}

func (c compute) selector() map[string]string {
	return map[string]string{"app.kubernetes.io/name": server, "app.kubernetes.io/instance": c.Name}
}

func (c compute) metadata(owner metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace, Labels: c.selector(), OwnerReferences: []metav1.OwnerReference{owner}}
}

func (c compute) service(owner metav1.OwnerReference) *corev1.Service {
	h2c := "kubernetes.io/h2c"
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: c.metadata(owner),
		Spec: corev1.ServiceSpec{
			Selector: c.selector(),
			Ports:    []corev1.ServicePort{{Name: "grpc", AppProtocol: &h2c, Port: grpcPort, TargetPort: intstr.FromString("grpc")}},
		},
	}
}

// statefulSet has the Compute's container in the pod that its override describes.
func (c compute) statefulSet(owner metav1.OwnerReference) *appsv1.StatefulSet {
	service := grpcService
	container := corev1.Container{
		Name: "server", Image: c.Spec.Image, Command: c.Spec.Command, Args: c.Spec.Args, Env: c.Spec.Env,
		Ports:     []corev1.ContainerPort{{Name: "grpc", ContainerPort: grpcPort}},
		Resources: corev1.ResourceRequirements{Requests: c.Spec.Resources, Limits: c.Spec.Resources},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: grpcPort, Service: &service}},
			PeriodSeconds: 1,
		},
	}
	for _, override := range c.Spec.Override.Containers {
		container.Env, container.VolumeMounts = append(container.Env, override.Env...), override.VolumeMounts
	}
	pod := c.Spec.Override
	pod.Containers = []corev1.Container{container}
	labels := c.selector()
	maps.Copy(labels, c.Spec.Labels)
	replicas := int32(1)
	if c.Spec.Suspend {
		replicas = 0
	}
	return &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: c.metadata(owner),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: c.Name, PodManagementPolicy: appsv1.ParallelPodManagement,
			Selector: &metav1.LabelSelector{MatchLabels: c.selector()},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: c.Spec.Annotations}, Spec: pod},
		},
	}
}

// conditions are Ready and Suspended, with SkyTorch's reasons.
func (c compute) conditions(set *appsv1.StatefulSet) []metav1.Condition {
	conditions := c.Status.Conditions
	switch {
	case c.Spec.Suspend:
		meta.SetStatusCondition(&conditions, metav1.Condition{
			Type: "Suspended", Status: metav1.ConditionTrue, Reason: "Suspended", Message: "Compute is suspended",
		})
	case meta.IsStatusConditionTrue(conditions, "Suspended"):
		meta.SetStatusCondition(&conditions, metav1.Condition{
			Type: "Suspended", Status: metav1.ConditionFalse, Reason: "Resumed", Message: "Compute is resumed",
		})
	}
	ready, replicas := set.Status.ReadyReplicas, *set.Spec.Replicas
	up := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "StatefulSetNotReady",
		Message: fmt.Sprintf("StatefulSet has %d/%d ready replicas", ready, replicas),
	}
	if ready > 0 && ready == replicas {
		up.Status, up.Reason = metav1.ConditionTrue, "AllComponentsReady"
	}
	meta.SetStatusCondition(&conditions, up)
	return conditions
}
