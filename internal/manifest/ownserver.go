package manifest

import (
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// runsOwnServer reports whether the container runs a command of the user instead of Kubetorch's server.
func (c Compute) runsOwnServer() bool {
	return !RunsTensorServer(c.Runtime) && len(c.Command)+len(c.Args) > 0
}

func shellCommand() []string { return []string{"/bin/bash", "-c"} }

func portNumber(n int64) int32 { return int32(min(max(n, 0), math.MaxUint16)) }

// serve sets the ports of a server, and its probes unless the attribute replaces them. Without a port, it has none by
// default.
func serve(main *corev1ac.ContainerApplyConfiguration, c Compute) {
	var probes Probes
	port := c.mainPort()
	if port > 0 {
		main.WithPorts(corev1ac.ContainerPort().WithName(serverPortName).WithContainerPort(port))
		probes = c.revision().Probes(c)
	}
	if p := c.Probes; p != nil {
		probes = Probes{p.Startup.render(port), p.Readiness.render(port), p.Liveness.render(port)}
	}
	for _, p := range c.Ports {
		main.WithPorts(corev1ac.ContainerPort().WithName(p.Name).WithContainerPort(p.Port).WithProtocol(p.protocol()))
	}
	main.WithStartupProbe(probes.Startup).
		WithReadinessProbe(probes.Readiness).
		WithLivenessProbe(probes.Liveness)
}

// healthProbe requests the health of the server, or connects to its port if it is the user's and has no health_path.
func healthProbe(c Compute) *corev1ac.ProbeApplyConfiguration {
	port, path := intstr.FromInt32(c.mainPort()), "/health"
	if c.runsOwnServer() {
		path = c.HealthPath
	}
	if path == "" {
		return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(port))
	}
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(port))
}

// observeOwnServer reads the command of the user, with its port and health path. It returns false for a container with
// Kubetorch's server, or with the command of its image.
func observeOwnServer(c *Compute, container corev1.Container) bool {
	runsKubetorch := slices.Equal(container.Command, shellCommand()) &&
		slices.ContainsFunc(container.Args, func(script string) bool { return strings.Contains(script, "kubetorch") })
	if runsKubetorch || len(container.Command)+len(container.Args) == 0 {
		return false
	}
	c.Command, c.Args = container.Command, container.Args
	port, _ := observeContainerPorts(container.Ports)
	c.Port = int64(port)
	if probe := container.ReadinessProbe; probe != nil && probe.HTTPGet != nil {
		c.HealthPath = probe.HTTPGet.Path
	}
	return true
}

// validateOwnServer rejects attributes of a server without its command, and attributes of Kubetorch's server, which a
// command replaces.
func validateOwnServer(c Compute, errs *Errors) {
	command, args := At("command"), At("args")
	if RunsTensorServer(c.Runtime) {
		return
	}
	if runsManifestCommand(c) {
		validateManifestCommand(c, errs)
		return
	}
	if !c.runsOwnServer() {
		for _, attribute := range c.setOf("port", "health_path") {
			errs.report(At(attribute), conflict, "%s describes a server of your own, but Kubetorch's server runs "+
				"in the pods: set command or args too, or remove it.", attribute).Concerning(command, args)
		}
		return
	}
	if c.HealthPath != "" && c.Port == 0 {
		errs.report(At("health_path"), "Missing port", "health_path is requested by probes at port: set port too, or "+
			"remove health_path.").Concerning(At("port"))
	}
	if c.Expose != nil && c.Port == 0 && c.ServiceTemplate == nil && c.Manifest == nil {
		errs.report(At("expose"), "Missing port", "expose routes requests to port: set port too, or remove expose.").
			Concerning(At("port"), At("service_template"), At("manifest"))
	}
	for _, attribute := range c.setOf("freeze", "image_ref", "load") {
		errs.report(At(attribute), conflict, "%s configures the start of Kubetorch's server, which command and args "+
			"replace: remove it (image replaces image_ref), or remove both.", attribute).Concerning(command, args)
	}
	if c.Distribute != nil && c.Distribute.Type == kind.DistributionRay {
		errs.mutuallyExclusive("command", "distribute", "the pods of a RayCluster run Ray, which KubeRay starts")
	}
	validateVariablesOfTheImage(c, errs, command, args)
}

// runsManifestCommand reports whether manifest sets the command of the main container in all pods.
func runsManifestCommand(c Compute) bool {
	if c.Manifest == nil {
		return false
	}
	k := kindOf(c)
	return !slices.ContainsFunc(k.Groups(c.Manifest), func(g kind.Group) bool {
		return !hasCommand(containerIn(c.Manifest, g.Template, k.Container))
	})
}

// validateManifestCommand rejects attributes that a command in manifest would leave without effect.
func validateManifestCommand(c Compute, errs *Errors) {
	for _, attribute := range c.setOf("command", "args", "port", "health_path", "ports", "probes") {
		errs.report(At(attribute), conflict, "%s describes a server of your own, but manifest sets the command of "+
			"the container %s: set it in manifest too, and remove %s.", attribute, kindOf(c).Container, attribute).
			Concerning(At("manifest"))
	}
	if c.ImageSetup != nil {
		errs.report(At("image_ref"), conflict, "image_ref has a setup for the startup script of Kubetorch's server, "+
			"which the command in manifest replaces: remove one of the two.").Concerning(At("manifest"))
	}
	validateVariablesOfTheImage(c, errs, At("manifest"))
}

// validateVariablesOfTheImage rejects variables that extend those of the image, if no startup script does that.
func validateVariablesOfTheImage(c Compute, errs *Errors, because ...Path) {
	for _, name := range slices.Sorted(maps.Keys(c.EnvVars)) {
		if refersToItself(name, c.EnvVars[name]) {
			errs.report(At("env_vars", Entry(name)), "Variable that extends itself", "env_vars[%q] refers to the "+
				"variable of the image, which only the startup script of Kubetorch's server can extend: set the "+
				"complete value.", name).Concerning(because...)
		}
	}
}
