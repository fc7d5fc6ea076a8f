package manifest

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Container is a container beside the main one.
type Container struct {
	Name, Image, ImagePullPolicy string

	Command, Args []string
	WorkingDir    string
	EnvVars       map[string]string
	EnvFrom       []EnvFrom
	CPUs, Memory  *resource.Quantity // requests
	Limits        map[string]resource.Quantity
	Ports         []corev1.ContainerPort // with a name and a number
	VolumeMounts  []corev1.VolumeMount   // of named volumes of the compute
}

// otherContainers returns the containers beside the main one. A sidecar is an init container that Kubernetes restarts,
// so that it is ready before the main container starts, ends after it, and does not keep a Job from completing
// (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/). Knative allows only plain containers.
func otherContainers(c Compute, k kind.Kind) (initial, plain []*corev1ac.ContainerApplyConfiguration) {
	initial = kind.Each(c.InitContainers, Container.render)
	for _, sidecar := range c.Sidecars {
		if k.Autoscales {
			plain = append(plain, sidecar.render())
		} else {
			initial = append(initial, sidecar.render().WithRestartPolicy(corev1.ContainerRestartPolicyAlways))
		}
	}
	return initial, plain
}

func (o Container) render() *corev1ac.ContainerApplyConfiguration {
	out := corev1ac.Container().
		WithName(o.Name).
		WithImage(o.Image).
		WithImagePullPolicy(corev1.PullPolicy(o.ImagePullPolicy)).
		WithCommand(o.Command...).
		WithArgs(o.Args...).
		WithWorkingDir(o.WorkingDir).
		WithEnvFrom(envFrom(o.EnvFrom)...).
		WithResources(resources(Compute{CPUs: o.CPUs, Memory: o.Memory, Limits: o.Limits}))
	for _, name := range SortedEnv(o.EnvVars) {
		out.WithEnv(corev1ac.EnvVar().WithName(name).WithValue(o.EnvVars[name]))
	}
	for _, port := range o.Ports {
		out.WithPorts(corev1ac.ContainerPort().WithName(port.Name).WithContainerPort(port.ContainerPort))
	}
	for _, m := range o.VolumeMounts {
		out.WithVolumeMounts(mount(m.Name, m.MountPath, m.ReadOnly).WithSubPath(m.SubPath))
	}
	return out
}

// observeOthers is the inverse of otherContainers.
func observeOthers(c *Compute, k kind.Kind, pod corev1.PodSpec) {
	for _, container := range pod.InitContainers {
		if kind.IsSidecar(container) {
			c.Sidecars = append(c.Sidecars, observeOther(container))
		} else {
			c.InitContainers = append(c.InitContainers, observeOther(container))
		}
	}
	for _, container := range pod.Containers {
		if k.Autoscales && container.Name != k.Container {
			c.Sidecars = append(c.Sidecars, observeOther(container))
		}
	}
}

func observeOther(container corev1.Container) Container {
	seen := Container{
		Name: container.Name, Image: container.Image, ImagePullPolicy: string(container.ImagePullPolicy),
		Command: container.Command, Args: container.Args, WorkingDir: container.WorkingDir,
		EnvFrom: observeEnvFrom(container.EnvFrom),
	}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			seen.EnvVars = withEntry(seen.EnvVars, variable.Name, variable.Value)
		}
	}
	var like Compute
	observeResources(&like, corev1.ResourceRequirements{Requests: container.Resources.Requests})
	seen.CPUs, seen.Memory = like.CPUs, like.Memory
	for name, quantity := range container.Resources.Limits {
		seen.Limits = withEntry(seen.Limits, string(name), quantity)
	}
	for _, port := range container.Ports {
		seen.Ports = append(seen.Ports, corev1.ContainerPort{Name: port.Name, ContainerPort: port.ContainerPort})
	}
	for _, m := range container.VolumeMounts {
		seen.VolumeMounts = append(seen.VolumeMounts, corev1.VolumeMount{Name: m.Name, MountPath: m.MountPath,
			SubPath: m.SubPath, ReadOnly: m.ReadOnly})
	}
	return seen
}

// othersWrite reports whether a container beside the main one mounts a volume and may write to it.
func (c Compute) othersWrite(volume string) bool {
	return slices.ContainsFunc(slices.Concat(c.InitContainers, c.Sidecars), func(o Container) bool {
		return slices.ContainsFunc(o.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == volume && !m.ReadOnly
		})
	})
}

// validateContainers rejects containers of one name, mounts of volumes that do not exist, and ports that Knative does
// not allow.
func validateContainers(c Compute, errs *Errors) {
	k := kindOf(c)
	named := map[string]string{k.Container: "the main container"}
	for _, list := range []struct {
		attribute  string
		containers []Container
	}{{"init_containers", c.InitContainers}, {"sidecars", c.Sidecars}} {
		for i, container := range list.containers {
			at := At(list.attribute, Index(i))
			name := at.At(Name("name"))
			if other, taken := named[container.Name]; taken && container.Name != "" {
				errs.report(name, "Duplicate name", "%s is %s, the name of %s: use another name.", name, container.Name,
					other).Concerning(modeAttributes()...)
			}
			named[container.Name] = at.String()
			validateEnvFrom(at.At(Name("env_from")), container.EnvFrom, errs)
			validateVolumeMounts(c, at, container.VolumeMounts, errs)
			if list.attribute == "sidecars" && k.Autoscales && len(container.Ports) > 0 {
				// validateContainersPorts in pkg/apis/serving/k8s_validation.go of github.com/knative/serving
				ports := at.At(Name("ports"))
				errs.report(ports, conflict, "%s has ports, but in a Knative Service only the main container has one: "+
					"remove it.", ports).Concerning(modeAttributes()...)
			}
		}
	}
}

func validateVolumeMounts(c Compute, at Path, mounts []corev1.VolumeMount, errs *Errors) {
	if c.Manifest != nil || len(c.ServiceTemplate) > 0 {
		return // which may contain the volumes
	}
	for i, m := range mounts {
		if slices.ContainsFunc(c.Volumes, func(v VolumeRef) bool { return v.volumeName() == m.Name }) {
			continue
		}
		name := at.At(Name("volume_mounts"), Index(i), Name("name"))
		concerns := []Path{At("volumes"), At("manifest"), At("service_template")}
		for j := range c.Volumes {
			concerns = append(concerns, identityOfVolume(At("volumes", Index(j)))...)
		}
		errs.report(name, "Unknown volume", "%s is %q, but no item of volumes has this name: set the name of a "+
			"volume.", name, m.Name).Concerning(concerns...)
	}
}

// PodTemplatePath returns the path of the pod template of a workload in the notation
// of pod_template_path, or "" if there is none. Of several, it is the one with the
// main container, or otherwise the first.
func PodTemplatePath(workload map[string]any) string {
	var first string
	for _, path := range kind.PodTemplates(workload) {
		if containerIn(workload, path, kind.ContainerName) != nil {
			return dotted(path)
		}
		first = cmp.Or(first, dotted(path))
	}
	return first
}
