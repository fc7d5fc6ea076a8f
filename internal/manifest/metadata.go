package manifest

import (
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ownPods selects the pods of a compute. Selectors cannot change once they are
// applied, so this holds one label and no more.
func ownPods(c Compute) map[string]string {
	return map[string]string{kind.ServiceLabel: c.Name}
}

func workloadMetadata(c Compute, k kind.Kind) map[string]any {
	return map[string]any{
		"name":      c.Name,
		"namespace": c.Namespace,
		"labels": toAny(union(podLabels(c), map[string]string{kind.TemplateLabel: k.Template,
			kind.ManagedByLabel: kind.ManagedByValue})),
		"annotations": toAny(union(podAnnotations(c), workloadAnnotations(c))),
	}
}

func podLabels(c Compute) map[string]string {
	return union(map[string]string{kind.AppLabel: c.Name}, givenLabels(c), identity(c), queueLabels(c))
}

// serviceLabels returns the labels of the objects other than the workload.
func serviceLabels(c Compute) map[string]string {
	return union(map[string]string{kind.AppLabel: c.Name}, givenLabels(c), identity(c),
		map[string]string{kind.ManagedByLabel: kind.ManagedByValue})
}

// templateLabels are the labels of a pod template. Kubetorch gives the label app
// only to the pods that take calls.
func templateLabels(c Compute, worker bool) map[string]string {
	labels := podLabels(c)
	if _, given := givenLabels(c)[kind.AppLabel]; worker && !given {
		delete(labels, kind.AppLabel)
	}
	return labels
}

func templateAnnotations(c Compute, k kind.Kind) map[string]string {
	annotations := podAnnotations(c)
	if k.Autoscales {
		annotations = union(autoscaleDefaults(c), annotations, autoscaleAnnotations(c))
	}
	if c.ImageSetup != nil && c.ImageSetup.Digest != "" {
		annotations[kind.ImageDigestAnnotation] = c.ImageSetup.Digest
	}
	return annotations
}

func podAnnotations(c Compute) map[string]string {
	return union(c.DefaultAnnotations, c.Annotations, gpuMemoryAnnotation(c))
}

// identity is what tells the pods of this compute from all others.
func identity(c Compute) map[string]string {
	labels := map[string]string{kind.ServiceLabel: c.Name}
	if !RunsTensorServer(c.Runtime) {
		labels[kind.VersionLabel] = c.version()
	}
	if c.Username != "" {
		labels[kind.UsernameLabel] = c.Username
	}
	return labels
}

// givenLabels are the user's labels but for those that are ours on the
// workload only. validate has seen that they agree with ours.
func givenLabels(c Compute) map[string]string {
	labels := union(c.DefaultLabels, c.Labels)
	delete(labels, kind.TemplateLabel)
	delete(labels, kind.ManagedByLabel)
	return labels
}

func queueLabels(c Compute) map[string]string {
	switch {
	case c.QueueName == "":
		return nil
	case c.QueueScheduler == QueueSchedulerKAI:
		return map[string]string{kind.KAIQueueLabel: c.QueueName}
	default:
		return map[string]string{kind.KueueQueueLabel: c.QueueName}
	}
}

func workloadAnnotations(c Compute) map[string]string {
	annotations := map[string]string{}
	if c.InactivityTTL != "" {
		annotations[kind.InactivityTTLAnnotation] = c.InactivityTTL
	}
	if len(c.AllowedSerialization) > 0 {
		annotations[kind.AllowedSerializationAnnotation] = strings.Join(c.AllowedSerialization, ",")
	}
	return annotations
}

// gpuMemoryAnnotation asks KAI for a share of a GPU, rounded up to whole MiB.
func gpuMemoryAnnotation(c Compute) map[string]string {
	if c.GPUMemory == nil {
		return nil
	}
	const mib = 1 << 20
	bytes := c.GPUMemory.Value()
	whole := bytes / mib
	if bytes%mib > 0 {
		whole++
	}
	return map[string]string{kind.GPUMemoryAnnotation: strconv.FormatInt(whole, 10)}
}

// union is a new map with the entries of all; the later ones win.
func union(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, m := range all {
		maps.Copy(result, m)
	}
	return result
}

func toAny(m map[string]string) map[string]any {
	result := make(map[string]any, len(m))
	for k, v := range m {
		result[k] = v
	}
	return result
}

// observeMetadata is the inverse of workloadMetadata.
func observeMetadata(c *Compute, workload *unstructured.Unstructured) {
	labels := union(workload.GetLabels())
	for scheduler, key := range map[string]string{QueueSchedulerKueue: kind.KueueQueueLabel,
		QueueSchedulerKAI: kind.KAIQueueLabel} {
		if queue, ok := labels[key]; ok {
			c.QueueName, c.QueueScheduler = queue, scheduler
		}
		delete(labels, key)
	}
	if labels[kind.AppLabel] == c.Name {
		delete(labels, kind.AppLabel)
	}
	for _, key := range []string{kind.ServiceLabel, kind.TemplateLabel, kind.UsernameLabel, kind.VersionLabel,
		kind.ManagedByLabel} {
		delete(labels, key)
	}
	c.Labels = labels

	annotations := union(workload.GetAnnotations())
	c.InactivityTTL = annotations[kind.InactivityTTLAnnotation]
	if formats := annotations[kind.AllowedSerializationAnnotation]; formats != "" {
		c.AllowedSerialization = strings.Split(formats, ",")
	}
	if mib, err := strconv.ParseInt(annotations[kind.GPUMemoryAnnotation], 10, 64); err == nil {
		c.GPUMemory = resource.NewQuantity(mib<<20, resource.BinarySI)
	}
	for _, key := range []string{kind.InactivityTTLAnnotation, kind.AllowedSerializationAnnotation,
		kind.GPUMemoryAnnotation} {
		delete(annotations, key)
	}
	c.Annotations = annotations
}
