package manifest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
)

// SecurityContext contains the security settings of the pods. A nil field is not set.
type SecurityContext struct {
	// These are fields of the pod, so that they apply to all of its containers.
	RunAsUser, RunAsGroup, FSGroup *int64
	RunAsNonRoot                   *bool
	SupplementalGroups             []int64
	SeccompProfile                 *corev1.SeccompProfile

	// These exist only for a container, and apply to the main one.
	Privileged, AllowPrivilegeEscalation, ReadOnlyRootFilesystem *bool
	Capabilities                                                 *corev1.Capabilities
}

// debuggerCapability is that of Kubetorch's debugger, which attaches to the running server.
const debuggerCapability = corev1.Capability("SYS_PTRACE")

func podSecurity(s *SecurityContext) *corev1.PodSecurityContext {
	if s == nil {
		return nil
	}
	return &corev1.PodSecurityContext{
		RunAsUser: s.RunAsUser, RunAsGroup: s.RunAsGroup, RunAsNonRoot: s.RunAsNonRoot, FSGroup: s.FSGroup,
		SupplementalGroups: s.SupplementalGroups, SeccompProfile: s.SeccompProfile,
	}
}

func containerSecurity(c Compute) *corev1ac.SecurityContextApplyConfiguration {
	security, capabilities := corev1ac.SecurityContext(), corev1ac.Capabilities()
	if !c.runsOwnServer() && !c.Freeze {
		capabilities.WithAdd(debuggerCapability)
	}
	if s := c.SecurityContext; s != nil {
		security.Privileged, security.AllowPrivilegeEscalation = s.Privileged, s.AllowPrivilegeEscalation
		security.ReadOnlyRootFilesystem = s.ReadOnlyRootFilesystem
		if given := s.Capabilities; given != nil {
			capabilities.WithDrop(given.Drop...)
			for _, name := range given.Add {
				if !slices.Contains(capabilities.Add, name) {
					capabilities.WithAdd(name)
				}
			}
		}
	}
	return security.WithCapabilities(capabilities)
}

// observePodSecurity is the inverse of podSecurity.
func observePodSecurity(c *Compute, pod *corev1.PodSecurityContext) {
	if pod == nil {
		return
	}
	c.setSecurity(SecurityContext{
		RunAsUser: pod.RunAsUser, RunAsGroup: pod.RunAsGroup, RunAsNonRoot: pod.RunAsNonRoot, FSGroup: pod.FSGroup,
		SupplementalGroups: pod.SupplementalGroups, SeccompProfile: pod.SeccompProfile,
	})
}

// observeContainerSecurity is the inverse of containerSecurity, and adds to the result of observePodSecurity.
func observeContainerSecurity(c *Compute, container *corev1.SecurityContext, runsKubetorch bool) {
	c.Freeze = runsKubetorch
	if container == nil {
		return
	}
	seen := ptr.Deref(c.SecurityContext, SecurityContext{})
	seen.Privileged, seen.AllowPrivilegeEscalation = container.Privileged, container.AllowPrivilegeEscalation
	seen.ReadOnlyRootFilesystem = container.ReadOnlyRootFilesystem
	if capabilities := container.Capabilities.DeepCopy(); capabilities != nil {
		if i := slices.Index(capabilities.Add, debuggerCapability); runsKubetorch && i >= 0 {
			c.Freeze, capabilities.Add = false, slices.Delete(capabilities.Add, i, i+1)
		}
		if len(capabilities.Add)+len(capabilities.Drop) > 0 {
			seen.Capabilities = capabilities
		}
	}
	c.setSecurity(seen)
}

func (c *Compute) setSecurity(seen SecurityContext) {
	if !reflect.ValueOf(seen).IsZero() {
		c.SecurityContext = &seen
	}
}

// validateSecurity rejects contradictions that only the kubelet would report, after the pods have been replaced.
func validateSecurity(c Compute, errs *Errors) {
	s := c.SecurityContext
	if s == nil {
		return
	}
	at := func(steps ...Step) Path { return At("security_context", steps...) }
	if s.RunAsNonRoot != nil && *s.RunAsNonRoot && s.RunAsUser != nil && *s.RunAsUser == 0 {
		errs.report(at(Name("run_as_user")), conflict, "security_context.run_as_user is 0, which is root, but "+
			"run_as_non_root excludes it: set another user, or remove run_as_non_root.").
			Concerning(at(Name("run_as_non_root")))
	}
	if profile := s.SeccompProfile; profile != nil {
		local := at(Name("seccomp_profile"), Name("localhost_profile"))
		if (profile.Type == corev1.SeccompProfileTypeLocalhost) != (profile.LocalhostProfile != nil) {
			errs.report(local, conflict, "%s is the file of a profile of the type Localhost: set both, or neither.",
				local).Concerning(at(Name("seccomp_profile"), Name("type")))
		}
	}
	if s.Capabilities != nil && c.Freeze && slices.Contains(s.Capabilities.Add, debuggerCapability) {
		errs.report(at(Name("capabilities"), Name("add")), conflict, "security_context adds %s, which freeze removes: "+
			"remove one of the two.", debuggerCapability).Concerning(At("freeze"))
	}
	if s.Privileged != nil && *s.Privileged && kindOf(c).Autoscales {
		// pkg/apis/serving/fieldmask.go of github.com/knative/serving
		errs.report(at(Name("privileged")), conflict, "security_context.privileged is true, but Knative does not "+
			"allow privileged containers: remove it.").Concerning(modeAttributes()...)
	}
}

// restartDigest returns a digest of restart_triggers, so that the pods do not contain the values.
func restartDigest(triggers map[string]string) string {
	text, _ := json.Marshal(triggers) // sorts the keys
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
