package manifest

import (
	"maps"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// longestTensorServerName is the maximum length of the name of a tensor server. Its
// StatefulSet sets a label of the pods to the name, a dash and a hash of up to ten
// digits (k8s.io/kubernetes/pkg/controller/history).
const longestTensorServerName = longestName - len("-0123456789")

// validateRuntime rejects attributes and values that the runtime does not support.
func validateRuntime(c Compute) Errors {
	var errs Errors
	runtime := At("runtime")
	c.refuseUnsupported(c.runner(), &errs, runtime)
	if !RunsTensorServer(c.Runtime) {
		if c.Manifest != nil && kindOf(c).RunsTensorServer() {
			errs.add("manifest", "is a Compute of %s: set runtime instead, with its attributes.", kindOf(c).Group).
				Concerning(runtime)
		}
		return errs
	}
	if c.ReplicasGiven && c.Replicas != 1 {
		errs.report(At("replicas"), conflict, "replicas is %d, but the operator of runtime %q runs one pod: remove "+
			"it, or set suspend = true to run none.",
			c.Replicas, c.Runtime)
	}
	if len(c.Name) > longestTensorServerName {
		errs.add("name", "has %d characters. The pod of a tensor server has a label with the name, a dash and a hash. "+
			"The value of a label can have at most %d: use a name of at most %d.", len(c.Name), longestName,
			longestTensorServerName)
	}
	for _, name := range slices.Sorted(maps.Keys(c.EnvVars)) {
		if why := ReservedVariable(c.Runtime, name); why != "" {
			errs.report(At("env_vars", Entry(name)), "Variable of the operator", "env_vars sets %s, %s: remove it.",
				name, why)
		}
	}
	for i, secret := range c.Secrets {
		reject := func(attribute string, variables int) {
			if at := At("secrets", Index(i), Name(attribute)); variables > 0 {
				errs.report(at, "Secret variables of a tensor server", "%s exposes keys of a Secret as variables, "+
					"%s: remove it.", at, noSecretVariables)
			}
		}
		reject("env_vars", len(secret.EnvVars))
		reject("env_keys", len(secret.EnvKeys))
	}
	for i, v := range c.Volumes {
		if at := At("volumes", Index(i)); v.Name != "" || v.ClaimName == "" || v.SubPath != "" {
			errs.report(at, conflict, "%s has name, sub_path or another source than claim_name, which the provider "+
				"supports only with runtime = %q: remove them.", at, kind.RuntimeKubetorch).
				Concerning(append(identityOfVolume(at), runtime)...)
		}
	}
	return errs
}

// noSecretVariables is the reason why a key of a Secret cannot be a variable of a tensor server. In
// pkg/controllers/statefulset.go of github.com/astefanutti/skytorch, up to commit deb2850 of February 2026, the list
// contains duplicate keys, which the API server rejects. At 39cbfc9, the variable has no value.
const noSecretVariables = "which its operator does not support: the compute never becomes ready, or the variable is " +
	"empty"

// ReservedVariable returns the reason why a variable of a tensor server cannot be set, or "" if it can. Operators set
// three variables themselves. Up to SkyTorch's commit deb2850 (pkg/controllers/statefulset.go), the API server rejects
// a StatefulSet that repeats one. Since commit 39cbfc9 they set none, but still connect to port 50051.
func ReservedVariable(runtime, name string) string {
	k, ok := kind.OfRuntime(runtime)
	if !ok {
		return ""
	}
	switch prefix := k.Server.EnvPrefix; name {
	case prefix + "PORT", prefix + "HOST", prefix + "LOG_LEVEL":
		return "which the operator sets, so that the API server rejects its StatefulSet and the compute never " +
			"becomes ready"
	default:
		return ""
	}
}

// operatorLabels returns the labels by which the operator selects the pods of a
// tensor server.
func operatorLabels(c Compute) map[string]string {
	k, ok := kind.OfRuntime(c.Runtime)
	if !ok {
		return nil
	}
	return map[string]string{kind.OperatorNameLabel: k.Server.Name, kind.OperatorInstanceLabel: c.Name}
}
