package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// LogLevelVariable is the environment variable that holds the log level.
const LogLevelVariable = "KT_LOG_LEVEL"

// podTemplate returns the template of the pods that run Kubetorch's server.
func podTemplate(c Compute, k kind.Kind, worker bool) *corev1ac.PodTemplateSpecApplyConfiguration {
	volumes, mounts := volumesAndMounts(c)
	pod := corev1ac.PodSpec().
		WithContainers(container(c, k, mounts)).
		WithServiceAccountName(cmp.Or(c.ServiceAccountName, DefaultServiceAccount)).
		WithVolumes(volumes...)
	schedule(pod, c)
	return corev1ac.PodTemplateSpec().
		WithLabels(templateLabels(c, worker)).
		WithAnnotations(templateAnnotations(c, k)).
		WithSpec(pod)
}

func container(
	c Compute, k kind.Kind, mounts []*corev1ac.VolumeMountApplyConfiguration,
) *corev1ac.ContainerApplyConfiguration {
	revision := c.revision()
	probes := revision.Probes(c)
	main := corev1ac.Container().
		WithName(k.Container).
		WithImage(cmp.Or(c.Image, DefaultImage)).
		// As in Kubetorch, the script is an argument and not part of the command,
		// so that its objects can be imported unchanged.
		WithCommand("/bin/bash", "-c").
		WithArgs(revision.StartupScript(c, k.GroupVersionKind)).
		WithEnv(env(c)...).
		WithPorts(corev1ac.ContainerPort().WithName("http1").WithContainerPort(kind.ServerPort)).
		WithResources(resources(c)).
		WithVolumeMounts(mounts...).
		WithStartupProbe(probes.Startup).
		WithReadinessProbe(probes.Readiness).
		WithLivenessProbe(probes.Liveness)
	if c.ImagePullPolicy != "" {
		main.WithImagePullPolicy(corev1.PullPolicy(c.ImagePullPolicy))
	}
	if c.WorkingDir != "" {
		main.WithWorkingDir(c.WorkingDir)
	}
	if !c.Freeze {
		// Kubetorch's debugger attaches to the running server.
		main.WithSecurityContext(corev1ac.SecurityContext().
			WithCapabilities(corev1ac.Capabilities().WithAdd("SYS_PTRACE")))
	}
	return main
}

// healthProbes returns probes that request the health of the server.
func healthProbes(c Compute) Probes {
	return Probes{
		Startup: healthProbe().
			WithInitialDelaySeconds(0).WithPeriodSeconds(startupPeriod).WithTimeoutSeconds(2).
			WithFailureThreshold(startupFailures(c.LaunchTimeout)),
		Readiness: healthProbe().
			WithPeriodSeconds(3).WithTimeoutSeconds(5).WithSuccessThreshold(1).WithFailureThreshold(5),
		Liveness: healthProbe().
			WithPeriodSeconds(30).WithTimeoutSeconds(5).WithFailureThreshold(3),
	}
}

func healthProbe() *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().
		WithPath("/health").
		WithPort(intstr.FromInt32(kind.ServerPort)))
}

// startupPeriod is the number of seconds between two startup probes.
const startupPeriod = 5

// startupFailures returns the number of startup probes that may fail before the
// kubelet restarts the container: the launch timeout divided by their period, but
// at least one.
func startupFailures(timeout time.Duration) int32 {
	if timeout <= 0 {
		timeout = DefaultLaunchTimeout
	}
	const most = 1 << 30
	return int32(min(max(int64(timeout/(startupPeriod*time.Second)), 1), most))
}

// resources returns requests. Only GPUs have a limit as well, because the request
// and the limit of an extended resource must be equal.
func resources(c Compute) *corev1ac.ResourceRequirementsApplyConfiguration {
	requirements, requests := corev1ac.ResourceRequirements(), requests(c)
	if gpus, ok := requests[kind.GPUResource]; ok {
		requirements.WithLimits(corev1.ResourceList{kind.GPUResource: gpus})
	}
	if len(requests) > 0 {
		requirements.WithRequests(requests)
	}
	return requirements
}

