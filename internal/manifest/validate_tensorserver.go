package manifest

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// longestTensorServerName is how long the name of a compute can be whose pods a
// StatefulSet makes: it gives them a label with its own name, a dash and a hash
// of up to ten digits (k8s.io/kubernetes/pkg/controller/history).
const longestTensorServerName = validation.LabelValueMaxLength - len("-0123456789")

// validateTensorServer finds what has no place in a Compute of an operator, and
// what only such a one has.
func validateTensorServer(c Compute, errs *Errors) {
	switch c.Runtime {
	case "", kind.RuntimeKubetorch, kind.RuntimeSkyTorch, kind.RuntimeKPU:
	default:
		errs.add("runtime", "is %q: give %q, %q or %q.", c.Runtime, kind.RuntimeKubetorch, kind.RuntimeSkyTorch, kind.RuntimeKPU)
	}
	if !RunsTensorServer(c.Runtime) {
		for _, of := range []struct {
			attribute string
			set       bool
		}{
			{"command", len(c.Command) > 0}, {"args", len(c.Args) > 0}, {"volume_claim_templates", len(c.VolumeClaimTemplates) > 0},
		} {
			if of.set {
				errs.add(of.attribute, "is for runtime %q and %q: remove it, or set runtime.", kind.RuntimeSkyTorch, kind.RuntimeKPU)
			}
		}
		if c.Manifest != nil && kindOf(c).RunsTensorServer() {
			errs.add("manifest", "is a Compute of %s: set runtime instead, with the attributes for it.", kindOf(c).Group)
		}
		return
	}
	for _, of := range []struct {
		attribute string
		set       bool
	}{
		{"autoscale", c.Autoscale != nil}, {"distribute", c.Distribute != nil},
		{"manifest", c.Manifest != nil}, {"selector", len(c.Selector) > 0}, {"endpoint", c.Endpoint != nil},
		{"image_setup", c.ImageSetup != nil}, {"queue_name", c.QueueName != ""}, {"priority_class_name", c.PriorityClassName != ""},
		{"image_pull_policy", c.ImagePullPolicy != ""}, {"working_dir", c.WorkingDir != ""},
		{"gpu_memory", c.GPUMemory != nil}, {"shared_memory_limit", c.SharedMemoryLimit != nil},
		{"freeze", c.Freeze}, {"inactivity_ttl", c.InactivityTTL != ""}, {"allowed_serialization", len(c.AllowedSerialization) > 0},
		{"kubetorch_version", c.KubetorchVersion != ""},
	} {
		if of.set {
			errs.add(of.attribute, "has no meaning for a Compute of runtime %q: remove it.", c.Runtime)
		}
	}
	if c.ReplicasGiven && c.Replicas != 1 {
		errs.add("replicas", "is %d, but the operator runs one pod: remove it, and set suspend for none.", c.Replicas)
	}
	if len(c.Name) > longestTensorServerName {
		errs.add("name", "has %d characters, and with runtime %q no more than %d are possible, since the pods get a label with it and a hash.",
			len(c.Name), c.Runtime, longestTensorServerName)
	}
	for _, name := range slices.Sorted(maps.Keys(c.EnvVars)) {
		if why := ReservedVariable(c.Runtime, name); why != "" {
			errs.add("env_vars", "sets %s, %s: remove it.", name, why)
		}
	}
	if slices.ContainsFunc(c.Secrets, func(s SecretRef) bool { return len(s.EnvVars) > 0 }) {
		errs.add("secrets", "exposes keys as variables, %s: remove env_vars.", NoSecretVariables)
	}
	for _, attribute := range ofOverride(c) {
		switch {
		case c.Runtime == kind.RuntimeKPU:
			errs.add(attribute, "%s: remove it, or set runtime to %q.", NoKPUField, kind.RuntimeSkyTorch)
		case c.NoOverride:
			errs.add(attribute, "has no field in the Compute that is installed (CRD computes.%s, %s): it has neither override nor volumeClaimTemplates, as that of SkyTorch 0.1.0. Remove it, or install a newer operator.",
				kind.SkyTorchGroup, kind.SkyTorchCompute().Version)
		}
	}
	validateClaimTemplates(c, errs)
}

// NoSecretVariables says why no key of a Secret can be a variable of a tensor server (pkg/controllers/statefulset.go of
// github.com/astefanutti/skytorch: up to commit deb2850 of February 2026 the keys of the list repeat, which the API
// server refuses; at 39cbfc9 the variable has no value).
const NoSecretVariables = "which its operator does not pass on: the compute never becomes ready, or the variable is empty"

// NoKPUField says why an attribute of the pods has no place in KPU's Compute
// (pkg/apis/kpu/v1alpha1/compute_types.go of github.com/astefanutti/skytorch at commit 160d108).
const NoKPUField = "has no field in the Compute of KPU, which has neither override nor volumeClaimTemplates"

// ReservedVariable says why a variable of a tensor server cannot be set; "" where it can. Operators set three
// themselves, and up to SkyTorch's commit deb2850 (pkg/controllers/statefulset.go) a second one of the same name makes
// the API server refuse the StatefulSet. Since commit 39cbfc9 they set none, but go on to reach the server at port 50051.
func ReservedVariable(runtime, name string) string {
	k, ok := kind.OfRuntime(runtime)
	if !ok {
		return ""
	}
	switch prefix := k.Server.EnvPrefix; name {
	case prefix + "PORT", prefix + "HOST", prefix + "LOG_LEVEL":
		return "which the operator sets itself, so that the API server refuses its StatefulSet and the compute never becomes ready"
	default:
		return ""
	}
}

// ofOverride are the attributes of a tensor server that are rendered into override or volumeClaimTemplates.
func ofOverride(c Compute) []string {
	var found []string
	for _, of := range []struct {
		attribute string
		set       bool
	}{
		{"node_selector", len(c.NodeSelector) > 0}, {"gpu_type", c.GPUType != ""}, {"tolerations", len(c.Tolerations) > 0},
		{"service_account_name", c.ServiceAccountName != ""}, {"volumes", len(c.Volumes) > 0}, {"secrets", len(c.Secrets) > 0},
		{"volume_claim_templates", len(c.VolumeClaimTemplates) > 0},
	} {
		if of.set {
			found = append(found, of.attribute)
		}
	}
	return found
}

func validateClaimTemplates(c Compute, errs *Errors) {
	var names []string
	for i, t := range c.VolumeClaimTemplates {
		switch {
		case t.Name == "" || t.MountPath == "" || t.Size == nil:
			errs.add("volume_claim_templates", "item %d needs a name, a size and a mount_path.", i)
		case slices.Contains(names, t.Name):
			errs.add("volume_claim_templates", "item %d is named %q as another one is: give it another name.", i, t.Name)
		}
		names = append(names, t.Name)
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
