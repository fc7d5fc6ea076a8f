package protocol_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// withYAML returns a configuration with a manifest and other attributes, as JSON.
func withYAML(manifest string, attributes ...string) string {
	text, err := json.Marshal(manifest)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return "{" + strings.Join(append([]string{`"manifest": ` + string(text)}, attributes...), ", ") + "}"
}

// Minimal manifests.
const (
	deployment  = `{apiVersion: apps/v1, kind: Deployment}`
	statefulSet = `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}}`
	daemonSet   = `{apiVersion: apps/v1, kind: DaemonSet}`
	pod         = `{apiVersion: v1, kind: Pod}`
	job         = `{apiVersion: batch/v1, kind: Job}`
	cronJob     = `{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "0 3 * * *"}}`
	knative     = `{apiVersion: serving.knative.dev/v1, kind: Service}`
	rayCluster  = `{apiVersion: ray.io/v1, kind: RayCluster, spec: {workerGroupSpecs: [{groupName: w, replicas: 2}]}}`
	pyTorchJob  = `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Master: {},
        Worker: {replicas: 3}}}}`
	jobSet = `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet,
        spec: {replicatedJobs: [{name: w, replicas: 2}]}}`
	workflow = `{apiVersion: argoproj.io/v1alpha1, kind: Workflow, spec: {schedule: daily,
        templates: [{name: main, pod: {spec: {}}}]}}`
)

