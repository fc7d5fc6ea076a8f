package compute

import (
	"maps"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// autoscaleAttributes returns the attributes of all scalers.
func autoscaleAttributes() map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{
		"scaler": tf.OptionalText("Autoscaler: `knative` runs the compute as a Knative Service, `hpa` adds a "+
			"HorizontalPodAutoscaler, and `keda` a ScaledObject of KEDA. With `hpa` and `keda`, the workload is a "+
			"Deployment, or a Deployment, StatefulSet, ReplicaSet or LeaderWorkerSet in `manifest`, whose "+
			"`spec.replicas` the provider does not set. Defaults to `knative`. A change between `knative` and the "+
			"others replaces the compute. Attributes that name no scaler are those of `knative`.",
			stringvalidator.OneOf(manifest.ScalerKnative, manifest.ScalerHPA, manifest.ScalerKEDA)),
		"min_scale": atLeast(0, "Minimum number of pods. Defaults to the default of the scaler: `1` of `hpa`, `0` of "+
			"`keda`. `0` allows scaling to zero. With `hpa`, this requires an `object` or `external` metric, and the "+
			"feature gate `HPAScaleToZero` of Kubernetes, which is disabled by default up to Kubernetes 1.36. For a "+
			"LeaderWorkerSet, the number of groups."),
		"max_scale": atLeast(0, "Maximum number of pods. Required with `hpa`. With `keda`, defaults to `100`. With "+
			"`knative`, `0` means no limit, and it defaults to the default of Knative."),
	}
	maps.Copy(attributes, knativeAttributes())
	maps.Copy(attributes, hpaAttributes())
	maps.Copy(attributes, kedaAttributes())
	return attributes
}

// atLeast returns an optional integer of 32 bits.
func atLeast(minimum int64, description string) schema.Attribute {
	return tf.OptionalInteger(description, int64validator.Between(minimum, math.MaxInt32))
}

// count returns a required integer from 1.
func count(maximum int64, description string) schema.Attribute {
	return tf.RequiredInteger(description, int64validator.Between(1, maximum))
}

func hpaAttributes() map[string]schema.Attribute {
	target := func(description string, attributes tf.Attributes) schema.Attribute {
		return tf.RequiredObject("Value that the autoscaler aims for."+description, attributes)
	}
	const oneOf = " Exactly one attribute must be set."
	total := func() schema.Attribute {
		return target(oneOf, tf.Attributes{
			"value":         tf.OptionalQuantity("Value of the metric, which does not depend on the number of pods."),
			"average_value": tf.OptionalQuantity("Value of the metric divided by the number of pods."),
		})
	}
	metric := func() schema.Attribute {
		return tf.RequiredObject("Metric.", tf.Attributes{
			"name": tf.RequiredText("Name of the metric.", stringvalidator.LengthAtLeast(1)),
			"selector": tf.OptionalObject("Selector of the series of the metric.", tf.Attributes{
				"match_labels": tf.OptionalTextMap("Labels of the series.", tf.NoNulls()),
			}),
		})
	}
	name := func(noun string) schema.Attribute {
		return tf.RequiredText("Name of the "+noun+".", stringvalidator.LengthAtLeast(1))
	}
	described := tf.RequiredObject("Object that the metric is about.", tf.Attributes{
		"api_version": tf.OptionalText("Version of the API of the object.", stringvalidator.LengthAtLeast(1)),
		"kind":        name("kind of the object"),
		"name":        name("object"),
	})
	return map[string]schema.Attribute{
		"metrics": tf.OptionalObjects("Only with `hpa`: metrics as in `spec.metrics` of a HorizontalPodAutoscaler. "+
			"The autoscaler uses the one that requires the most pods. Exactly one attribute of each must be set.",
			map[string]schema.Attribute{
				"resource": tf.OptionalObject("Resource usage of the pods, from metrics-server.",
					tf.Attributes{"name": tf.RequiredText("Name of the resource, `cpu` or `memory`.",
						stringvalidator.OneOf("cpu", "memory")), "target": target(oneOf, tf.Attributes{
						"average_utilization": atLeast(1, "Average usage in percent of requests, which must be set."),
						"average_value":       tf.OptionalQuantity("Average usage of the pods, such as `500m`."),
					})}),
				"pods": tf.OptionalObject("Metric of the pods in the custom metrics API, such as that of "+
					"prometheus-adapter.", tf.Attributes{"metric": metric(), "target": target("",
					tf.Attributes{"average_value": tf.RequiredQuantity("Average over the pods, such as `10`.")})}),
				"object": tf.OptionalObject("Metric of another object in the custom metrics API.",
					tf.Attributes{"described_object": described, "metric": metric(), "target": total()}),
				"external": tf.OptionalObject("Metric of the external metrics API, such as the length of a queue.",
					tf.Attributes{"metric": metric(), "target": total()}),
			}, listvalidator.SizeAtLeast(1)),
		"behavior": tf.OptionalObject("Only with `hpa` and `keda`: how fast pods are added and removed, as in "+
			"`spec.behavior` of a HorizontalPodAutoscaler. Defaults to the default of Kubernetes.",
			tf.Attributes{"scale_up": scalingRules("added"), "scale_down": scalingRules("removed")}),
	}
}

