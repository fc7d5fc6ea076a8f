package manifest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Validate returns all problems of a configured compute. Attributes that are not known yet are zero in c. Problems that
// depend on them are omitted.
func Validate(c Compute, unknown func(Path) bool) Errors {
	errs := validate(c)
	validateConfiguration(c, &errs)
	if len(errs) > 0 {
		return errs.Known(unknown)
	}
	if c.Manifest == nil && len(c.ServiceTemplate) == 0 && !c.ManifestOnly {
		return nil // only objects of the user have problems that the rendering finds
	}
	if slices.ContainsFunc(append(modeAttributes(), At("name")), unknown) {
		return nil // it is not known what will be rendered
	}
	_, err := renderMaps(c)
	found, _ := errors.AsType[Errors](err)
	return found.Known(unknown)
}

// ServiceNameRule describes the name of a Kubernetes Service, after "must be".
const ServiceNameRule = "an RFC 1035 label of at most 63 lowercase letters, digits and dashes that starts with a " +
	"letter and does not end with a dash, such as llm-train"

// modeAttributes returns the attributes that select the kind of the workload.
func modeAttributes() []Path {
	return []Path{
		At("autoscale"), inAutoscale("scaler"), At("distribute"), At("distribute", Name("type")), At("job"),
		At("manifest"), At("pod_template_path"), At("runtime"), At("selector"),
	}
}

// validate rejects a compute that cannot be rendered completely. The schema and the API server check the format of
// single values.
func validate(c Compute) Errors {
	var errs Errors
	switch {
	case c.Name == "":
		errs.add("name", "is empty: set the name of the compute.")
	case c.ManifestOnly, len(validation.IsDNS1123Subdomain(c.Name)) > 0: // the schema rejects the name
	case len(validation.IsDNS1035Label(c.Name)) > 0: // also the name of a Service
		errs.add("name", "is %q, but must be %s.", c.Name, ServiceNameRule)
	}
	if c.Namespace == "" {
		errs.add("namespace", "is empty: set the namespace of the compute.")
	}
	validateResources(c, &errs)
	validateGPUs(c, &errs)
	validateMetadata(c, &errs)
	validateKeys(c, &errs)
	validateMounts(c, &errs)
	validateVolumes(c, &errs)
	validateSecurity(c, &errs)
	validateContainers(c, &errs)
	validateOwnServer(c, &errs)
	validateJob(c, &errs)
	validatePorts(c, &errs)
	validateService(c, &errs)
	validateProbes(c, &errs)
	validateLoad(c, &errs)
	validateDisruptionBudget(c, &errs)
	validateExpose(c, &errs)
	validateAutoscale(c, &errs)
	validateDistribute(c, &errs)
	if conflicts := validateRuntime(c); len(conflicts) > 0 {
		return append(errs, conflicts...)
	}
	validateModes(c, &errs)
	return errs
}

// validateConfiguration rejects mistakes in a configuration that can be rendered, because an object in a cluster may be
// like this.
func validateConfiguration(c Compute, errs *Errors) {
	validateScheduling(c, errs)
	if c.Distribute != nil {
		validateArgs(c.Distribute, errs)
	}
	if RunsTensorServer(c.Runtime) {
		return
	}
	if c.Manifest != nil && c.Autoscale.isKnative() {
		errs.mutuallyExclusive("manifest", "autoscale", "manifest is the workload, and autoscale creates a Knative "+
			"Service; a Knative Service in manifest can have annotations of autoscaling.knative.dev").
			Concerning(inAutoscale("scaler"))
	}
	if d := c.Distribute; d != nil && d.Workers == 0 && c.ReplicasGiven && c.Replicas != 1 {
		errs.mutuallyExclusive("replicas", "distribute", "their number is distribute.workers")
	}
	validateExistingPods(c, errs)
	validatePodTemplatePath(c, errs)
	validateRollout(c, errs)
	validateKnative(c, errs)
}

const conflict = "Conflicting attributes"

func validateWholeSeconds(at Path, d time.Duration, errs *Errors) {
	if d%time.Second != 0 {
		errs.At(at, "is %s, but Kubernetes only has whole seconds: round it.", FormatDuration(d))
	}
}

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
	gpu := c.GPUType
	if selected, ok := c.NodeSelector[gpu.Key]; ok && gpu.Key != "" && selected != gpu.Value {
		errs.add("gpu_type", "selects nodes with %s=%s, but node_selector selects %s=%s: set only one of the two.",
			gpu.Key, gpu.Value, gpu.Key, selected).
			Concerning(At("node_selector", Entry(gpu.Key)))
	}
}

// validateScheduling rejects contradictory settings.
func validateScheduling(c Compute, errs *Errors) {
	if c.GPUAntiAffinity && c.isSet("gpu_anti_affinity") && c.WantsGPU() {
		errs.report(At("gpu_anti_affinity"), conflict,
			"gpu_anti_affinity keeps the pods off GPU nodes, but gpus or gpu_memory requests GPUs: remove one of "+
				"the two.")
	}
	if c.QueueScheduler == kind.QueueSchedulerKAI && c.QueueName == "" { // the other is the default
		errs.report(At("queue_scheduler"), "Missing queue_name",
			"queue_scheduler selects the scheduler of queue_name: set queue_name too, or remove queue_scheduler.").
			Concerning(At("queue_name"))
	}
	validateWholeSeconds(At("termination_grace_period"), ptr.Deref(c.TerminationGracePeriod, 0), errs)
	if c.TerminationGracePeriod != nil && c.Autoscale.isKnative() {
		// pkg/apis/serving/fieldmask.go of github.com/knative/serving
		errs.mutuallyExclusive("termination_grace_period", "autoscale", "Knative does not allow it in the pods of a "+
			"Service").Concerning(inAutoscale("scaler"))
	}
	errs.Tolerations(At("tolerations"), c.Tolerations)
}