func badAutoscale() []badInput {
	cases := []badInput{
		{name: "min_scale above max_scale", config: `{"autoscale": {"min_scale": 5, "max_scale": 2}}`,
			at: "autoscale.min_scale", text: "autoscale.min_scale is 5, more than autoscale.max_scale, 2: decrease " +
				"the former or increase the latter."},
		{name: "min_scale above max_scale with an unknown window", config: `{"autoscale": {"min_scale": 5,
			"max_scale": 2, "window": "` + unknown + `"}}`,
			at: "autoscale.min_scale", text: "more than autoscale.max_scale, 2"},
		{name: "scale_down_delay of the HPA", config: `{"autoscale": {"autoscaler_class": "hpa.autoscaling.knative.dev",
			"scale_down_delay": "2m"}}`,
			at:   "autoscale.scale_down_delay",
			text: `is "2m", but only kpa.autoscaling.knative.dev supports it: remove it.`},
		{name: "extra annotation against an attribute", config: `{"autoscale": {"min_scale": 1,
			"extra_annotations": {"min-scale": "3"}}}`,
			at:   `autoscale.extra_annotations["min-scale"]`,
			text: `is "3", but autoscale.min_scale sets this annotation to "1": remove one of the two.`},
		{name: "extra annotation with its domain against an attribute", config: `{"autoscale": {"metric": "rps",
			"extra_annotations": {"autoscaling.knative.dev/metric": "concurrency"}}}`,
			at:   `autoscale.extra_annotations["autoscaling.knative.dev/metric"]`,
			text: `autoscale.metric sets this annotation to "rps"`},
		{name: "extra annotation against the deadline", config: `{"autoscale": {"progress_deadline": "20m",
			"extra_annotations": {"serving.knative.dev/progress-deadline": "5m"}}}`,
			at:   `autoscale.extra_annotations["serving.knative.dev/progress-deadline"]`,
			text: `autoscale.progress_deadline sets this annotation to "20m"`},
		{name: "null extra annotation", config: `{"autoscale": {"extra_annotations": {"min-scale": null}}}`,
			at: `autoscale.extra_annotations["min-scale"]`, text: "is null"},
		{name: "key of an extra annotation", config: `{"autoscale": {"extra_annotations": {"min scale": "1"}}}`,
			at: `autoscale.extra_annotations["min scale"]`, text: `is "min scale", but must be the key`},
		{name: "annotation against autoscale", config: `{"autoscale": {"min_scale": 1},
			"annotations": {"autoscaling.knative.dev/min-scale": "3"}}`,
			at:   "annotations",
			text: `annotations sets autoscaling.knative.dev/min-scale to "3", but it must be "1" here`},
	}
	for _, c := range []struct{ attribute, value, text string }{
		{"min_scale", `-1`, "must be between 0 and 2147483647, got: -1"},
		{"min_scale", `1.5`, "autoscale.min_scale is 1.5, but must be an integer."},
		{"max_scale", `2147483648`, "must be between 0 and 2147483647, got: 2147483648"},
		{"initial_scale", `-2`, "must be between 0 and 2147483647, got: -2"},
		{"target", `0`, "must be between 1 and 2147483647, got: 0"},
		{"target_utilization", `0`, "must be between 1 and 100, got: 0"},
		{"target_utilization", `101`, "must be between 1 and 100, got: 101"},
		{"target_utilization", `0.7`, "autoscale.target_utilization is 0.7, but must be an integer."},
		{"concurrency", `-1`, "must be between 0 and 2147483647, got: -1"},
		{"metric", `"cpu"`,
			`autoscale.metric is "cpu", but kpa.autoscaling.knative.dev supports only concurrency and rps: set ` +
				`autoscaler_class = "hpa.autoscaling.knative.dev"`},
		{"metric", `"memory"`, `set autoscaler_class = "hpa.autoscaling.knative.dev"`},
		{"metric", `""`, "string length must be at least 1, got: 0"},
		{"autoscaler_class", `"hpa"`,
			`must be one of: ["kpa.autoscaling.knative.dev" "hpa.autoscaling.knative.dev"], got: "hpa"`},
		{"window", `"2s"`, `autoscale.window is "2s", but Knative accepts 6s to 1h`},
		{"window", `"2h"`, `autoscale.window is "2h", but Knative accepts 6s to 1h`},
		{"window", `"6500ms"`,
			`autoscale.window is "6500ms", but Knative requires an integer number of seconds: use 7s.`},
		{"window", `"a minute"`, `is "a minute", which is not a duration`},
		{"scale_down_delay", `"61m"`, `autoscale.scale_down_delay is "61m", but Knative accepts 0s to 1h`},
		{"scale_down_delay", `"-1m"`, "must not be negative"},
		{"scale_to_zero_pod_retention_period", `"1d"`, `is "1d", but Knative accepts 0s to 1h`},
		{"scale_to_zero_pod_retention_period", `""`,
			"autoscale.scale_to_zero_pod_retention_period is empty: set a duration"},
		{"progress_deadline", `"0s"`, `autoscale.progress_deadline is "0s", but Knative accepts no less than 1s`},
		{"progress_deadline", `"500ms"`, "Knative requires an integer number of seconds: use 1s."},
	} {
		cases = append(cases, badInput{
			name:   "autoscale." + c.attribute + " " + c.value,
			config: fmt.Sprintf(`{"autoscale": {%q: %s}}`, c.attribute, c.value),
			at:     "autoscale." + c.attribute, text: c.text,
		})
	}
	return cases
}

