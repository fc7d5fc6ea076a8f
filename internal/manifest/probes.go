package manifest

import (
	"cmp"
	"math"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ProbeSettings are all probes of the container. Those that are nil do not exist.
type ProbeSettings struct {
	Startup, Readiness, Liveness *Probe
}

// Probe has exactly one handler. Zero numbers and durations, which are whole seconds, are the defaults of Kubernetes.
type Probe struct {
	HTTPGet   *HTTPGet
	GRPC      *GRPCCheck
	TCPSocket *TCPSocket
	Exec      *Exec

	InitialDelay, Period, Timeout      time.Duration
	FailureThreshold, SuccessThreshold int32
}

// PreStop is what happens in the container before it gets SIGTERM. Exactly one field is set.
type PreStop struct {
	HTTPGet *HTTPGet
	Exec    *Exec
	Sleep   *time.Duration // whole seconds
}

// HTTPGet is an HTTP request. A zero port is that of the server.
type HTTPGet struct {
	Path   string
	Port   int32
	Scheme corev1.URIScheme // empty: HTTP
}

// GRPCCheck is a call of the gRPC health checking protocol. A zero port is that of the server.
type GRPCCheck struct {
	Port    int32
	Service string
}

// TCPSocket is a connection. A zero port is that of the server.
type TCPSocket struct{ Port int32 }

// Exec is a command in the container. Exit code 0 is success.
type Exec struct{ Command []string }

// mainPort returns the port of the server in the container, or 0 if it has none.
func (c Compute) mainPort() int32 {
	if c.runsOwnServer() {
		return portNumber(c.Port)
	}
	return kind.ServerPort
}

// render returns a probe of a container whose server has a port. It returns nil for nil.
func (p *Probe) render(port int32) *corev1ac.ProbeApplyConfiguration {
	if p == nil {
		return nil
	}
	probe := corev1ac.Probe()
	switch {
	case p.HTTPGet != nil:
		probe.WithHTTPGet(p.HTTPGet.render(port))
	case p.GRPC != nil:
		probe.WithGRPC(corev1ac.GRPCAction().WithPort(cmp.Or(p.GRPC.Port, port)).WithService(p.GRPC.Service))
	case p.TCPSocket != nil:
		probe.WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromInt32(cmp.Or(p.TCPSocket.Port, port))))
	case p.Exec != nil:
		probe.WithExec(p.Exec.render())
	}
	probe.InitialDelaySeconds, probe.PeriodSeconds = given(seconds32(p.InitialDelay)), given(seconds32(p.Period))
	probe.TimeoutSeconds, probe.FailureThreshold = given(seconds32(p.Timeout)), given(p.FailureThreshold)
	probe.SuccessThreshold = given(p.SuccessThreshold)
	return probe
}

func (a *HTTPGet) render(port int32) *corev1ac.HTTPGetActionApplyConfiguration {
	return corev1ac.HTTPGetAction().WithPath(a.Path).WithPort(intstr.FromInt32(cmp.Or(a.Port, port))).
		WithScheme(cmp.Or(a.Scheme, corev1.URISchemeHTTP))
}

func (a *Exec) render() *corev1ac.ExecActionApplyConfiguration {
	return corev1ac.ExecAction().WithCommand(a.Command...)
}

// lifecycle returns the hooks of the container, or nil.
func lifecycle(c Compute) *corev1ac.LifecycleApplyConfiguration {
	if c.PreStop == nil {
		return nil
	}
	handler := corev1ac.LifecycleHandler()
	switch {
	case c.PreStop.HTTPGet != nil:
		handler.WithHTTPGet(c.PreStop.HTTPGet.render(c.mainPort()))
	case c.PreStop.Exec != nil:
		handler.WithExec(c.PreStop.Exec.render())
	case c.PreStop.Sleep != nil:
		handler.WithSleep(corev1ac.SleepAction().WithSeconds(*secondsOf(c.PreStop.Sleep)))
	}
	return corev1ac.Lifecycle().WithPreStop(handler)
}

// given returns a pointer to a number, or nil for zero, the default.
func given(n int32) *int32 {
	if n == 0 {
		return nil
	}
	return &n
}

func seconds32(d time.Duration) int32 { return int32(min(max(d/time.Second, 0), math.MaxInt32)) }

// observeProbes reads the probes and the hooks of the main container, after its port. Probes that the provider renders
// without the attribute are not reported. Others do not follow from the launch timeout.
func observeProbes(c *Compute, container corev1.Container) {
	port := c.mainPort()
	if hook := container.Lifecycle; hook != nil && hook.PreStop != nil {
		c.PreStop = &PreStop{HTTPGet: observeHTTPGet(hook.PreStop.HTTPGet, port), Exec: observeExec(hook.PreStop.Exec)}
		if hook.PreStop.Sleep != nil {
			c.PreStop.Sleep = fromSeconds(&hook.PreStop.Sleep.Seconds)
		}
	}
	seen := ProbeSettings{observeProbe(container.StartupProbe, port), observeProbe(container.ReadinessProbe, port),
		observeProbe(container.LivenessProbe, port)}
	for _, revision := range Revisions() {
		if reflect.DeepEqual(seen, c.defaultProbes(revision)) {
			return
		}
	}
	c.Probes, c.LaunchTimeout = &seen, 0
}

// defaultProbes returns the probes that a revision renders without the attribute.
func (c Compute) defaultProbes(revision Revision) ProbeSettings {
	port := c.mainPort()
	if port == 0 {
		return ProbeSettings{}
	}
	probes := revision.Probes(c)
	observed := func(rendered *corev1ac.ProbeApplyConfiguration) *Probe {
		var probe corev1.Probe
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(toMap(rendered), &probe) // has the same fields
		return observeProbe(&probe, port)
	}
	return ProbeSettings{observed(probes.Startup), observed(probes.Readiness), observed(probes.Liveness)}
}

// observeProbe is the inverse of [Probe.render].
func observeProbe(probe *corev1.Probe, port int32) *Probe {
	if probe == nil {
		return nil
	}
	p := &Probe{
		InitialDelay: time.Duration(probe.InitialDelaySeconds) * time.Second,
		Period:       time.Duration(probe.PeriodSeconds) * time.Second,
		Timeout:      time.Duration(probe.TimeoutSeconds) * time.Second,

		FailureThreshold: probe.FailureThreshold, SuccessThreshold: probe.SuccessThreshold,
		HTTPGet: observeHTTPGet(probe.HTTPGet, port), Exec: observeExec(probe.Exec),
	}
	if check := probe.GRPC; check != nil {
		p.GRPC = &GRPCCheck{Port: unlessDefault(check.Port, port), Service: ptr.Deref(check.Service, "")}
	}
	if socket := probe.TCPSocket; socket != nil {
		p.TCPSocket = &TCPSocket{Port: unlessDefault(socket.Port.IntVal, port)}
	}
	return p
}

func observeHTTPGet(action *corev1.HTTPGetAction, port int32) *HTTPGet {
	if action == nil {
		return nil
	}
	return &HTTPGet{Path: action.Path, Port: unlessDefault(action.Port.IntVal, port),
		Scheme: unlessDefault(action.Scheme, corev1.URISchemeHTTP)}
}

func observeExec(action *corev1.ExecAction) *Exec {
	if action == nil {
		return nil
	}
	return &Exec{Command: action.Command}
}
