package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	grpcPort    = 50051
	grpcService = "skytorch.torch.Service" // service name in SkyTorch's health checks
	container   = "server"
)

// computeSpec contains the fields of a Compute's spec that the operators read.
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

// serverOverride returns the override of the server's container.
func (s computeSpec) serverOverride() corev1.Container {
	for _, c := range s.Override.Containers {
		if c.Name == container {
			return c
		}
	}
	return corev1.Container{}
}

// object contains the fields of a Compute that the operators read.
type object struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec   computeSpec `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// compute is a Compute, with the data for its objects.
type compute struct {
	object

	owner   metav1.OwnerReference
	release Release
}

func (o *Operator) list(ctx context.Context) ([]unstructured.Unstructured, error) {
	list, err := o.client.Resource(o.Release.computes()).Namespace(o.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// reconcile applies the objects of a Compute and then updates its status. Like the
// operators, it continues after errors.
func (o *Operator) reconcile(ctx context.Context, live *unstructured.Unstructured) error {
	if live.GetDeletionTimestamp() != nil {
		return nil // the garbage collector deletes the objects
	}
	var c compute
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &c.object); err != nil {
		return err
	}
	c.owner, c.release = *metav1.NewControllerRef(live, live.GroupVersionKind()), o.Release
	failed := o.apply(ctx, "services", c.service())
	if o.GatewayNamespace != "" {
		route, err := o.route(c)
		if err == nil {
			err = o.apply(ctx, Routes().Resource, route)
		}
		failed = errors.Join(failed, err)
	}
	for _, claim := range c.claims() {
		failed = errors.Join(failed, o.apply(ctx, "persistentvolumeclaims", claim))
	}
	set := c.statefulSet()
	if o.Place != nil {
		o.Place(&set.Spec.Template.Spec)
	}
	failed = errors.Join(failed, o.apply(ctx, "statefulsets", set))
	return errors.Join(failed, o.report(ctx, live, c))
}

func (o *Operator) apply(ctx context.Context, resource string, wanted runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(content, "status")
	u := &unstructured.Unstructured{Object: content}
	kind := u.GroupVersionKind().GroupVersion().WithResource(resource)
	_, err = o.client.Resource(kind).Namespace(u.GetNamespace()).Apply(ctx, u.GetName(), u,
		metav1.ApplyOptions{FieldManager: o.Release.server, Force: true})
	return err
}

func (c compute) selector() map[string]string {
	return map[string]string{"app.kubernetes.io/name": c.release.server, "app.kubernetes.io/instance": c.Name}
}

// metadata returns the metadata of all objects of a Compute. Labels of the user take precedence.
func (c compute) metadata() metav1.ObjectMeta {
	labels := c.selector()
	maps.Copy(labels, c.commonLabels())
	maps.Copy(labels, c.Spec.Labels)
	return metav1.ObjectMeta{
		Name: c.Name, Namespace: c.Namespace, Labels: labels, Annotations: c.Spec.Annotations,
		OwnerReferences: []metav1.OwnerReference{c.owner},
	}
}

// commonLabels returns the labels that do not contain the name of the Compute.
func (c compute) commonLabels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": c.release.server, "app.kubernetes.io/component": "compute",
		"app.kubernetes.io/managed-by": c.release.manager,
	}
}

func (c compute) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: c.metadata(),
		Spec: corev1.ServiceSpec{
			Selector: c.selector(),
			Ports: []corev1.ServicePort{{
				Name: "grpc", Protocol: corev1.ProtocolTCP, AppProtocol: new("kubernetes.io/h2c"), Port: grpcPort,
				TargetPort: intstr.FromString("grpc"),
			}},
		},
	}
}

// claims returns claims with the names of their templates and without owners.
func (c compute) claims() []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	if !c.release.override {
		return nil
	}
	for _, t := range c.Spec.VolumeClaimTemplates {
		claims = append(claims, &corev1.PersistentVolumeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Name: t.Name, Namespace: c.Namespace, Labels: c.commonLabels()},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: t.Spec.AccessModes, StorageClassName: t.Spec.StorageClassName,
				Resources: corev1.VolumeResourceRequirements{Requests: t.Spec.Resources.Requests},
			},
		})
	}
	return claims
}

// statefulSet returns a StatefulSet with one container and the overrides that the release supports.
func (c compute) statefulSet() *appsv1.StatefulSet {
	r, replicas := c.release, int32(1)
	if c.Spec.Suspend {
		replicas = 0
	}
	server := corev1.Container{
		Name: container, Image: c.Spec.Image, Command: c.Spec.Command, Args: c.Spec.Args, Env: r.variables(c.Spec),
		VolumeMounts: r.mounts(c.Spec),
		Ports:        []corev1.ContainerPort{{Name: "grpc", ContainerPort: grpcPort, Protocol: corev1.ProtocolTCP}},
		Resources:    r.requirements(c.Spec),
	}
	if server.Image == "" {
		server.Image = r.server + ":latest"
	}
	if r.override {
		server.ReadinessProbe = &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{
				GRPC: &corev1.GRPCAction{Port: grpcPort, Service: new(grpcService)},
			},
			InitialDelaySeconds: 2, PeriodSeconds: 2, TimeoutSeconds: 5, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	template := c.metadata()
	return &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: c.metadata(),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: c.Name, PodManagementPolicy: r.policy,
			Selector: &metav1.LabelSelector{MatchLabels: c.selector()},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: template.Labels, Annotations: template.Annotations},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{server}, Volumes: r.volumes(c.Spec)},
			},
		},
	}
}

// report updates the status. Like the operators, it does not set observedGeneration.
func (o *Operator) report(ctx context.Context, live *unstructured.Unstructured, c compute) error {
	up, addresses, err := o.readiness(ctx, c)
	if err != nil {
		return err
	}
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
	meta.SetStatusCondition(&conditions, up)
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{conditions})
	if err != nil {
		return err
	}
	if len(addresses) == 0 { // those of the last time that it was ready stay
		addresses, _, _ = unstructured.NestedSlice(live.Object, "status", "addresses")
	}
	if len(addresses) > 0 {
		status["addresses"] = addresses
	}
	live.Object["status"] = status
	_, err = o.client.Resource(o.Release.computes()).Namespace(c.Namespace).UpdateStatus(ctx, live,
		metav1.UpdateOptions{FieldManager: o.Release.server})
	return err
}

// readiness returns the condition Ready, and the addresses of a ready Compute.
func (o *Operator) readiness(ctx context.Context, c compute) (metav1.Condition, []any, error) {
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse}
	var set appsv1.StatefulSet
	sets := o.client.Resource(appsv1.SchemeGroupVersion.WithResource("statefulsets")).Namespace(c.Namespace)
	live, err := sets.Get(ctx, c.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		condition.Reason, condition.Message = "StatefulSetNotAvailable", "StatefulSet is not available"
		return condition, nil, nil
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &set)
	}
	if err != nil {
		return condition, nil, err
	}
	ready, replicas := set.Status.ReadyReplicas, *set.Spec.Replicas
	if ready != replicas || replicas == 0 {
		condition.Reason, condition.Message = "StatefulSetNotReady",
			fmt.Sprintf("StatefulSet has %d/%d ready replicas", ready, replicas)
		return condition, nil, nil
	}
	var addresses []any
	if o.GatewayNamespace != "" {
		condition.Reason, condition.Message, addresses, err = o.routed(ctx, c)
		if err != nil || condition.Reason != "" {
			return condition, nil, err
		}
	}
	condition.Status, condition.Reason = metav1.ConditionTrue, "AllComponentsReady"
	condition.Message = fmt.Sprintf("Pods (%d/%d replicas), GRPCRoute, and Gateway are ready", ready, replicas)
	return condition, addresses, nil
}