// Tolerations reports contradictory items of a list of tolerations. The rules are those of Kubernetes
// (https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
func (e *Errors) Tolerations(list Path, tolerations []corev1.Toleration) {
	for i, t := range tolerations {
		at := list.At(Index(i))
		refuse := func(attribute, format string) {
			e.report(at.At(Name(attribute)), "Invalid toleration", "%s "+format, at).
				Concerning(at.At(Name("key")), at.At(Name("operator")), at.At(Name("effect")))
		}
		exists := t.Operator == "Exists"
		if exists && t.Value != "" {
			refuse("value", "has a value, but its operator Exists tolerates every value of the taint: remove value, "+
				"or use Equal.")
		}
		if !exists && t.Key == "" {
			refuse("key", "has no key, but only the operator Exists works without a key, for every taint: set a "+
				"key, or operator = \"Exists\".")
		}
		if t.TolerationSeconds != nil && t.Effect != "NoExecute" {
			refuse("toleration_seconds", "has toleration_seconds, which requires the effect NoExecute, the only one "+
				"that evicts pods: set effect = \"NoExecute\", or remove toleration_seconds.")
		}
	}
}

// validateMetadata rejects labels and annotations with other values than those that the provider sets.
func validateMetadata(c Compute, errs *Errors) {
	ours := union(identityLabels(c), operatorLabels(c), providerLabels(kindOf(c)), queueLabels(c))
	rejectOthers(c, "labels", c.DefaultLabels, c.Labels, ours, errs)
	rejectOthers(c, "pod_labels", nil, c.PodLabels, ours, errs)
	ours = union(autoscaleAnnotations(c), workloadAnnotations(c), gpuMemoryAnnotation(c))
	rejectOthers(c, "annotations", c.DefaultAnnotations, c.Annotations, ours, errs)
}

func rejectOthers(c Compute, attribute string, defaults, given, ours map[string]string, errs *Errors) {
	errs.RejectOthers(attribute, defaults, given, ours, func(key string) (string, []Path) {
		reason, decidedBy := reasonFor(key, c, "the provider sets it")
		return reason, append(decidedBy, At(attribute, Entry(key)))
	})
}

// reasonFor returns why a label or annotation has a fixed value, and the attributes that determine it.
func reasonFor(key string, c Compute, otherwise string) (reason string, decidedBy []Path) {
	if c.Autoscale != nil {
		extra := At("autoscale", Name("extra_annotations"))
		decidedBy = []Path{extra.At(Entry(key)), extra.At(Entry(strings.TrimPrefix(key, kind.AutoscalingDomain)))}
	}
	switch key {
	case kind.ServiceLabel:
		return "it contains the name of the compute and selects its pods", []Path{At("name"), At("runtime")}
	case kind.OperatorNameLabel:
		return "the operator selects the pods with it", decidedBy
	case kind.OperatorInstanceLabel:
		return "the operator selects the pods with it", []Path{At("name"), At("runtime")}
	case kind.UsernameLabel:
		return "it is set from username of the provider", decidedBy
	case kind.ManagedByLabel:
		return "the provider finds its objects with it", decidedBy
	case kind.KueueQueueLabel, kind.KAIQueueLabel:
		return "it is set from queue_name", []Path{At("queue_name"), At("queue_scheduler")}
	case kind.InactivityTTLAnnotation:
		return "it is set from inactivity_ttl", decidedBy
	case kind.AllowedSerializationAnnotation:
		decidedBy = nil
		for i := range c.AllowedSerialization {
			decidedBy = append(decidedBy, At("allowed_serialization", Index(i)))
		}
		return "it is set from allowed_serialization", decidedBy
	case kind.GPUMemoryAnnotation:
		return "it is set from gpu_memory", decidedBy
	case kind.VersionLabel:
		return "the provider sets it", []Path{At("kubetorch_version"), At("runtime")}
	case kind.TemplateLabel:
		return "the provider sets it", modeAttributes()
	default:
		return otherwise, decidedBy
	}
}

// checkTemplate rejects a service_template that changes the identity of the
// workload, or removes its main container.
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
				"template.", dotted(path))
		}
	}
	if _, ok := merged["status"]; ok {
		errs.add("service_template", "sets status, which only the cluster can set: remove it from the template.")
	}
	for _, g := range groups {
		if containerIn(merged, g.Template, k.Container) == nil {
			errs.add("service_template", "replaces %s and therefore removes the container %s: add a name to each "+
				"item, so that the items are merged.", dotted(kind.Under(g.Template, "spec", "containers")),
				k.Container)
		}
	}
	return errs
}

func dotted(path []string) string { return strings.Join(path, ".") }
