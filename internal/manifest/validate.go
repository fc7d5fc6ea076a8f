package manifest

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Validate returns all problems of a configured compute of which some attributes are unknown yet, and zero in c. A
// rule says nothing
// about an attribute that is unknown, nor while another one that it depends on is.
func Validate(c Compute, unknown func(Path) bool) Errors {
	errs := validate(c)
	validateConfiguration(c, &errs)
	if len(errs) > 0 {
		return errs.known(unknown)
	}
	if slices.ContainsFunc(append(modeAttributes(), At("name")), unknown) {
		return nil // there is no telling what is rendered
	}
	_, err := renderObjects(c)
	found, _ := errors.AsType[Errors](err)
	return found.known(unknown)
}

// modeAttributes decide what kind of workload runs the pods.
func modeAttributes() []Path {
	return []Path{
		At("autoscale"), At("distribute"), At("distribute", Name("type")), At("manifest"), At("pod_template_path"),
		At("runtime"), At("selector"),
	}
}

// validate finds what no object can be rendered from, or only one that silently leaves out part of what was asked for.
// Whether single values are well formed is the schema's to check, and the API server's.
func validate(c Compute) Errors {
	var errs Errors
	if c.Name == "" {
		errs.add("name", "is empty: set the name of the compute.")
	}
	if c.Namespace == "" {
		errs.add("namespace", "is empty: set the namespace of the compute.")
	}
	validateGPUs(c, &errs)
	validateLabels(c, &errs)
	validateAnnotations(c, &errs)
	validateSecrets(c, &errs)
	validateMounts(c, &errs)
	validateAutoscale(c, &errs)
	validateDistribute(c, &errs)
	if conflicts := validateRuntime(c); len(conflicts) > 0 {
		return append(errs, conflicts...)
	}
	validateModes(c, &errs)
	return errs
}

// validateConfiguration finds what is a mistake in a configuration, and can be rendered nevertheless: what was
// observed in
// a cluster may be like this.
func validateConfiguration(c Compute, errs *Errors) {
	validateScheduling(c, errs)
	if c.Distribute != nil {
		validateArgs(c.Distribute, errs)
	}
	if RunsTensorServer(c.Runtime) {
		return
	}
	if c.Manifest != nil && c.Autoscale != nil {
		errs.mutuallyExclusive("manifest", "autoscale", "manifest is the workload, and autoscale creates a Knative "+
			"Service; a Knative Service in manifest can have annotations of autoscaling.knative.dev")
	}
	if d := c.Distribute; d != nil && d.Workers == 0 && c.ReplicasGiven && c.Replicas != 1 {
		errs.mutuallyExclusive("replicas", "distribute", "their number is distribute.workers")
	}
	validatePodless(c, errs)
	validatePodTemplatePath(c, errs)
}

const conflict = "Conflicting attributes"

func validateGPUs(c Compute, errs *Errors) {
	if c.GPUMemory != nil {
		if c.GPUs > 0 {
			errs.add("gpu_memory", "requests a share of one GPU, but gpus requests %d complete ones, which KAI "+
				"rejects: set only one of the two.", c.GPUs)
		}
		if c.GPUMemory.Sign() <= 0 {
			errs.add("gpu_memory", "is %s, but must be more than zero: set a size such as \"4Gi\".", c.GPUMemory)
		}
	}
	key, value, err := ParseGPUType(c.GPUType)
	if err != nil {
		return // not set, or for the schema to report
	}
	if selected, ok := c.NodeSelector[key]; ok && selected != value {
		errs.add("gpu_type", "selects nodes with %s=%s, but node_selector selects %s=%s: set only one of the two.", key,
			value, key, selected).
			concerning(At("node_selector", Entry(key)))
	}
}

// validateScheduling finds settings that contradict each other. The rules for tolerations are Kubernetes' own
// (https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
func validateScheduling(c Compute, errs *Errors) {
	if c.GPUAntiAffinity && c.isSet("gpu_anti_affinity") && wantsGPU(c) {
		errs.report(At("gpu_anti_affinity"), conflict,
			"gpu_anti_affinity keeps the pods off GPU nodes, but gpus or gpu_memory requests GPUs: remove one of "+
				"the two.")
	}
	if c.QueueScheduler == QueueSchedulerKAI && c.QueueName == "" { // the other is the default
		errs.report(At("queue_scheduler"), "Missing queue_name",
			"queue_scheduler selects the scheduler of queue_name: set queue_name too, or remove queue_scheduler.").
			concerning(At("queue_name"))
	}
	for i, t := range c.Tolerations {
		at := At("tolerations", Index(i))
		refuse := func(attribute, format string) {
			errs.report(at.At(Name(attribute)), "Invalid toleration", "%s "+format, at).
				concerning(at.At(Name("key")), at.At(Name("operator")), at.At(Name("effect")))
		}
		exists := t.Operator == "Exists"
		if exists && t.Value != "" {
			refuse("value", "has a value, but its operator Exists tolerates every value of the taint: remove value, "+
				"or use Equal.")
		}
		if !exists && t.Key == "" {
			refuse("key", "has no key, but only the operator Exists works without a key, for every taint: set a "+
				"key, or operator = "+
				"\"Exists\".")
		}
		if t.TolerationSeconds != nil && t.Effect != "NoExecute" {
			refuse("toleration_seconds", "has toleration_seconds, which requires the effect NoExecute, the only one "+
				"that evicts pods: set effect = \"NoExecute\", or remove toleration_seconds.")
		}
	}
}