func badDistribute() []badInput {
	cases := []badInput{
		{name: "quorum above the workers", config: `{"distribute": {"workers": 4, "quorum_workers": 5}}`,
			at: "distribute.quorum_workers",
			text: "distribute.quorum_workers is 5, but there are 4 workers: decrease it, or increase " +
				"distribute.workers."},
		{name: "quorum without workers", config: `{"distribute": {"quorum_workers": 2}}`,
			at: "distribute.quorum_workers", text: "is 2, but without distribute.workers there is one worker"},
		{name: "name too long for the headless Service", config: `{"name": "` + strings.Repeat("a", 55) +
			`", "distribute": {"workers": 2}}`, at: "name",
			text: "name has 55 characters, but a distributed compute also has a Service <name>-headless, and the " +
				"name of a Service can have at most 63: use a name of at most 54."},
		{name: "name too long for a RayCluster", config: `{"name": "` + strings.Repeat("a", 54) +
			`", "distribute": {"type": "ray"}}`, at: "name",
			text: "name has 54 characters, but the controller of a RayCluster accepts at most 53: use a shorter name."},
		{name: "name too long for a RayJob", config: withYAML(`{apiVersion: ray.io/v1, kind: RayJob,
			spec: {entrypoint: a,
			rayClusterSpec: {headGroupSpec: {template: {}}}}}`, `"name": "`+strings.Repeat("a", 48)+`"`), at: "name",
			text: "name has 48 characters, but the controller of a RayJob accepts at most 47: use a shorter name."},
		{name: "name of a worker group used twice", config: withYAML(`{apiVersion: ray.io/v1, kind: RayCluster, spec: {
			headGroupSpec: {template: {}}, workerGroupSpecs: [{groupName: a}, {groupName: a}]}}`), at: "manifest",
			text: "manifest has a second group a at spec.workerGroupSpecs[1].groupName, which would have the same " +
				"pods as the first: use another name."},
		{name: "version of Ray as a number",
			config: `{"distribute": {"type": "ray", "args": "{\"rayVersion\": 2.46}"}}`, at: "distribute.args",
			text: "distribute.args has 2.46 as rayVersion, which must be a string"},
	}
	for _, c := range []struct{ attribute, value, text string }{
		{"type", `"mpi"`, `must be one of: ["spmd" "pytorch" "jax" "tensorflow" "monarch" "ray"], got: "mpi"`},
		{"type", `"Ray"`, `got: "Ray"`},
		{"workers", `0`, "must be between 1 and 2147483647, got: 0"},
		{"workers", `-2`, "must be between 1 and 2147483647, got: -2"},
		{"workers", `2.5`, "distribute.workers is 2.5, but must be an integer."},
		{"quorum_workers", `0`, "must be between 1 and 2147483647, got: 0"},
		{"quorum_timeout", `"soon"`, `distribute.quorum_timeout is "soon", which is not a duration`},
		{"quorum_timeout", `"-5"`, "must not be negative"},
		{"args", `"[1, 2]"`, "distribute.args is a JSON value of the type list, but must be an object"},
		{"args", `"num_proc = 8"`, "not valid JSON"},
		{"args", `""`, "not valid JSON"},
		{"args", `"7"`, "is a JSON value of the type number"},
		{"args", `"{\"quorum_workers\": 2}"`,
			"distribute.args has quorum_workers, which is distribute.quorum_workers: set that attribute, and remove " +
				"the key from args."},
		{"args", `"{\"distribution_type\": \"ray\"}"`, "has distribution_type, which is distribute.type"},
	} {
		cases = append(cases, badInput{
			name:   "distribute." + c.attribute + " " + c.value,
			config: fmt.Sprintf(`{"distribute": {%q: %s}}`, c.attribute, c.value),
			at:     "distribute." + c.attribute, text: c.text,
		})
	}
	return cases
}

