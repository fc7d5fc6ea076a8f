package manifest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// LogLevelVariable is the environment variable that holds the log level.
const LogLevelVariable = logLevelEnv

// Observe reads a workload back into the attributes that render it, as far as
// it shows them. It is the inverse of Render for what a workload says plainly:
// a service_template or manifest has melted into the rest, and the provider's
// defaults are not told from the compute's own attributes. What the workload
// lacks stays zero. podTemplate is where the pods of a kind are that the
// provider does not know.
//
// Replicas is the number of all pods, zero in modes without (see HasReplicas).
// The workers of a RayCluster are in Distribute too.
func Observe(workload *unstructured.Unstructured, podTemplate ...string) Compute {
	c := Compute{
		Name: workload.GetName(), Namespace: workload.GetNamespace(),
		Username: workload.GetLabels()[kind.UsernameLabel],
	}
	observeMetadata(&c, workload)
	k, known := kindOfObject(workload.GroupVersionKind(), podTemplate)
	if !known && len(podTemplate) == 0 {
		return c
	}
	groups := k.Groups(workload.Object)
	observeScale(&c, k, groups, workload.Object)
	if k.RunsTensorServer() {
		c.Runtime = k.Server.Runtime
		observeTensorServer(&c, workload.Object)
	}
	if len(groups) == 0 {
		return c
	}
	content, _ := kind.Find(workload.Object, groups[0].Template)
	main, _ := content.(map[string]any)
	var template corev1.PodTemplateSpec
	if runtime.DefaultUnstructuredConverter.FromUnstructured(main, &template) != nil {
		return c // somebody put in what no pod has; manifests shows it all the same
	}
	observePod(&c, template.Spec)
	for _, container := range template.Spec.Containers {
		if container.Name == k.Container {
			observeContainer(&c, container)
			observeMounts(&c, container, template)
		}
	}
	return c
}

// observeScale reads how many pods a workload has, and who decides that. No
// replicas are as good as suspended, so that Suspend does not say so again.
func observeScale(c *Compute, k kind.Kind, groups []kind.Group, workload map[string]any) {
	if k.Scales {
		c.Replicas = kind.PodCount(workload, groups)
	}
	c.Suspend = len(k.Suspension) > 0 && !slices.ContainsFunc(k.Suspension, func(s kind.Setting) bool {
		value, _ := kind.Find(workload, s.Path)
		return value != s.Value || value == int64(0)
	})
	if k.Autoscales {
		c.Autoscale = observeAutoscale(workload)
	}
	if k.Distribution != "" {
		c.Distribute = &Distribute{Type: k.Distribution, Workers: c.Replicas}
		if version := kind.TextAt(workload, "spec", kind.RayVersionArg); version != "" {
			c.Distribute.Args = map[string]any{kind.RayVersionArg: version}
		}
	}
}

// ObserveEndpoint reads back from the Service of a compute which other pods than
// its own it selects, nil where it selects these or says nothing, and of the
// headless Service. Those of a compute whose pods exist already are others.
func ObserveEndpoint(service *unstructured.Unstructured) *Endpoint {
	if service == nil {
		return nil
	}
	selector := kind.TextsAt(service.Object, "spec", "selector")
	if len(selector) == 0 || kind.TextAt(service.Object, "spec", "clusterIP") == corev1.ClusterIPNone {
		return nil
	}
	others := union(selector)
	maps.DeleteFunc(others, func(key, value string) bool {
		return slices.Contains(kind.RouteLabels(), key) || key == kind.ServiceLabel && value == service.GetName()
	})
	if len(others) == 0 && selector[kind.ServiceLabel] != "" {
		return nil
	}
	return &Endpoint{Selector: selector}
}

func observeMetadata(c *Compute, workload *unstructured.Unstructured) {
	labels := union(workload.GetLabels())
	for scheduler, key := range map[string]string{QueueSchedulerKueue: kind.KueueQueueLabel, QueueSchedulerKAI: kind.KAIQueueLabel} {
		if queue, ok := labels[key]; ok {
			c.QueueName, c.QueueScheduler = queue, scheduler
		}
		delete(labels, key)
	}
	if labels[kind.AppLabel] == c.Name {
		delete(labels, kind.AppLabel)
	}
	for _, key := range []string{kind.ServiceLabel, kind.TemplateLabel, kind.UsernameLabel, kind.VersionLabel, kind.ManagedByLabel} {
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
	for _, key := range []string{kind.InactivityTTLAnnotation, kind.AllowedSerializationAnnotation, kind.GPUMemoryAnnotation} {
		delete(annotations, key)
	}
	c.Annotations = annotations
}

func observePod(c *Compute, pod corev1.PodSpec) {
	c.ServiceAccountName, c.PriorityClassName = pod.ServiceAccountName, pod.PriorityClassName
	c.NodeSelector = union(pod.NodeSelector)
	c.GPUType = c.NodeSelector[gpuProductLabel]
	delete(c.NodeSelector, gpuProductLabel)
	for _, t := range pod.Tolerations {
		c.Tolerations = append(c.Tolerations, Toleration{
			Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect), TolerationSeconds: t.TolerationSeconds,
		})
	}
	c.GPUAntiAffinity = pod.Affinity != nil && pod.Affinity.NodeAffinity != nil &&
		keepsOffGPUs(pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

func keepsOffGPUs(selector *corev1.NodeSelector) bool {
	return selector != nil && slices.ContainsFunc(selector.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == string(gpuResource) && r.Operator == corev1.NodeSelectorOpDoesNotExist
		})
	})
}