// validateLabels refuses labels that would take the identity of the workload
// from it. One that says what ours says is no conflict.
func validateLabels(c Compute, errs *Errors) {
	ours := union(identity(c), operatorLabels(c), map[string]string{kind.TemplateLabel: kindOf(c).Template,
		kind.ManagedByLabel: kind.ManagedByValue})
	for _, given := range givenMaps(c.DefaultLabels, c.Labels, "labels") {
		refuseOthers(c, given, union(ours, queueLabels(c)), errs)
	}
}

func validateAnnotations(c Compute, errs *Errors) {
	ours := union(autoscaleAnnotations(c), workloadAnnotations(c), gpuMemoryAnnotation(c))
	for _, given := range givenMaps(c.DefaultAnnotations, c.Annotations, "annotations") {
		refuseOthers(c, given, ours, errs)
	}
}

type givenMap struct {
	attribute, where string
	entries          map[string]string
}

func givenMaps(ofProvider, own map[string]string, attribute string) []givenMap {
	return []givenMap{
		{attribute: attribute, where: "the provider's default_" + attribute, entries: ofProvider},
		{attribute: attribute, where: attribute, entries: own},
	}
}

func refuseOthers(c Compute, given givenMap, ours map[string]string, errs *Errors) {
	for _, key := range slices.Sorted(maps.Keys(given.entries)) {
		if want, ok := ours[key]; ok && given.entries[key] != want {
			errs.report(At(given.attribute), "Invalid "+given.attribute,
				"%s sets %s to %q, but it must be %q here: %s. Remove it.",
				given.where, key, given.entries[key], want, reasonFor(key, "the provider sets it")).
				concerning(append(decidedBy(key, c), At(given.attribute, Entry(key)))...)
		}
	}
}

// decidedBy lists the attributes that decide the value of a label or annotation of ours.
func decidedBy(key string, c Compute) []Path {
	switch key {
	case kind.ServiceLabel, kind.OperatorInstanceLabel:
		return []Path{At("name"), At("runtime")}
	case kind.TemplateLabel:
		return modeAttributes()
	case kind.VersionLabel:
		return []Path{At("kubetorch_version"), At("runtime")}
	case kind.KueueQueueLabel, kind.KAIQueueLabel:
		return []Path{At("queue_name"), At("queue_scheduler")}
	case kind.AllowedSerializationAnnotation:
		var items []Path
		for i := range c.AllowedSerialization {
			items = append(items, At("allowed_serialization", Index(i)))
		}
		return items
	}
	if c.Autoscale == nil {
		return nil
	}
	extra := At("autoscale", Name("extra_annotations"))
	return []Path{extra.At(Entry(key)), extra.At(Entry(strings.TrimPrefix(key, kind.AutoscalingDomain)))}
}

// checkTemplate refuses a service_template after which the workload would no
// longer be this compute's, or would not find its pods.
func checkTemplate(k kind.Kind, rendered, merged map[string]any) Errors {
	var errs Errors
	fixed := [][]string{
		{"apiVersion"},
		{"kind"},
		{"metadata", "name"},
		{"metadata", "namespace"},
		{"metadata", "labels", kind.ServiceLabel},
		{"metadata", "labels", kind.TemplateLabel},
		{"metadata", "labels", kind.ManagedByLabel},
	}
	fixed = append(fixed, k.Fixed...)
	groups := k.Groups(rendered)
	for _, g := range groups {
		fixed = append(fixed, kind.Under(g.Template, "metadata", "labels", kind.ServiceLabel))
	}
	if k.Selects {
		fixed = append(fixed, []string{"spec", "selector"})
	}
	for _, path := range fixed {
		before, _ := kind.Find(rendered, path)
		if after, _ := kind.Find(merged, path); !reflect.DeepEqual(before, after) {
			errs.add("service_template", "changes %s, which the provider requires unchanged: remove it from the "+
				"template.",
				dotted(path))
		}
	}
	if _, ok := merged["status"]; ok {
		errs.add("service_template", "sets status, which only the cluster can set: remove it from the template.")
	}
	for _, g := range groups {
		containers := kind.Under(g.Template, "spec", "containers")
		if list, _ := kind.Find(merged, containers); !hasNamed(list, k.Container) {
			errs.add("service_template", "replaces %s and therefore removes the container %s: add a name to each "+
				"item, so that the items are merged.", dotted(containers), k.Container)
		}
	}
	return errs
}

func hasNamed(list any, name string) bool {
	items, _ := list.([]any)
	return slices.ContainsFunc(items, func(item any) bool {
		m, _ := item.(map[string]any)
		return m["name"] == name
	})
}

func dotted(path []string) string { return strings.Join(path, ".") }
