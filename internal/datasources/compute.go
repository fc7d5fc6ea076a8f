package datasources

import (
	"context"
	"errors"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// computeSource is the data source kt_compute.
type computeSource struct{ source }

var _ datasource.DataSourceWithConfigure = (*computeSource)(nil)

func (s *computeSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_compute"
}

type computeModel struct {
	Target
	Mode        types.String `tfsdk:"mode"`
	Ready       types.Bool   `tfsdk:"ready"`
	Message     types.String `tfsdk:"message"`
	Replicas    types.Int64  `tfsdk:"replicas"`
	Image       types.String `tfsdk:"image"`
	ServiceName types.String `tfsdk:"service_name"`
	URL         types.String `tfsdk:"url"`
	GRPCTarget  types.String `tfsdk:"grpc_target"`
	UID         types.String `tfsdk:"uid"`
	Labels      types.Map    `tfsdk:"labels"`
	Annotations types.Map    `tfsdk:"annotations"`
	Conditions  types.List   `tfsdk:"conditions"`
}

type conditionModel struct {
	Type    types.String `tfsdk:"type"`
	Status  types.String `tfsdk:"status"`
	Reason  types.String `tfsdk:"reason"`
	Message types.String `tfsdk:"message"`
}

func conditionType() attr.Type {
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"type": types.StringType, "status": types.StringType, "reason": types.StringType, "message": types.StringType,
	}}
}

func (s *computeSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := withTarget(map[string]schema.Attribute{
		"mode":         computedString("What runs the compute, as in the resource: `deployment`, `knative`, `raycluster`, …, or `selector` where its pods have no workload."),
		"ready":        computedBool("Whether it is ready now."),
		"message":      computedString("How far it is, in a line."),
		"replicas":     computedInt("Number of its pods that is asked for; null where something else decides it."),
		"image":        computedString("Image of its main container; null where it has no pods of its own."),
		"service_name": computedString("Name of its Service; null where it has none."),
		"url":          computedString("Address in the cluster; null for gRPC."),
		"grpc_target":  computedString("Address in the cluster for gRPC, as `host:port`; null for HTTP."),
		"uid":          computedString("UID of the workload; null where there is none."),
		"labels":       computedMap("Labels of the workload."),
		"annotations":  computedMap("Annotations of the workload, without what kubectl remembers there."),
		"conditions": schema.ListNestedAttribute{
			Computed: true, MarkdownDescription: "Conditions that the workload's controller reports.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"type":    computedString("What the condition is about, such as `Available`."),
				"status":  computedString("`True`, `False` or `Unknown`."),
				"reason":  computedString("Why, as one word; null where nothing is said."),
				"message": computedString("Why, for people; null where nothing is said."),
			}},
		},
	})
	resp.Schema = schema.Schema{
		MarkdownDescription: "Looks up a compute that exists, whatever runs it and whoever created it.",
		Attributes:          attributes,
	}
}

func (s *computeSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m computeModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster := s.cluster(req, resp)
	if cluster == nil {
		return
	}
	at, diags := m.resolve(cluster)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	found, err := look(ctx, cluster, m.Namespace.ValueString(), m.Name.ValueString())
	if err != nil {
		resp.Diagnostics.Append(failureAt(at, err))
		return
	}
	resp.Diagnostics.Append(m.take(ctx, found)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// seen is a compute as it is now.
type seen struct {
	workload *unstructured.Unstructured // nil where its pods have none
	endpoint *kube.Endpoint
	verdict  ready.Verdict
}

func look(ctx context.Context, cluster *kube.Cluster, namespace, name string) (seen, error) {
	var s seen
	var err error
	var missing *kube.MissingComputeError
	if s.workload, err = cluster.Locate(ctx, namespace, name); err != nil && !errors.As(err, &missing) {
		return s, err
	}
	if s.endpoint, err = cluster.Endpoint(ctx, namespace, name); err != nil {
		return s, err
	}
	if s.workload != nil {
		s.verdict = ready.Assess(ready.Snapshot{Workload: s.workload})
		if s.verdict.Settled() || !ready.NeedsPods(s.workload) {
			return s, nil
		}
		ref, err := cluster.RefOf(ctx, s.workload)
		if err != nil {
			return s, err
		}
		s.verdict, err = cluster.Assess(ctx, ref, s.endpoint.Backend.Selector)
		return s, err
	}
	s.verdict, err = cluster.AssessPods(ctx, namespace, s.endpoint.Backend.Selector)
	return s, err
}

func (m *computeModel) take(ctx context.Context, s seen) diag.Diagnostics {
	m.Ready, m.Message = types.BoolValue(s.verdict.Ready), textOrNull(s.verdict.Message)
	m.ServiceName, m.URL = textOrNull(s.endpoint.Service), textOrNull(s.endpoint.URL)
	if s.endpoint.GRPC {
		m.GRPCTarget = types.StringValue(s.endpoint.Address())
	}
	m.Mode = types.StringValue(manifest.ModeSelector)
	workload := s.workload
	if workload == nil {
		workload = &unstructured.Unstructured{Object: map[string]any{}}
	} else {
		m.Mode, m.UID = types.StringValue(manifest.Compute{Manifest: workload.Object}.Mode()), types.StringValue(string(workload.GetUID()))
		observed := manifest.Observe(workload)
		m.Image = textOrNull(imageOf(workload, observed))
		if manifest.HasReplicas(m.Mode.ValueString()) {
			m.Replicas = types.Int64Value(observed.Replicas)
		}
	}
	var all, diags diag.Diagnostics
	m.Labels, diags = types.MapValueFrom(ctx, types.StringType, workload.GetLabels())
	all.Append(diags...)
	annotations := maps.Clone(workload.GetAnnotations())
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration") // a whole object, whose environment may hold anything
	m.Annotations, diags = types.MapValueFrom(ctx, types.StringType, annotations)
	all.Append(diags...)
	m.Conditions, diags = types.ListValueFrom(ctx, conditionType(), conditionsOf(workload))
	return append(all, diags...)
}

// imageOf is the image of the main container: Kubetorch's, an operator's, or
// the first one of a workload that is neither's.
func imageOf(workload *unstructured.Unstructured, observed manifest.Compute) string {
	if observed.Image != "" {
		return observed.Image
	}
	if image, _, _ := unstructured.NestedString(workload.Object, "spec", "image"); image != "" {
		return image
	}
	for _, path := range [][]string{{"spec", "template", "spec", "containers"}, {"spec", "containers"}, {"spec", "jobTemplate", "spec", "template", "spec", "containers"}} {
		containers, _, _ := unstructured.NestedSlice(workload.Object, path...)
		if len(containers) == 0 {
			continue
		}
		if first, ok := containers[0].(map[string]any); ok {
			image, _ := first["image"].(string)
			return image
		}
	}
	return ""
}

func conditionsOf(workload *unstructured.Unstructured) []conditionModel {
	conditions := []conditionModel{}
	items, _, _ := unstructured.NestedSlice(workload.Object, "status", "conditions")
	for _, item := range items {
		condition, _ := item.(map[string]any)
		text := func(field string) types.String {
			value, _ := condition[field].(string)
			return textOrNull(value)
		}
		conditions = append(conditions, conditionModel{Type: text("type"), Status: text("status"), Reason: text("reason"), Message: text("message")})
	}
	return conditions
}
