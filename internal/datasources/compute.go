package datasources

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type computeModel struct {
	tf.Target
	Mode        types.String      `tfsdk:"mode"`
	Ready       types.Bool        `tfsdk:"ready"`
	Message     types.String      `tfsdk:"message"`
	Replicas    types.Int64       `tfsdk:"replicas"`
	Image       types.String      `tfsdk:"image"`
	ServiceName types.String      `tfsdk:"service_name"`
	URL         types.String      `tfsdk:"url"`
	GRPCTarget  types.String      `tfsdk:"grpc_target"`
	UID         types.String      `tfsdk:"uid"`
	Labels      map[string]string `tfsdk:"labels"`
	Annotations map[string]string `tfsdk:"annotations"`
	Conditions  []conditionModel  `tfsdk:"conditions"`
}

type conditionModel struct {
	Type    types.String `tfsdk:"type"`
	Status  types.String `tfsdk:"status"`
	Reason  types.String `tfsdk:"reason"`
	Message types.String `tfsdk:"message"`
}

const computeDescription = "Reads an existing compute, regardless of its kind and of what created it."

func computeAttributes() tf.Attributes {
	return withTarget(tf.Attributes{
		"mode": tf.ComputedString("Mode of the compute, as in the `kt_compute` resource: `deployment`, " +
			"`knative`, `raycluster`, …, or `selector` if its pods have no workload."),
		"ready":   tf.ComputedBool("Whether the compute is ready."),
		"message": tf.ComputedString("Status of the compute, in one line."),
		"replicas": tf.ComputedInteger("Desired number of pods, also if an autoscaler sets it. Null for a kind whose " +
			"number cannot be set, such as a DaemonSet, and without a workload."),
		"image":        tf.ComputedString("Image of the main container. Null if no workload defines one."),
		"service_name": tf.ComputedString("Name of the Service. Null if the compute has none."),
		"url":          tf.ComputedString("HTTP address in the cluster. Null for gRPC, and without a Service."),
		"grpc_target":  tf.ComputedString("gRPC address in the cluster, as `host:port`. Null for HTTP."),
		"uid":          tf.ComputedString("UID of the workload. Null if the compute has none."),
		"labels":       tf.ComputedTextMap("Labels of the workload."),
		"annotations": tf.ComputedTextMap("Annotations of the workload, except " +
			"`kubectl.kubernetes.io/last-applied-configuration`."),
		"conditions": tf.ComputedObjects("Conditions that the workload's controller reports.", tf.Attributes{
			"type":    tf.ComputedString("Type of the condition, such as `Available`."),
			"status":  tf.ComputedString("Status of the condition: `True`, `False` or `Unknown`."),
			"reason":  tf.ComputedString("Reason for the status, as one word. Null if none is reported."),
			"message": tf.ComputedString("Human-readable explanation of the status. Null if none is reported."),
		}),
	})
}

func readCompute(ctx context.Context, data *tf.ProviderData, m *computeModel) diag.Diagnostics {
	return readTarget(data.Cluster, &m.Target, func(namespace, name string) error {
		found, err := computeState(ctx, data.Cluster, namespace, name)
		if err == nil {
			m.fill(found)
		}
		return err
	})
}

// observation is the current state of a compute.
type observation struct {
	workload *unstructured.Unstructured // nil if the pods have none
	endpoint *endpoint.Endpoint
	verdict  ready.Verdict
}

func computeState(ctx context.Context, cluster *kube.Cluster, namespace, name string) (observation, error) {
	var s observation
	var err error
	if s.workload, err = endpoint.Locate(ctx, cluster, namespace, name); err != nil {
		return s, err
	}
	if s.endpoint, err = endpoint.Of(ctx, cluster, namespace, name); err != nil {
		return s, err
	}
	follow := observe.Follow{Namespace: namespace, PodLabels: s.endpoint.Backend.Labels}
	if s.workload != nil {
		s.verdict = ready.Assess(ready.Snapshot{Workload: s.workload})
		if s.verdict.Settled() || !ready.NeedsPods(s.workload) {
			return s, nil
		}
		ref, err := cluster.Discovery.RefOf(ctx, s.workload)
		if err != nil {
			return s, err
		}
		follow.Workload = &ref
	}
	s.verdict, err = follow.Assess(ctx, cluster)
	return s, err
}

func (m *computeModel) fill(s observation) {
	m.Ready, m.Message = types.BoolValue(s.verdict.Ready), tf.TextOrNull(s.verdict.Message)
	m.ServiceName, m.URL = tf.TextOrNull(s.endpoint.Service), tf.TextOrNull(s.endpoint.URL)
	if s.endpoint.GRPC {
		m.GRPCTarget = types.StringValue(s.endpoint.Address())
	}
	m.Mode = types.StringValue(kind.ModeSelector)
	workload := cmp.Or(s.workload, &unstructured.Unstructured{Object: map[string]any{}})
	if s.workload != nil {
		m.Mode, m.UID = types.StringValue(manifest.Compute{Manifest: workload.Object}.Mode()),
			types.StringValue(string(workload.GetUID()))
		observed := manifest.Observe(workload)
		m.Image = tf.TextOrNull(imageOf(workload, observed))
		if kind.OfMode(m.Mode.ValueString()).Scales {
			m.Replicas = types.Int64Value(observed.Replicas)
		}
	}
	m.Labels, m.Annotations = entries(workload.GetLabels()), entries(workload.GetAnnotations())
	// a complete object, whose environment may contain anything
	delete(m.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	m.Conditions = conditionsOf(workload)
}

// imageOf returns the image of the main container: the one of Kubetorch, the one of an operator, or else the first
// container of the workload, which is a Pod or has pod templates.
func imageOf(workload *unstructured.Unstructured, observed manifest.Compute) string {
	if observed.Image != "" {
		return observed.Image
	}
	if image := kind.TextAt(workload.Object, "spec", "image"); image != "" {
		return image
	}
	for _, at := range append(kind.PodTemplates(workload.Object), nil) {
		containers := kind.ListAt(workload.Object, kind.Under(at, "spec", "containers")...)
		if len(containers) > 0 && containers[0] != nil {
			return kind.TextAt(containers[0], "image")
		}
	}
	return ""
}

func conditionsOf(workload *unstructured.Unstructured) []conditionModel {
	conditions := []conditionModel{}
	for _, condition := range kind.ListAt(workload.Object, "status", "conditions") {
		text := func(field string) types.String { return tf.TextOrNull(kind.TextAt(condition, field)) }
		conditions = append(conditions, conditionModel{Type: text("type"), Status: text("status"),
			Reason: text("reason"), Message: text("message")})
	}
	return conditions
}
