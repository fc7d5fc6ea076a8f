package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
)

// longestTensorServerName is how long the name of a compute can be whose pods a
// StatefulSet makes: it gives them a label with its own name, a dash and a hash
// of up to ten digits (k8s.io/kubernetes/pkg/controller/history).
const longestTensorServerName = validation.LabelValueMaxLength - len("-0123456789")

// validateTensorServer finds what has no place in a Compute of an operator, and
// what only such a one has.
func validateTensorServer(c Compute, errs *Errors) {
	switch c.Runtime {
	case "", RuntimeKubetorch, RuntimeSkyTorch, RuntimeKPU:
	default:
		errs.add("runtime", "is %q: give %q, %q or %q.", c.Runtime, RuntimeKubetorch, RuntimeSkyTorch, RuntimeKPU)
	}
	if !RunsTensorServer(c.Runtime) {
		for _, of := range []struct {
			attribute string
			set       bool
		}{
			{"command", len(c.Command) > 0}, {"args", len(c.Args) > 0}, {"volume_claim_templates", len(c.VolumeClaimTemplates) > 0},
		} {
			if of.set {
				errs.add(of.attribute, "is for runtime %q and %q: remove it, or set runtime.", RuntimeSkyTorch, RuntimeKPU)
			}
		}
		if c.Manifest != nil && kindOf(c).mode == ModeCompute {
			errs.add("manifest", "is a Compute of %s: set runtime instead, with the attributes for it.", kindOf(c).gvk.Group)
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
	validateClaimTemplates(c, errs)
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
	name, ok := map[string]string{RuntimeSkyTorch: "skytorch-server", RuntimeKPU: "kpu-torch-server"}[c.Runtime]
	if !ok {
		return nil
	}
	return map[string]string{operatorNameLabel: name, operatorInstanceLabel: c.Name}
}