func requests(c Compute) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]*resource.Quantity{
		corev1.ResourceCPU: c.CPUs, corev1.ResourceMemory: c.Memory, corev1.ResourceEphemeralStorage: c.DiskSize,
	} {
		if quantity != nil {
			list[name] = quantity.DeepCopy()
		}
	}
	if c.GPUs > 0 {
		list[kind.GPUResource] = *resource.NewQuantity(c.GPUs, resource.DecimalSI)
	}
	return list
}

// env returns the environment in Kubetorch's order: the variables of the user by
// name, the log level unless the user or a secret sets it, and keys of secrets.
func env(c Compute) []*corev1ac.EnvVarApplyConfiguration {
	var all []*corev1ac.EnvVarApplyConfiguration
	for _, name := range slices.Sorted(maps.Keys(c.EnvVars)) {
		if !refersToItself(name, c.EnvVars[name]) { // see expansions
			all = append(all, corev1ac.EnvVar().WithName(name).WithValue(c.EnvVars[name]))
		}
	}
	if !givesLogLevel(c) {
		level := strings.ToUpper(cmp.Or(c.LogLevel, DefaultLogLevel))
		all = append(all, corev1ac.EnvVar().WithName(LogLevelVariable).WithValue(level))
	}
	return append(all, secretEnv(c.Secrets)...)
}

func secretEnv(secrets []SecretRef) []*corev1ac.EnvVarApplyConfiguration {
	var all []*corev1ac.EnvVarApplyConfiguration
	for _, secret := range secrets {
		for _, key := range secret.EnvVars {
			all = append(all, corev1ac.EnvVar().WithName(key).WithValueFrom(corev1ac.EnvVarSource().
				WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(secret.Name).WithKey(key))))
		}
	}
	return all
}

func givesLogLevel(c Compute) bool {
	_, ok := c.EnvVars[LogLevelVariable]
	return ok || slices.ContainsFunc(c.Secrets, func(s SecretRef) bool {
		return slices.Contains(s.EnvVars, LogLevelVariable)
	})
}

// observeContainer is the inverse of container, without the mounts.
func observeContainer(c *Compute, container corev1.Container) {
	c.Image, c.ImagePullPolicy, c.WorkingDir = container.Image, string(container.ImagePullPolicy), container.WorkingDir
	for name, into := range map[corev1.ResourceName]**resource.Quantity{
		corev1.ResourceCPU: &c.CPUs, corev1.ResourceMemory: &c.Memory, corev1.ResourceEphemeralStorage: &c.DiskSize,
	} {
		if quantity, ok := container.Resources.Requests[name]; ok {
			*into = &quantity
		}
	}
	gpus, ok := container.Resources.Requests[kind.GPUResource]
	if !ok {
		gpus, ok = container.Resources.Limits[kind.GPUResource] // which is also the request
	}
	if ok {
		c.GPUs = gpus.Value()
		c.Tolerations = withoutGPUTolerations(c.Tolerations)
	}
	security := container.SecurityContext
	c.Freeze = security == nil || security.Capabilities == nil ||
		!slices.Contains(security.Capabilities.Add, "SYS_PTRACE")
	if probe := container.StartupProbe; probe != nil {
		c.LaunchTimeout = time.Duration(probe.FailureThreshold) * startupPeriod * time.Second
	}
	c.EnvVars = map[string]string{}
	for _, variable := range container.Env {
		switch {
		case variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil:
			secret := secretNamed(c, variable.ValueFrom.SecretKeyRef.Name)
			secret.EnvVars = append(secret.EnvVars, variable.Name)
		case variable.ValueFrom == nil && variable.Name == LogLevelVariable:
			c.LogLevel = strings.ToLower(variable.Value)
		case variable.ValueFrom == nil:
			c.EnvVars[variable.Name] = variable.Value
		}
	}
}