func badModes() []badInput {
	return []badInput{
		{name: "autoscale with distribute", config: `{"autoscale": {}, "distribute": {}}`, at: "distribute",
			text: "distribute and autoscale cannot both be set: a compute either has a fixed number of workers or is " +
				"scaled by its load. Remove one of the two."},
		{name: "autoscale with manifest", config: withYAML(deployment, `"autoscale": {"min_scale": 1}`),
			at: "manifest", text: "in manifest can have annotations of autoscaling.knative.dev"},
		{name: "autoscale with a manifest of Knative", config: withYAML(knative, `"autoscale": {}`), at: "manifest",
			text: "manifest and autoscale cannot both be set"},
		{name: "autoscale with replicas", config: `{"autoscale": {"max_scale": 4}, "replicas": 2}`, at: "replicas",
			text: "Knative controls the number of pods, from autoscale.min_scale to max_scale"},
		{name: "replicas with distribute", config: `{"distribute": {"workers": 4}, "replicas": 2}`, at: "replicas",
			text: "their number is distribute.workers. Remove one of the two"},
		{name: "replicas with workers that are unknown",
			config: `{"distribute": {"workers": "` + unknown + `"}, "replicas": 4}`, at: "replicas",
			text: "their number is distribute.workers"},
		{name: "Service that selects pods with autoscale",
			config: `{"autoscale": {}, "endpoint": {"selector": {"app": "x"}}}`, at: "endpoint.selector",
			text: "but Knative creates the Service of this compute: set endpoint.url"},
		{name: "Service that selects pods of a Knative manifest",
			config: withYAML(knative, `"endpoint": {"selector": {"app": "x"}}`), at: "endpoint.selector",
			text: "Knative creates the Service"},
		{name: "ray with a Deployment", config: withYAML(deployment, `"distribute": {"type": "ray"}`),
			at: "distribute.type",
			text: `distribute.type is "ray", but manifest has the mode deployment: use a RayCluster, or set another ` +
				`type.`},
		{name: "workers of a Knative manifest", config: withYAML(knative,
			`"distribute": {"type": "spmd", "workers": 2}`), at: "distribute", text: "distribute requires a fixed " +
			"number of workers, but manifest is a Knative"},
		{name: "workers against those of the manifest", config: withYAML(statefulSet, `"distribute": {"type": "spmd",
			"workers": 4}`),
			at: "distribute.workers", text: "distribute.workers requests 4 pods, but manifest runs 2 " +
				"(spec.replicas): use the same number, or remove one of the two."},
		{name: "workers of a DaemonSet", config: withYAML(daemonSet, `"distribute": {"type": "pytorch", "workers": 4}`),
			at: "distribute.workers", text: "the provider cannot set the number of pods of a DaemonSet"},
		{name: "replicas against those of the manifest", config: withYAML(statefulSet, `"replicas": 3`), at: "replicas",
			text: "replicas requests 3 pods, but manifest runs 2 (spec.replicas)"},
		{name: "replicas against the roles of a PyTorchJob", config: withYAML(pyTorchJob, `"replicas": 8`),
			at: "replicas", text: "replicas requests 8 pods, but manifest runs 4"},
		{name: "replicas against the workers of a RayCluster", config: withYAML(rayCluster, `"replicas": 2`),
			at: "replicas", text: "replicas requests 2 pods, but manifest runs 3"},
		{name: "replicas of a DaemonSet", config: withYAML(daemonSet, `"replicas": 3`), at: "replicas",
			text: "replicas requests 3 pods, but the provider cannot set the number of pods of a DaemonSet"},
		{name: "replicas of a Pod", config: withYAML(pod, `"replicas": 2`), at: "replicas",
			text: "the number of pods of a Pod"},
		{name: "replicas of a CronJob", config: withYAML(cronJob, `"replicas": 2`), at: "replicas",
			text: "the number of pods of a CronJob"},
		{name: "replicas of a Knative manifest", config: withYAML(knative, `"replicas": 2`), at: "replicas",
			text: "the number of pods of a Service"},
		{name: "replicas of an unknown kind", config: withYAML(workflow, `"pod_template_path": "spec.templates.0.pod"`,
			`"replicas": 2`), at: "replicas", text: "the number of pods of a Workflow"},
		{name: "negative replicas with a manifest", config: withYAML(statefulSet, `"replicas": -1`), at: "replicas",
			text: "must be between 0 and 2147483647, got: -1"},
		{name: "job of no pods", config: `{"command": ["train"], "job": {}, "replicas": 0}`, at: "replicas",
			text: "replicas is 0, but a Job of no pods is complete at once: set at least 1. To run none, set " +
				"suspend = true."},
		{name: "Job of no pods", config: withYAML(job, `"replicas": 0`), at: "replicas",
			text: "replicas requests 0 pods, but the Job in manifest has at least 1: use a larger number, or set " +
				"suspend = true."},
		{name: "JobSet of no pods", config: withYAML(jobSet, `"replicas": 0`), at: "replicas",
			text: "replicas requests 0 pods, but the JobSet in manifest has at least 2: use"},
		{name: "Service of a job without a port", config: `{"command": ["train"], "job": {}, "service": {}}`,
			at: "service", text: "service applies to the Service, but a Job without port has none: set port too, or " +
				"remove it."},
		{name: "selector of a job without a port", config: `{"command": ["train"], "job": {}, "endpoint": {"selector":
			{"app": "x"}}}`, at: "endpoint.selector", text: "but a Job without port has none"},
		{name: "suspended Pod", config: withYAML(pod, `"suspend": true`), at: "suspend",
			text: "suspend is true, but the provider cannot suspend a Pod"},
		{name: "suspended kind that is unknown", config: withYAML(workflow,
			`"pod_template_path": "spec.templates.0.pod"`,
			`"suspend": true`), at: "suspend", text: "the provider cannot suspend a Workflow"},
		{name: "scheduler without a queue for a manifest", config: withYAML(job, `"queue_scheduler": "kai"`),
			at: "queue_scheduler", text: "set queue_name too"},
		{name: "gpu_memory with gpus for a manifest", config: withYAML(job, `"gpus": 1`, `"gpu_memory": "4Gi"`),
			at: "gpu_memory", text: "set only one of the two"},
	}
}

