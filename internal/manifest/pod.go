package manifest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// LogLevelVariable is the environment variable that holds the log level.
const LogLevelVariable = "KT_LOG_LEVEL"

// podTemplate returns the template of the pods that run the server. The caller removes the empty strings of attributes
// that are not set; see [generated].
func podTemplate(c Compute, k kind.Kind, worker bool) map[string]any {
	volumes, mounts := volumesAndMounts(c)
	initial, plain := otherContainers(c, k)
	template := toMap(corev1ac.PodTemplateSpec().
		WithLabels(templateLabels(c, worker)).
		WithAnnotations(templateAnnotations(c, k)))
	template["spec"] = podSpec(c, volumes, corev1ac.PodSpec().
		WithInitContainers(initial...).
		WithContainers(container(c, k, mounts)).
		WithContainers(plain...).
		WithServiceAccountName(cmp.Or(c.ServiceAccountName, DefaultServiceAccount)))
	return template
}

func container(
	c Compute, k kind.Kind, mounts []*corev1ac.VolumeMountApplyConfiguration,
) *corev1ac.ContainerApplyConfiguration {
	main := corev1ac.Container().
		WithName(k.Container).
		WithImage(cmp.Or(c.Image, DefaultImage)).
		WithImagePullPolicy(corev1.PullPolicy(c.ImagePullPolicy)).
		WithWorkingDir(c.WorkingDir).
		WithEnv(env(c)...).
		WithEnvFrom(envFrom(c.EnvFrom)...).
		WithResources(resources(c)).
		WithVolumeMounts(mounts...).
		WithLifecycle(lifecycle(c)).
		WithSecurityContext(containerSecurity(c))
	if c.runsOwnServer() {
		main.WithCommand(c.Command...).WithArgs(c.Args...)
	} else {
		// As in Kubetorch, the script is an argument and not part of the command, so that its objects can be imported
		// unchanged.
		main.WithCommand(shellCommand()...).WithArgs(c.revision().StartupScript(c, k))
	}
	serve(main, c)
	return main
}

// healthProbes returns probes that request the health of the server.
func healthProbes(c Compute) Probes {
	return Probes{
		Startup: healthProbe(c).
			WithInitialDelaySeconds(0).WithPeriodSeconds(startupPeriod).WithTimeoutSeconds(2).
			WithFailureThreshold(startupFailures(c.LaunchTimeout)),
		Readiness: healthProbe(c).
			WithPeriodSeconds(3).WithTimeoutSeconds(5).WithSuccessThreshold(1).WithFailureThreshold(5),
		Liveness: healthProbe(c).
			WithPeriodSeconds(30).WithTimeoutSeconds(5).WithFailureThreshold(3),
	}
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

// env returns the environment in Kubetorch's order: the variables of the user and of load by
// name, the log level of Kubetorch unless the user or a key sets it, and keys of Secrets and ConfigMaps. These come
// first if a variable refers to them.
func env(c Compute) []*corev1ac.EnvVarApplyConfiguration {
	var all []*corev1ac.EnvVarApplyConfiguration
	variables := union(c.EnvVars, c.Load.variables(c))
	for _, name := range SortedEnv(variables) {
		if !refersToItself(name, variables[name]) { // see expansions
			all = append(all, corev1ac.EnvVar().WithName(name).WithValue(variables[name]))
		}
	}
	if !givesLogLevel(c) && !c.runsOwnServer() {
		level := strings.ToUpper(cmp.Or(c.LogLevel, DefaultLogLevel))
		all = append(all, corev1ac.EnvVar().WithName(LogLevelVariable).WithValue(level))
	}
	keys := keyEnv(c)
	if refersToKey(variables, keys) {
		return append(keys, all...)
	}
	return append(all, keys...)
}

func givesLogLevel(c Compute) bool {
	_, ok := c.EnvVars[LogLevelVariable]
	return ok || slices.ContainsFunc(slices.Concat(c.Secrets, c.ConfigMaps), func(s SecretRef) bool {
		_, ok := s.EnvKeys[LogLevelVariable]
		return ok || slices.Contains(s.EnvVars, LogLevelVariable)
	})
}

// observeContainer is the inverse of container, without the mounts.
func observeContainer(c *Compute, container corev1.Container) {
	c.Image, c.ImagePullPolicy, c.WorkingDir = container.Image, string(container.ImagePullPolicy), container.WorkingDir
	observeResources(c, container.Resources)
	observeContainerSecurity(c, container.SecurityContext, !observeOwnServer(c, container))
	if probe := container.StartupProbe; probe != nil {
		c.LaunchTimeout = time.Duration(max(probe.FailureThreshold, 0)) * startupPeriod * time.Second
	}
	c.EnvFrom = observeEnvFrom(container.EnvFrom)
	c.EnvVars = map[string]string{}
	for _, variable := range container.Env {
		switch {
		case observeKey(c, variable):
		case variable.Name == LogLevelVariable:
			c.LogLevel = strings.ToLower(variable.Value)
		default:
			c.EnvVars[variable.Name] = variable.Value
		}
	}
}
