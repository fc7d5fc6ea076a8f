package manifest

import (
	"time"

	"k8s.io/utils/ptr"
)

// validateProbes rejects probes and hooks that Kubernetes would reject.
func validateProbes(c Compute, errs *Errors) {
	if c.Probes != nil {
		if c.HealthPath != "" {
			errs.mutuallyExclusive("health_path", "probes", "it is requested by the probes that probes replaces")
		}
		validateProbe(c, At("probes", Name("startup")), c.Probes.Startup, true, errs)
		validateProbe(c, At("probes", Name("readiness")), c.Probes.Readiness, false, errs)
		validateProbe(c, At("probes", Name("liveness")), c.Probes.Liveness, true, errs)
	}
	validatePreStop(c, errs)
}

// validateProbe rejects a probe without exactly one handler, and one that succeeds more than once if it must not.
func validateProbe(c Compute, at Path, p *Probe, succeedsOnce bool, errs *Errors) {
	if p == nil {
		return
	}
	validateHandlers(c, at, []handler{
		{choice{"http_get", p.HTTPGet != nil}, p.HTTPGet != nil && p.HTTPGet.Port == 0},
		{choice{"grpc", p.GRPC != nil}, p.GRPC != nil && p.GRPC.Port == 0},
		{choice{"tcp_socket", p.TCPSocket != nil}, p.TCPSocket != nil && p.TCPSocket.Port == 0},
		{choice{"exec", p.Exec != nil}, false},
	}, errs)
	validateWholeSeconds(at.At(Name("initial_delay")), p.InitialDelay, errs)
	validateWholeSeconds(at.At(Name("period")), p.Period, errs)
	validateWholeSeconds(at.At(Name("timeout")), p.Timeout, errs)
	if succeedsOnce && p.SuccessThreshold > 1 {
		errs.At(at.At(Name("success_threshold")), "is %d, but Kubernetes requires 1 for startup and liveness probes: "+
			"remove it.", p.SuccessThreshold)
	}
}

// validatePreStop rejects a hook without exactly one handler, and a pause that takes longer than the pods may take to
// end. The default of that time is 30 s, as in Kubernetes.
func validatePreStop(c Compute, errs *Errors) {
	hook, at := c.PreStop, At("pre_stop")
	if hook == nil {
		return
	}
	validateHandlers(c, at, []handler{
		{choice{"exec", hook.Exec != nil}, false},
		{choice{"http_get", hook.HTTPGet != nil}, hook.HTTPGet != nil && hook.HTTPGet.Port == 0},
		{choice{"sleep", hook.Sleep != nil}, false},
	}, errs)
	if hook.Sleep == nil {
		return
	}
	period := ptr.Deref(c.TerminationGracePeriod, 30*time.Second)
	sleep := at.At(Name("sleep"))
	if *hook.Sleep > period && c.Manifest == nil && c.ServiceTemplate == nil {
		errs.At(sleep, "is %s, but the pods are killed after %s: decrease it, or increase termination_grace_period.",
			FormatDuration(*hook.Sleep), FormatDuration(period)).
			Concerning(At("termination_grace_period"), At("manifest"), At("service_template"))
	}
	if *hook.Sleep == 0 {
		errs.At(sleep, "is zero: set at least 1s, or remove it.")
	}
	validateWholeSeconds(sleep, *hook.Sleep, errs)
}

// handler is an alternative of a probe or a hook.
type handler struct {
	choice

	usesPort bool // its port is that of the server
}

// validateHandlers rejects several handlers or none, and one that uses the port of a server that has none.
func validateHandlers(c Compute, at Path, handlers []handler, errs *Errors) {
	var choices []choice
	for _, h := range handlers {
		choices = append(choices, h.choice)
		if h.isSet && h.usesPort && c.mainPort() == 0 {
			errs.At(at.At(Name(h.attribute)), "has no port, and neither has the server, whose port is the default: "+
				"set port in it, or the attribute port.").
				Concerning(at.At(Name(h.attribute), Name("port")), At("port"), At("command"), At("args"))
		}
	}
	errs.exactlyOne(at, choices...)
}