func badManifests() []badInput {
	cases := []badInput{}
	for manifest, text := range map[string]string{
		``:                  "manifest contains no object: specify a manifest with apiVersion, kind and spec",
		`# to be done`:      "manifest contains no object",
		`a Deployment`:      "manifest contains no object",
		`[{kind: Pod}]`:     "manifest contains no object",
		`kind: [`:           "manifest is not valid YAML",
		`{"kind": "Pod"`:    "manifest is not valid YAML",
		"a: 1\na: 2":        `key "a" already set in map`,
		"kind:\tPod\n\t- x": "manifest is not valid YAML",
		"apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Pod": "manifest contains more than one YAML document, " +
			"but a compute is one workload: use separate resources for the others",
		`{}`:                                   "manifest has no apiVersion or no kind of a workload: set both.",
		`{kind: Deployment}`:                   "has no apiVersion or no kind",
		`{apiVersion: apps/v1}`:                "has no apiVersion or no kind",
		`{apiVersion: apps/v1, kind: 7}`:       "has no apiVersion or no kind",
		`{apiVersion: apps/v1/x, kind: Thing}`: "has no apiVersion or no kind",
		`{apiVersion: apps/v1beta1, kind: Deployment}`: "manifest is a Deployment of apps/v1beta1: use the one of " +
			"apps/v1.",
		`{apiVersion: v1, kind: Deployment}`: "manifest is a Deployment of v1, which the provider does not support " +
			"by name: set pod_template_path to the path of its pod template.",
		`{apiVersion: v1, kind: ConfigMap}`: "manifest is a ConfigMap of v1, which the provider does not support by " +
			"name",
		workflow: "manifest is a Workflow of argoproj.io/v1alpha1, which the provider does not support by name",
		`{apiVersion: apps/v1, kind: Deployment, status: {replicas: 1}}`: "manifest sets status, which only the " +
			"cluster can set: remove it.",
		`{apiVersion: apps/v1, kind: Deployment, metadata: {uid: "1"}}`: "manifest sets metadata.uid, which only " +
			"the cluster can set",
		`{apiVersion: apps/v1, kind: Deployment,
            metadata: {resourceVersion: "1"}}`: "manifest sets metadata.resourceVersion",
		`{apiVersion: apps/v1, kind: Deployment,
            metadata: {generateName: x-}}`: "manifest sets metadata.generateName",
		`{apiVersion: apps/v1, kind: Deployment, metadata: {labels: trainer}}`: "manifest has a value that is not a " +
			"map at metadata.labels or at a parent of it",
		`{apiVersion: apps/v1, kind: Deployment,
            spec: {template: {spec: {containers: {}}}}}`: "manifest has no list at spec.template.spec.containers.",
		`{apiVersion: kubeflow.org/v1, kind: PyTorchJob}`: "manifest is a PyTorchJob without pods: add at least one " +
			"pod template.",
		`{apiVersion: kubeflow.org/v1, kind: PyTorchJob,
            spec: {pytorchReplicaSpecs: {Master: {template: {spec: 1}}}}}`: "manifest has a value that is not a map " +
			"at spec.pytorchReplicaSpecs.Master.template.spec",
		`{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet,
            spec: {replicatedJobs: []}}`: "manifest is a JobSet without pods",
	} {
		cases = append(cases, badInput{name: "manifest " + manifest, config: withYAML(manifest), at: "manifest",
			text: text})
	}
	return cases
}

