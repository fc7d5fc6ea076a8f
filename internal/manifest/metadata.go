package manifest

import (
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ownPods returns the selector of the pods of a compute. Selectors are immutable,
// so it has a single label.
func ownPods(c Compute) map[string]string {
	return map[string]string{kind.ServiceLabel: c.Name}
}

func workloadMetadata(c Compute, k kind.Kind) map[string]any {
	return map[string]any{
		"name":        c.Name,
		"namespace":   c.Namespace,
		"labels":      kind.Texts(podLabels(c), providerLabels(k)),
		"annotations": kind.Texts(podAnnotations(c), workloadAnnotations(c)),
	}
}

// providerLabels returns the labels that only the workload has.
func providerLabels(k kind.Kind) map[string]string {
	return map[string]string{kind.TemplateLabel: k.Template, kind.ManagedByLabel: kind.ManagedByValue}
}

func podLabels(c Compute) map[string]string {
	return union(map[string]string{kind.AppLabel: c.Name}, givenLabels(c), identityLabels(c), queueLabels(c))
}

// OwnLabels returns the labels of every object that the provider creates.
func OwnLabels() map[string]string {
	return map[string]string{kind.ManagedByLabel: kind.ManagedByValue}
}

// serviceLabels returns the labels of the objects other than the workload.
func serviceLabels(c Compute) map[string]string {
	return union(map[string]string{kind.AppLabel: c.Name}, givenLabels(c), identityLabels(c), OwnLabels())
}

// templateLabels returns the labels of a pod template. In Kubetorch, only pods that
// receive calls have the label app.
func templateLabels(c Compute, worker bool) map[string]string {
	labels := podLabels(c)
	if _, given := givenLabels(c)[kind.AppLabel]; worker && !given {
		delete(labels, kind.AppLabel)
	}
	return union(labels, c.PodLabels)
}

func templateAnnotations(c Compute, k kind.Kind) map[string]string {
	annotations := podAnnotations(c)
	if k.Autoscales {
		annotations = union(autoscaleDefaults(c), annotations, autoscaleAnnotations(c))
	}
	if c.ImageSetup != nil && c.ImageSetup.Digest != "" {
		annotations[kind.ImageDigestAnnotation] = c.ImageSetup.Digest
	}
	if len(c.RestartTriggers) > 0 {
		annotations[kind.RestartTriggersAnnotation] = restartDigest(c.RestartTriggers)
	}
	return annotations
}

func podAnnotations(c Compute) map[string]string {
	return union(c.DefaultAnnotations, c.Annotations, gpuMemoryAnnotation(c))
}

// identityLabels returns the labels that identify the pods of this compute.
func identityLabels(c Compute) map[string]string {
	labels := map[string]string{kind.ServiceLabel: c.Name}
	if !RunsTensorServer(c.Runtime) {
		labels[kind.VersionLabel] = c.version()
	}
	if c.Username != "" {
		labels[kind.UsernameLabel] = c.Username
	}
	return labels
}

// givenLabels returns the labels of the user, except those of providerLabels, which
// validate has found to be equal.
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
	case c.QueueScheduler == kind.QueueSchedulerKAI:
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

// gpuMemoryAnnotation requests a share of a GPU from KAI, rounded up to MiB.
func gpuMemoryAnnotation(c Compute) map[string]string {
	if c.GPUMemory == nil {
		return nil
	}
	const mib = 1 << 20
	bytes := c.GPUMemory.Value()
	size := bytes / mib
	if bytes%mib > 0 {
		size++
	}
	return map[string]string{kind.GPUMemoryAnnotation: strconv.FormatInt(size, 10)}
}

// union returns a new map with the entries of all maps. Later ones override earlier ones.
func union(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, m := range all {
		maps.Copy(result, m)
	}
	return result
}

// withEntry adds an entry to a map, which may be nil.
func withEntry[V any](m map[string]V, name string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[name] = value
	return m
}

// Without returns the entries of a map that another map does not have.
func Without(m, others map[string]string) map[string]string {
	rest := maps.Clone(m)
	maps.DeleteFunc(rest, func(key, value string) bool {
		other, ok := others[key]
		return ok && other == value
	})
	return rest
}

// withoutIdentity returns labels without those that identify an object of a compute.
func withoutIdentity(labels map[string]string, name string) map[string]string {
	maps.DeleteFunc(labels, func(key, value string) bool {
		switch key {
		case kind.ServiceLabel, kind.TemplateLabel, kind.UsernameLabel, kind.VersionLabel, kind.ManagedByLabel:
			return true
		case kind.AppLabel:
			return value == name
		}
		return false
	})
	return labels
}

// observeMetadata is the inverse of workloadMetadata.
func observeMetadata(c *Compute, workload *unstructured.Unstructured) {
	labels := union(workload.GetLabels())
	for scheduler, key := range map[string]string{kind.QueueSchedulerKueue: kind.KueueQueueLabel,
		kind.QueueSchedulerKAI: kind.KAIQueueLabel} {
		if queue, ok := labels[key]; ok {
			c.QueueName, c.QueueScheduler = queue, scheduler
		}
		delete(labels, key)
	}
	c.Labels = withoutIdentity(labels, c.Name)

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