// scalingRules returns the rules of one direction.
func scalingRules(done string) schema.Attribute {
	return tf.OptionalObject("How pods are "+done+".", tf.Attributes{
		"stabilization_window_seconds": tf.OptionalInteger("Time in seconds whose recommendations are considered, "+
			"up to 3600.", int64validator.Between(0, 3600)),
		"select_policy": tf.OptionalText("Policy that is used: `Max`, `Min`, or `Disabled`, so that no pods are "+
			done+".", stringvalidator.OneOf(string(autoscalingv2.MaxChangePolicySelect),
			string(autoscalingv2.MinChangePolicySelect), string(autoscalingv2.DisabledPolicySelect))),
		"policies": tf.OptionalObjects("Limits of the change.", tf.Attributes{
			"type": tf.RequiredText("Unit of `value`, `Pods` or `Percent`.", stringvalidator.OneOf(
				string(autoscalingv2.PodsScalingPolicy), string(autoscalingv2.PercentScalingPolicy))),
			"value":          count(math.MaxInt32, "Largest change in `period_seconds`."),
			"period_seconds": count(1800, "Time in seconds, up to 1800."),
		}, listvalidator.SizeAtLeast(1)),
	})
}

func kedaAttributes() map[string]schema.Attribute {
	only := func(description string) string { return "Only with `keda`: " + description }
	return map[string]schema.Attribute{
		"triggers": tf.OptionalObjects(only("what the number of pods depends on, as in `spec.triggers` of a "+
			"ScaledObject. Values of secrets belong in a TriggerAuthentication."), tf.Attributes{
			"type": tf.RequiredText("Type of the [scaler](https://keda.sh/docs/latest/scalers/), such as "+
				"`prometheus`.", stringvalidator.LengthAtLeast(1)),
			"name": tf.OptionalText("Name of the trigger, which is unique in the list.",
				stringvalidator.LengthAtLeast(1)),
			"metadata": schema.MapAttribute{Required: true, ElementType: types.StringType,
				MarkdownDescription: "Settings of the type.", Validators: []validator.Map{tf.NoNulls()}},
			"metric_type": tf.OptionalText("Type of the target of the metric: `AverageValue`, `Value` or "+
				"`Utilization`. Defaults to the default of KEDA.", stringvalidator.OneOf(
				string(autoscalingv2.AverageValueMetricType), string(autoscalingv2.ValueMetricType),
				string(autoscalingv2.UtilizationMetricType))),
			"authentication_ref": tf.OptionalObject("Credentials of the trigger.", tf.Attributes{
				"name": tf.RequiredText("Name of the TriggerAuthentication.", tf.ObjectName()),
				"kind": tf.OptionalText("Kind, `TriggerAuthentication` or `ClusterTriggerAuthentication`. Defaults to "+
					"the former.", stringvalidator.OneOf("TriggerAuthentication", "ClusterTriggerAuthentication")),
			}),
		}, listvalidator.SizeAtLeast(1)),
		"polling_interval": tf.OptionalDuration(only("time between two polls of the triggers, in whole seconds. " +
			"Defaults to the default of KEDA, `30s`.")),
		"cooldown_period": tf.OptionalDuration(only("time without an active trigger after which the compute is " +
			"scaled to zero, in whole seconds. Defaults to the default of KEDA, `5m`.")),
	}
}

// knativeAttributes returns the attributes of Knative alone.
func knativeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"initial_scale": atLeast(0,
			"Number of pods after a change, before the load is measured. Defaults to the default of Knative, `1`."),
		"target": atLeast(1, "Target load of each pod, in the unit of `metric`."),
		"target_utilization": tf.OptionalInteger("Percentage of `target` at which pods are added, from 1 to 100. "+
			"Defaults to the default of Knative, `70`.", int64validator.Between(1, 100)),
		"metric": tf.OptionalText("Metric of the load: `concurrency`, `rps`, `cpu`, `memory` or a custom metric. "+
			"Knative defaults to `concurrency`. `cpu` and `memory` require `autoscaler_class = "+
			"\"hpa.autoscaling.knative.dev\"`.", stringvalidator.LengthAtLeast(1)),
		"window": tf.OptionalDuration("Time over which the load is averaged, from `6s` to `1h`. Defaults " +
			"to the default of Knative, `60s`."),
		"concurrency": atLeast(0,
			"Maximum number of concurrent requests of one pod (`containerConcurrency`). Defaults to `0`, which means "+
				"no limit."),
		"scale_down_delay": tf.OptionalDuration("Duration of a lower load after which pods are removed. Defaults " +
			"to `1m`."),
		"scale_to_zero_pod_retention_period": tf.OptionalDuration("Duration for which the last pod is kept before " +
			"scaling to zero. Defaults to `10m`."),
		"autoscaler_class": tf.OptionalText("Autoscaler, `kpa.autoscaling.knative.dev` or "+
			"`hpa.autoscaling.knative.dev`. Knative defaults to `kpa.autoscaling.knative.dev`.",
			stringvalidator.OneOf(kind.KPAClass, kind.HPAClass)),
		"progress_deadline": tf.OptionalDuration("Maximum time for a revision to become ready. Defaults to the " +
			"longest of `10m`, `launch_timeout` plus one minute, and 1.2 times `launch_timeout`."),
		"extra_annotations": tf.AnnotationMap("Additional annotations of the pod template, for Knative."),
	}
}