func badIdentityOfManifests() []badInput {
	of := func(metadata string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: ` + metadata + `}`
	}
	return []badInput{
		{name: "manifest of another name", config: withYAML(of(`{name: other}`)), at: "manifest",
			text: "manifest sets metadata.name to other, but it must be trainer here: it is the name of the compute. " +
				"Remove it."},
		{name: "manifest of another namespace", config: withYAML(of(`{namespace: other}`), `"namespace": "ml"`),
			at: "manifest", text: "manifest sets metadata.namespace to other, but it must be ml here"},
		{name: "manifest and template of two namespaces", config: withYAML(of(`{namespace: ml}`),
			`"service_template": "{\"metadata\": {\"namespace\": \"other\"}}"`), at: "service_template",
			text: "changes metadata.namespace"},
		{name: "manifest of another compute", config: withYAML(of(`{labels: {kubetorch.com/service: other}}`)),
			at: "manifest", text: "manifest sets metadata.labels.kubetorch.com/service to other, but it must be " +
				"trainer here"},
		{name: "manifest of another manager", config: withYAML(of(`{labels: {app.kubernetes.io/managed-by: Helm}}`)),
			at: "manifest", text: "the provider finds its objects with it"},
		{name: "manifest of another queue", config: withYAML(of(`{labels: {kueue.x-k8s.io/queue-name: b}}`),
			`"queue_name": "a"`), at: "manifest", text: "to b, but it must be a here: it is set from queue_name. " +
			"Remove it."},
		{name: "manifest that does not select its pods", config: withYAML(`{apiVersion: apps/v1, kind: Deployment,
            spec: {selector: {matchLabels: {tier: a}}, template: {metadata: {labels: {tier: b}}}}}`),
			at: "manifest", text: "spec.template.metadata.labels.tier to b, but it must be a here: spec.selector " +
				"selects the pods with it"},
		{name: "label of the template of a manifest", config: withYAML(deployment,
			`"labels": {"kubetorch.com/template": "ksvc"}`), at: "labels", text: `it must be "deployment" here`},
	}
}

func badManifestOnly() []badInput {
	return []badInput{
		{name: "manifest_only without a manifest", config: `{"manifest_only": true}`, at: "manifest_only",
			text: "set manifest too, or remove manifest_only"},
		{name: "manifest_only with labels", config: withYAML(deployment,
			`"manifest_only": true, "labels": {"team": "ml"}`), at: "labels",
			text: "cannot be set together with manifest_only, with which nothing is added to manifest"},
		{name: "manifest_only with an image", config: withYAML(deployment, `"manifest_only": true, "image": "a:1"`),
			at: "image", text: "cannot be set together with manifest_only"},
		{name: "manifest_only with a queue", config: withYAML(deployment, `"manifest_only": true, "queue_name": "q"`),
			at: "queue_name", text: "cannot be set together with manifest_only"},
	}
}

func badPodTemplatePaths() []badInput {
	return []badInput{
		{name: "pod_template_path without a manifest", config: `{"pod_template_path": "spec.template"}`,
			at: "pod_template_path", text: "set manifest too, or remove pod_template_path"},
		{name: "pod_template_path to nothing", config: withYAML(workflow,
			`"pod_template_path": "spec.podTemplate.pod"`), at: "pod_template_path",
			text: "pod_template_path is spec.podTemplate.pod, but manifest has no object at " +
				"spec.podTemplate: set the path of its pod template"},
		{name: "pod_template_path to no object", config: withYAML(workflow, `"pod_template_path": "spec.schedule"`),
			at: "pod_template_path", text: "manifest has no object at spec.schedule"},
		{name: "pod_template_path through a text", config: withYAML(workflow,
			`"pod_template_path": "spec.schedule.template"`), at: "pod_template_path",
			text: "manifest has no object at spec.schedule.template"},
		{name: "pod_template_path to a list", config: withYAML(workflow, `"pod_template_path": "spec.templates"`),
			at: "pod_template_path", text: "manifest has no object at spec.templates"},
		{name: "pod_template_path past the end of a list",
			config: withYAML(workflow, `"pod_template_path": "spec.templates.1.pod"`), at: "pod_template_path",
			text: "manifest has no object at spec.templates.1"},
		{name: "empty pod_template_path", config: withYAML(workflow, `"pod_template_path": ""`),
			at: "pod_template_path", text: "which is not a valid field path"},
		{name: "pod_template_path as JSONPath", config: withYAML(workflow, `"pod_template_path": ".spec.template"`),
			at: "pod_template_path",
			text: `pod_template_path is ".spec.template", which is not a valid field path: separate the field names ` +
				`with dots`},
		{name: "pod_template_path against a kind that is known",
			config: withYAML(job, `"pod_template_path": "spec.jobTemplate"`), at: "pod_template_path",
			text: "pod_template_path is spec.jobTemplate, but the provider knows the pod template path of a Job: " +
				"remove it."},
	}
}

func badSelectors() []badInput {
	cases := []badInput{
		{name: "selector that selects all", config: `{"selector": {}}`, at: "selector",
			text: "must contain at least 1 elements, got: 0"},
		{name: "selector with a bad value", config: `{"selector": {"app": "my app"}}`, at: `selector["app"]`,
			text: `selector["app"] is "my app", but must be the value of a label`},
		{name: "selector with a bad key", config: `{"selector": {"my app": "x"}}`, at: `selector["my app"]`,
			text: `a key of selector is "my app"`},
		{name: "selector with a null", config: `{"selector": {"app": null}}`, at: `selector["app"]`, text: "is null"},
	}
	for attribute, value := range map[string]string{
		"autoscale": `{}`, "distribute": `{}`, "replicas": `2`, "cpus": `"1"`, "memory": `"1Gi"`, "disk_size": `"1Gi"`,
		"gpus": `1`, "gpu_type": `"L4"`, "gpu_memory": `"4Gi"`, "gpu_anti_affinity": `true`,
		"shared_memory_limit": `"1Gi"`,
		"node_selector":       `{"a": "b"}`, "tolerations": `[{"operator": "Exists"}]`,
		"service_account_name": `"robot"`,
		"priority_class_name":  `"high"`,
		"runtime_class_name":   `"gvisor"`,
		"image":                `"pytorch"`,
		"image_ref":            `{"image": "pytorch", "setup": {"config_map": "c", "digest": "d"}}`,
		"image_pull_policy":    `"Always"`,
		"image_pull_secrets":   `["registry"]`,
		"working_dir":          `"/app"`,
		"env_vars":             `{"A": "b"}`, "secrets": `[{"name": "hf", "mount_path": "/hf"}]`,
		"volumes":         `[{"claim_name": "c", "mount_path": "/c"}]`,
		"init_containers": `[{"name": "a", "image": "a:1"}]`, "sidecars": `[{"name": "a", "image": "a:1"}]`,
		"security_context": `{"run_as_user": 1}`, "host_network": `true`, "restart_triggers": `{"a": "b"}`,
		"config_maps": `[{"name": "c", "mount_path": "/c"}]`, "env_from": `[{"secret": "s"}]`,
		"queue_name": `"q"`, "service_template": `"{\"spec\": {}}"`, "freeze": `true`, "suspend": `true`,
	} {
		cases = append(cases, badInput{
			name: "selector alone with " + attribute, config: fmt.Sprintf(`{"selector": {"app": "x"}, %q: %s}`,
				attribute, value), at: attribute,
			text: attribute + " configures a workload, but with selector alone the pods already exist and no " +
				"workload is created: remove it, or specify the workload in manifest.",
		})
	}
	return cases
}
