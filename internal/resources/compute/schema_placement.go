package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// placementAttributes returns how the pods are distributed over nodes, replaced and evicted.
func placementAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"affinity": tf.OptionalJSON("Affinity of the pods as JSON, as in `jsonencode({ podAntiAffinity = { … } })`, "+
			"with the fields of `kubectl explain pod.spec.affinity`. `gpu_anti_affinity` is added to "+
			"it.", tf.Affinity()),
		"topology_spread_constraints": tf.OptionalObjects("[Topology spread "+
			"constraints](https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/) on "+
			"the pods of the compute.", map[string]schema.Attribute{
			"topology_key": tf.RequiredText("Label of the nodes whose values are the domains, such as "+
				"`topology.kubernetes.io/zone`.", tf.LabelKey()),
			"max_skew": atLeast(1, "Maximum difference in the number of pods between two domains. Defaults to `1`."),
			"when_unsatisfiable": tf.OptionalText("What happens to a pod that would violate the constraint: "+
				"`DoNotSchedule` or `ScheduleAnyway`. Defaults to `DoNotSchedule`.",
				stringvalidator.OneOf(string(corev1.DoNotSchedule), string(corev1.ScheduleAnyway))),
		}, listvalidator.SizeAtLeast(1)),
		"strategy": tf.OptionalText("How an update of a Deployment replaces its pods: `Recreate` stops all before it "+
			"starts new ones, `RollingUpdate` replaces some at a time. Defaults to `RollingUpdate` for a server of "+
			"your own with `port`, otherwise to that of Kubetorch: `Recreate` with more than one replica, whose "+
			"workers must all run the same version.",
			stringvalidator.OneOf(string(appsv1.RecreateDeploymentStrategyType),
				string(appsv1.RollingUpdateDeploymentStrategyType))),
		"termination_grace_period": tf.OptionalDuration("Time that a pod has to end after SIGTERM, in whole seconds, " +
			"such as `2m`. Defaults to the default of Kubernetes, `30s`."),
		"expose": exposeAttribute(),
		"pod_disruption_budget": tf.OptionalObject("Limit for evictions, such as those of a node that is drained: a "+
			"PodDisruptionBudget for the pods of the compute. Exactly one attribute must be set. A budget that "+
			"allows no eviction, such as `min_available = 1` with one replica, blocks the drain of a node. So do "+
			"`max_unavailable` and percentages for a RayCluster, Job, CronJob, JobSet, DaemonSet, Pod, TFJob, "+
			"XGBoostJob or MXJob, whose scale Kubernetes does not know: a warning of the plan states it.",
			map[string]schema.Attribute{
				"min_available": tf.OptionalText("Number or percentage of pods that must remain, such as `1` or `50%`.",
					tf.PodCount()),
				"max_unavailable": tf.OptionalText("Number or percentage of pods that may be missing.", tf.PodCount()),
			}),
	}
}

// exposeAttribute returns how clients outside of the cluster reach the compute.
func exposeAttribute() schema.Attribute {
	return tf.OptionalObject("Makes the Service reachable from outside of the cluster: with `gateway`, by a route of "+
		"the Gateway API, otherwise by an Ingress. An ingress controller or a Gateway must exist. DNS is not changed.",
		map[string]schema.Attribute{
			"hosts": tf.RequiredTexts("Host names, such as `llm.example.com` or `*.example.com`.",
				listvalidator.UniqueValues(), listvalidator.ValueStringsAre(tf.HostName())),
			"path": tf.OptionalText("Prefix of the paths that are routed, such as `/v1`. Defaults to `/`.",
				tf.URLPath()),
			"protocol": tf.OptionalText("Protocol of the server in the pods, `http` or `grpc` (without TLS). With "+
				"`grpc`, the port of the Service has the `appProtocol` `kubernetes.io/h2c`, and `gateway` uses a "+
				"GRPCRoute. Defaults to `http`.", stringvalidator.OneOf(manifest.ProtocolHTTP, manifest.ProtocolGRPC)),
			"annotations": tf.AnnotationMap("Annotations of the Ingress or the route, such as those that configure " +
				"an ingress controller."),
			"ingress_class_name": tf.OptionalText("Class of the Ingress. Defaults to the default class of the cluster.",
				tf.ObjectName()),
			"tls_secret_name": tf.OptionalText("Secret with the certificate of the Ingress (`tls.crt` and `tls.key`). "+
				"Without it, the Ingress uses HTTP.", tf.ObjectName()),
			"gateway": tf.OptionalObject("Gateway that has the route. Its listeners contain the certificates, and "+
				"must allow routes from the namespace of the compute.", map[string]schema.Attribute{
				"name": tf.RequiredText("Name of the Gateway.", tf.ObjectName()),
				"namespace": tf.OptionalText("Namespace of the Gateway. Defaults to that of the compute.",
					tf.NamespaceName()),
				"section_name": tf.OptionalText("Name of a listener of the Gateway, such as `https`. Defaults to "+
					"all.",
					tf.ObjectName()),
			}),
		})
}