func observeContainer(c *Compute, container corev1.Container) {
	c.Image, c.ImagePullPolicy, c.WorkingDir = container.Image, string(container.ImagePullPolicy), container.WorkingDir
	for name, into := range map[corev1.ResourceName]**resource.Quantity{
		corev1.ResourceCPU: &c.CPUs, corev1.ResourceMemory: &c.Memory, corev1.ResourceEphemeralStorage: &c.DiskSize,
	} {
		if quantity, ok := container.Resources.Requests[name]; ok {
			*into = &quantity
		}
	}
	gpus, ok := container.Resources.Requests[gpuResource]
	if !ok {
		gpus, ok = container.Resources.Limits[gpuResource] // the request is the limit then
	}
	if ok {
		c.GPUs = gpus.Value()
		c.Tolerations = withoutGPUTolerations(c.Tolerations)
	}
	security := container.SecurityContext
	c.Freeze = security == nil || security.Capabilities == nil || !slices.Contains(security.Capabilities.Add, "SYS_PTRACE")
	if probe := container.StartupProbe; probe != nil {
		c.LaunchTimeout = time.Duration(probe.FailureThreshold) * startupPeriod * time.Second
	}
	c.EnvVars = map[string]string{}
	for _, variable := range container.Env {
		switch {
		case variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil:
			secret := secretNamed(c, variable.ValueFrom.SecretKeyRef.Name)
			secret.EnvVars = append(secret.EnvVars, variable.Name)
		case variable.ValueFrom == nil && variable.Name == logLevelEnv:
			c.LogLevel = strings.ToLower(variable.Value)
		case variable.ValueFrom == nil:
			c.EnvVars[variable.Name] = variable.Value
		}
	}
}

// withoutGPUTolerations leaves out what schedule adds for GPUs by itself.
func withoutGPUTolerations(tolerations []Toleration) []Toleration {
	return slices.DeleteFunc(slices.Clone(tolerations), func(t Toleration) bool {
		return slices.ContainsFunc(gpuTolerations(), func(gpu Toleration) bool { return sameTaint(t, gpu) && t.TolerationSeconds == nil })
	})
}

func observeMounts(c *Compute, container corev1.Container, template corev1.PodTemplateSpec) {
	volumes := template.Spec.Volumes
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			continue
		}
		switch volume := volumes[i]; {
		case volume.Name == sharedMemoryVolume && volume.EmptyDir != nil:
			c.SharedMemoryLimit = volume.EmptyDir.SizeLimit
		case volume.Name == imageVolume && volume.ConfigMap != nil:
			c.ImageSetup = &ImageSetup{ConfigMap: volume.ConfigMap.Name, Digest: template.Annotations[kind.ImageDigestAnnotation]}
		case volume.Secret != nil:
			secret := secretNamed(c, volume.Secret.SecretName)
			if secret.MountPath != "" { // mounted twice
				c.Secrets = append(c.Secrets, SecretRef{Name: secret.Name})
				secret = &c.Secrets[len(c.Secrets)-1]
			}
			secret.MountPath, secret.DefaultMode = mount.MountPath, volume.Secret.DefaultMode
		case volume.PersistentVolumeClaim != nil:
			c.Volumes = append(c.Volumes, VolumeRef{
				ClaimName: volume.PersistentVolumeClaim.ClaimName, MountPath: mount.MountPath, ReadOnly: mount.ReadOnly,
			})
		}
	}
}

func secretNamed(c *Compute, name string) *SecretRef {
	i := slices.IndexFunc(c.Secrets, func(s SecretRef) bool { return s.Name == name })
	if i < 0 {
		i, c.Secrets = len(c.Secrets), append(c.Secrets, SecretRef{Name: name})
	}
	return &c.Secrets[i]
}
