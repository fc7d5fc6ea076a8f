package kind

import "k8s.io/apimachinery/pkg/runtime/schema"

// Classes of the autoscaler of Knative.
const (
	KPAClass = "kpa." + autoscalingOfKnative
	HPAClass = "hpa." + autoscalingOfKnative
)

// Labels and annotations of Knative
// (https://github.com/knative/serving/blob/main/pkg/apis/serving/register.go,
// https://knative.dev/docs/serving/autoscaling/).
const (
	KnativeServiceLabel  = KnativeGroup + "/service"
	KnativeRevisionLabel = KnativeGroup + "/revision" // name of the Revision of a pod

	AutoscalingDomain          = autoscalingOfKnative + "/"
	ClassAnnotation            = AutoscalingDomain + "class"
	MinScaleAnnotation         = AutoscalingDomain + "min-scale"
	MaxScaleAnnotation         = AutoscalingDomain + "max-scale"
	InitialScaleAnnotation     = AutoscalingDomain + "initial-scale"
	TargetAnnotation           = AutoscalingDomain + "target"
	UtilizationAnnotation      = AutoscalingDomain + "target-utilization-percentage"
	MetricAnnotation           = AutoscalingDomain + "metric"
	WindowAnnotation           = AutoscalingDomain + "window"
	ScaleDownDelayAnnotation   = AutoscalingDomain + "scale-down-delay"
	PodRetentionAnnotation     = AutoscalingDomain + "scale-to-zero-pod-retention-period"
	ProgressDeadlineAnnotation = KnativeGroup + "/progress-deadline"
)

// knativeService is serving.knative.dev/v1 Service, whose autoscaler sets the
// number of pods.
//
// A suspended Service scales to zero as soon as possible, but still starts a pod
// for a request, because Knative cannot prevent that. A new revision starts with
// one pod: Knative rejects an initial scale of zero unless config-autoscaler of the
// cluster allows it.
func knativeService() Kind {
	gv := schema.GroupVersion{Group: KnativeGroup, Version: "v1"}
	annotation := func(key string) []string { return []string{"spec", "template", "metadata", "annotations", key} }
	return workload(gv, "Service", &Workload{
		Mode:         "knative",
		Template:     "ksvc",
		ResourceKind: "KnativeService",
		Picks:        func(c Compute) bool { return c.Autoscale },
		Spec:         func(Compute) map[string]any { return map[string]any{} },
		Complete: func(c Compute, workload map[string]any) {
			if c.Concurrency != nil {
				SetDefault(workload, *c.Concurrency, "spec", "template", "spec", "containerConcurrency")
			}
		},
		Autoscales: true,
		PodLabel:   KnativeServiceLabel,
		Groups:     always(Group{Template: []string{"spec", "template"}}),
		Suspension: []Setting{
			{Path: annotation(ClassAnnotation), Value: KPAClass}, // the other never scales to zero,
			{Path: annotation(MetricAnnotation)},                 // and has other metrics
			{Path: annotation(MinScaleAnnotation), Value: "0"},
			{Path: annotation(InitialScaleAnnotation)},
			{Path: annotation(PodRetentionAnnotation), Value: "0s"},
			{Path: annotation(ScaleDownDelayAnnotation), Value: "0s"},
		},
		Restart: restartBy(ByTemplate),
		Refuses: map[Operation]Refusal{Scaling: refusal("The number of its pods is set by the autoscaler of Knative.",
			"Change the minimum and the maximum number of pods of the autoscaler.")},
		OwnService: true,
		Children: children(map[string]string{
			"Configuration": `^$`, "Route": `^$`, "Revision": `^-\d{5}$`, "PodAutoscaler": `^-\d{5}$`,
			"Deployment": `^-\d{5}-deployment$`, "ReplicaSet": `^-\d{5}-deployment-\w+$`,
		}),
		Parts: &Parts{
			// Revisions have the labels of their template.
			Kind:  Kind{GroupVersionKind: gv.WithKind("Revision"), Resource: "revisions", LabelSelector: OfServices},
			Label: KnativeServiceLabel,
		},
		Readiness: OfKnativeService,
	})
}
