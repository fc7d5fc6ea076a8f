package protocol_test

import "fmt"

// scaled returns a configuration of a server with an autoscaler, as JSON.
func scaled(scaler, attributes string) string {
	return fmt.Sprintf(`{"command": ["serve"], "autoscale": {"scaler": %q, "max_scale": 4, %s}}`, scaler, attributes)
}

// The messages of KEDA name the type of the trigger, and not its place.
func badScalers() []badInput {
	triggers := func(items string) string { return scaled("keda", `"triggers": [`+items+`]`) }
	const first, cron = "autoscale.triggers[0]", `"type": "cron", "metadata": {"timezone": "Etc/UTC"}`
	return []badInput{
		{name: "trigger without a type", config: triggers(`{"metadata": {"a": "b"}}`), at: first + ".type",
			text: "Must set a configuration value"},
		{name: "trigger with an empty type", config: triggers(`{"type": "", "metadata": {"a": "b"}}`),
			at: first + ".type", text: "string length must be at least 1"},
		{name: "trigger without settings", config: triggers(`{"type": "cron", "metadata": {}}`),
			at:   first + ".metadata",
			text: "autoscale.triggers[0].metadata is empty, but KEDA requires the settings of the trigger in it"},
		{name: "second trigger without settings", config: triggers(`{` + cron + `}, {"type": "cron", "metadata": {}}`),
			at: "autoscale.triggers[1].metadata", text: "set those of its type"},
		{name: "trigger without metadata", config: triggers(`{"type": "cron"}`), at: first + ".metadata",
			text: "Must set a configuration value"},
		{name: "triggers with the same name", config: triggers(`{"name": "a", ` + cron + `}, {"name": "a", ` + cron +
			`}`), at: "autoscale.triggers[1].name", text: "autoscale.triggers[1].name and " + first +
			`.name are both "a": use another name.`},
		{name: "utilization of an external metric", config: triggers(`{"metric_type": "Utilization", ` + cron + `}`),
			at: first + ".metric_type", text: `must be "AverageValue" or "Value" in a trigger of the type cron`},
		{name: "usage without the type of its metric", config: scaled("keda", `"min_scale": 1,
			"triggers": [{"type": "cpu", "metadata": {"value": "50"}}]`), at: first + ".metric_type",
			text: `must be "AverageValue" or "Utilization" in a trigger of the type cpu: set one of the two.`},
		{name: "usage of no pods", config: triggers(`{"type": "memory", "metric_type": "AverageValue",
			"metadata": {"value": "1Gi"}}`), at: "autoscale.min_scale", text: "add a trigger of another type, or set " +
			"at least 1"},
		{name: "usage of zero pods", config: scaled("keda", `"min_scale": 0, "triggers": [{"type": "cpu",
			"metric_type": "Utilization", "metadata": {"value": "50"}}]`), at: "autoscale.min_scale",
			text: "autoscale.min_scale is 0, the default of KEDA, but the CPU and memory of pods cannot be measured"},
		{name: "polls without an interval", config: scaled("keda", `"polling_interval": "0s",
			"triggers": [{`+cron+`}]`), at: "autoscale.polling_interval",
			text: "autoscale.polling_interval is zero: set at least 1s"},
		{name: "usage of GPUs", config: scaled("hpa", `"metrics": [{"resource": {"name": "nvidia.com/gpu",
			"target": {"average_value": "1"}}}]`), at: "autoscale.metrics[0].resource.name",
			text: `must be one of: ["cpu" "memory"], got: "nvidia.com/gpu"`},
		{name: "usage of Memory", config: scaled("hpa", `"metrics": [{"resource": {"name": "Memory",
			"target": {"average_value": "1Gi"}}}]`), at: "autoscale.metrics[0].resource.name",
			text: `must be one of: ["cpu" "memory"], got: "Memory"`},
		{name: "metric of pods without a target", config: scaled("hpa", `"metrics": [{"pods": {"metric": {"name": "a"},
			"target": {}}}]`), at: "autoscale.metrics[0].pods.target.average_value",
			text: "Must set a configuration value"},
		{name: "external metric without a target", config: scaled("hpa", `"metrics": [{"external": {"metric":
			{"name": "a"}, "target": {}}}]`), at: "autoscale.metrics[0].external.target",
			text: "must have exactly one of average_value, value, but has none"},
		{name: "autoscaler of a job", config: `{"command": ["train"], "job": {}, "autoscale": {"scaler": "hpa",
			"max_scale": 4, "metrics": [{"external": {"metric": {"name": "a"}, "target": {"value": "1"}}}]}}`,
			at: "job", text: "job and autoscale cannot both be set"},
		{name: "autoscaler of a Job", config: withYAML(job, `"autoscale": {"scaler": "hpa", "max_scale": 4,
			"metrics": [{"external": {"metric": {"name": "a"}, "target": {"value": "1"}}}]}`), at: "autoscale",
			text: "changes the number of pods of a Deployment, StatefulSet, ReplicaSet or LeaderWorkerSet, but the " +
				"workload is a Job: remove autoscale, or use one of these kinds."},
	}
}
