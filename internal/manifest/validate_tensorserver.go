package manifest

import (
	"maps"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// longestTensorServerName is how long the name of a compute can be whose pods a
// StatefulSet makes: it gives them a label with its own name, a dash and a hash
// of up to ten digits (k8s.io/kubernetes/pkg/controller/history).
const longestTensorServerName = longestName - len("-0123456789")

// validateRuntime finds what has no place in a Compute of an operator, and what only such a one has.
func validateRuntime(c Compute) Errors {
	var errs Errors
	runtime := []Path{At("runtime")}
	if !RunsTensorServer(c.Runtime) {
		refuseSet(&errs, []setAttribute{
			{"command", len(c.Command) > 0}, {"args", len(c.Args) > 0},
			{"volume_claim_templates", len(c.VolumeClaimTemplates) > 0},
		}, runtime, "is for a tensor server: leave it out, or give runtime = %q or %q.", kind.RuntimeSkyTorch,
			kind.RuntimeKPU)
		if c.Manifest != nil && kindOf(c).RunsTensorServer() {
			errs.add("manifest", "is a Compute of %s: set runtime instead, with the attributes for it.", kindOf(c).Group).
				concerning(runtime...)
		}
		return errs
	}
	refuseSet(&errs, []setAttribute{
		{"autoscale", c.Autoscale != nil}, {"distribute", c.Distribute != nil},
		{"manifest", c.Manifest != nil}, {"pod_template_path", len(c.PodTemplatePath) > 0},
		{"selector", len(c.Selector) > 0}, {"endpoint", c.Endpoint != nil},
		{"image_setup", c.ImageSetup != nil}, {"queue_name", c.QueueName != ""},
		{"priority_class_name", c.PriorityClassName != ""},
		{"image_pull_policy", c.ImagePullPolicy != ""}, {"working_dir", c.WorkingDir != ""},
		{"gpu_memory", c.GPUMemory != nil}, {"shared_memory_limit", c.SharedMemoryLimit != nil},
		{"freeze", c.Freeze}, {"inactivity_ttl", c.InactivityTTL != ""},
		{"allowed_serialization", len(c.AllowedSerialization) > 0},
		{"logging", c.isGiven("logging")}, {"kubetorch_version", c.KubetorchVersion != ""},
		{"renderer_revision", c.isGiven("renderer_revision")},
	}, nil, "has no place in the Compute resource of runtime %q: leave it out.", c.Runtime)
	if c.ReplicasGiven && c.Replicas != 1 {
		errs.report(At("replicas"), conflict, "replicas is %d, but the operator of runtime %q runs one pod: leave it out, "+
			"or give suspend = true for none.",
			c.Replicas, c.Runtime)
	}
	if len(c.Name) > longestTensorServerName {
		errs.add("name", "has %d characters, but the pod of a tensor server gets a label with it, a dash and a hash, "+
			"and no value of a label is longer than %d: give a name of at most %d.", len(c.Name), longestName,
			longestTensorServerName)
	}
	for _, name := range slices.Sorted(maps.Keys(c.EnvVars)) {
		if why := ReservedVariable(c.Runtime, name); why != "" {
			errs.report(At("env_vars", Entry(name)), "Variable of the operator", "env_vars sets %s, %s: remove it.", name, why)
		}
	}
	for i, secret := range c.Secrets {
		if at := At("secrets", Index(i), Name("env_vars")); len(secret.EnvVars) > 0 {
			errs.report(at, "Secret variables of a tensor server", "%s exposes keys of a Secret as variables, %s: leave it "+
				"out.", at, noSecretVariables)
		}
	}
	switch {
	case c.Runtime == kind.RuntimeKPU:
		refuseSet(&errs, append(ofOverride(c), setAttribute{"gpu_anti_affinity",
			c.GPUAntiAffinity && c.isGiven("gpu_anti_affinity")}), nil,
			"%s: leave it out, or give runtime = %q.", noKPUField, kind.RuntimeSkyTorch)
	case c.NoOverride:
		refuseSet(&errs, ofOverride(c), nil, "has no field in the Compute that is installed (CRD computes.%s, %s): "+
			"it has neither override nor volumeClaimTemplates, as that of SkyTorch 0.1.0. Remove it, or install a newer "+
			"operator.",
			kind.SkyTorchGroup, kind.SkyTorchCompute().Version)
	}
	return errs
}

// noSecretVariables says why no key of a Secret can be a variable of a tensor server (pkg/controllers/statefulset.go of
// github.com/astefanutti/skytorch: up to commit deb2850 of February 2026 the keys of the list repeat, which the API
// server refuses; at 39cbfc9 the variable has no value).
const noSecretVariables = "which its operator does not pass on: the compute never becomes ready, or the variable is empty"

// noKPUField says why an attribute of the pods has no place in KPU's Compute
// (pkg/apis/kpu/v1alpha1/compute_types.go of github.com/astefanutti/skytorch at commit 160d108).
const noKPUField = "has no field in the Compute of KPU, which has neither override nor volumeClaimTemplates"

// ReservedVariable says why a variable of a tensor server cannot be set; "" where it can. Operators set three
// themselves, and up to SkyTorch's commit deb2850 (pkg/controllers/statefulset.go) a second one of the same name makes
// the API server refuse the StatefulSet. Since commit 39cbfc9 they set none, but go on to reach the server at port
// 50051.
func ReservedVariable(runtime, name string) string {
	k, ok := kind.OfRuntime(runtime)
	if !ok {
		return ""
	}
	switch prefix := k.Server.EnvPrefix; name {
	case prefix + "PORT", prefix + "HOST", prefix + "LOG_LEVEL":
		return "which the operator sets itself, so that the API server refuses its StatefulSet and the compute never " +
			"becomes ready"
	default:
		return ""
	}
}

// ofOverride are the attributes of a tensor server that are rendered into override or volumeClaimTemplates.
func ofOverride(c Compute) []setAttribute {
	return []setAttribute{
		{"node_selector", len(c.NodeSelector) > 0}, {"gpu_type", c.GPUType != ""}, {"tolerations", len(c.Tolerations) > 0},
		{"service_account_name", c.ServiceAccountName != ""}, {"volumes", len(c.Volumes) > 0},
		{"secrets", len(c.Secrets) > 0},
		{"volume_claim_templates", len(c.VolumeClaimTemplates) > 0},
	}
}

// operatorLabels are those that the pods of a tensor server must have for its
// operator to find them.
func operatorLabels(c Compute) map[string]string {
	k, ok := kind.OfRuntime(c.Runtime)
	if !ok {
		return nil
	}
	return map[string]string{kind.OperatorNameLabel: k.Server.Name, kind.OperatorInstanceLabel: c.Name}
}
