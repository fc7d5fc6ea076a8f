package manifest

import (
	"cmp"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// validateModes rejects attributes that require different kinds, and what the kind of the compute does not support.
func validateModes(c Compute, errs *Errors) {
	if c.Distribute != nil && c.Autoscale != nil {
		errs.mutuallyExclusive("distribute", "autoscale",
			"a compute either has a fixed number of workers or is scaled by its load")
	}
	if c.ReplicasGiven && c.Autoscale != nil {
		by := map[string]string{ScalerHPA: "the HorizontalPodAutoscaler", ScalerKEDA: "KEDA"}
		errs.mutuallyExclusive("replicas", "autoscale", cmp.Or(by[c.Autoscale.Scaler], "Knative")+
			" controls the number of pods, from autoscale.min_scale to max_scale")
	}
	if d := c.Distribute; d != nil && d.Workers > 0 && c.ReplicasGiven && c.Replicas != d.Workers {
		errs.mutuallyExclusive("replicas", "distribute", "their number is distribute.workers")
	}
	validateManifest(c, errs)
	validateManifestOnly(c, errs)
	validateEndpoint(c, errs)
	if k := kindOf(c); c.Suspend && len(k.Suspension) == 0 && !k.Empty() {
		errs.add("suspend", "is true, but the provider cannot suspend a %s: remove it.", k.Kind)
	}
	validateName(c, errs)
	validateDistribution(c, errs)
}

// mutuallyExclusive reports two attributes that exclude each other.
func (e *Errors) mutuallyExclusive(attribute, other, why string) Reported {
	return e.report(At(attribute), conflict, "%s and %s cannot both be set: %s. Remove one of the two.", attribute,
		other, why)
}

// validateKnative rejects attributes that Knative does not support, or that configure what it creates itself
// (pkg/apis/serving/fieldmask.go of github.com/knative/serving).
func validateKnative(c Compute, errs *Errors) {
	k := kindOf(c)
	if !k.OwnService {
		return
	}
	for _, unsupported := range []struct{ attribute, reason string }{
		{"ports", "a Knative Service has a single port, that of the server"},
		{"service", "Knative creates the Services itself"},
		{"probes", "Knative sends the readiness probes itself and restricts the others; service_template can set " +
			"those that it allows"},
		{"pre_stop", "Knative does not allow lifecycle hooks, and lets requests end before it stops a pod"},
	} {
		if c.isSet(unsupported.attribute) {
			errs.report(At(unsupported.attribute), conflict, "%s is not supported by a %s: %s. Remove it.",
				unsupported.attribute, k.Word(), unsupported.reason).Concerning(modeAttributes()...)
		}
	}
}

// validateExistingPods rejects attributes of a workload if none is created.
func validateExistingPods(c Compute, errs *Errors) {
	conflicting := func(e *AttributeError) bool { return e.Summary == conflict }
	if len(c.Selector) == 0 || c.Manifest != nil || slices.ContainsFunc(*errs, conflicting) {
		return
	}
	c.refuseUnsupported(kind.Existing, errs, At("manifest"))
}

// validatePodTemplatePath rejects a path without a pod template. It ignores kinds of the table, whose path is known.
func validatePodTemplatePath(c Compute, errs *Errors) {
	steps := c.PodTemplatePath
	if len(steps) == 0 {
		return
	}
	if c.Manifest == nil {
		errs.report(At("pod_template_path"), "Missing manifest",
			"pod_template_path is the path of the pod template in manifest: set manifest too, or remove "+
				"pod_template_path.").
			Concerning(At("manifest"))
		return
	}
	if _, known := kindOfObject(gvkOf(c.Manifest), nil); known {
		return
	}
	if missing := missingPart(c.Manifest, steps); missing != nil {
		errs.add("pod_template_path", "is %s, but manifest has no object at %s: set the path of its pod template, "+
			"as in spec.template.", dotted(steps), dotted(missing))
	}
}

// missingPart returns the first part of a path at which there is nothing, or the path if it does not lead to an object,
// or nil if it does.
func missingPart(root map[string]any, path []string) []string {
	for i := range path {
		value, _ := kind.Find(root, path[:i+1])
		if _, isMap := value.(map[string]any); value == nil || i == len(path)-1 && !isMap {
			return path[:i+1]
		}
	}
	return nil
}

// validateDistribution rejects a manifest that cannot run the workers of distribute.
func validateDistribution(c Compute, errs *Errors) {
	if c.Distribute == nil || c.Manifest == nil {
		return
	}
	typePath := At("distribute", Name("type"))
	switch k := kindOf(c); {
	case !isDistributed(c) && k.Distribution != c.Distribute.Type:
		errs.report(typePath, conflict, "distribute.type is %q, but manifest has the mode %s: use a RayCluster, or "+
			"set another type.", c.Distribute.Type, k.Mode)
	case isDistributed(c) && k.OwnService:
		errs.report(At("distribute"), conflict,
			"distribute requires a fixed number of workers, but manifest is a Knative Service, and Knative controls "+
				"the number of pods: remove one of the two.").
			Concerning(typePath)
	}
}

// validateDistribute rejects contradictory settings of the workers.
func validateDistribute(c Compute, errs *Errors) {
	d := c.Distribute
	if d == nil {
		return
	}
	workers, quorum := At("distribute", Name("workers")), At("distribute", Name("quorum_workers"))
	requested, _ := requestedReplicas(c)
	switch most := max(requested, 1); {
	case d.QuorumWorkers == nil || *d.QuorumWorkers <= most:
	case d.Workers == 0 && c.Manifest == nil:
		errs.At(quorum, "is %d, but without distribute.workers there is one worker: set distribute.workers.",
			*d.QuorumWorkers).
			Concerning(workers, At("manifest"), At("replicas"))
	default:
		errs.At(quorum, "is %d, but there are %d workers: decrease it, or increase distribute.workers.",
			*d.QuorumWorkers, most).
			Concerning(workers, At("manifest"), At("replicas"))
	}
	if version, ok := d.Args[kind.RayVersionArg]; ok && d.Type == kind.DistributionRay &&
		kind.RayVersion(d.Args) == "" {
		errs.At(At("distribute", Name("args")), "has %v as %s, which must be a string: set it as in jsonencode({ %s "+
			"= %q }).",
			version, kind.RayVersionArg, kind.RayVersionArg,
			kind.DefaultRayVersion).Concerning(At("distribute", Name("type")))
	}
}

// validateArgs rejects settings in args that have an attribute.
func validateArgs(d *Distribute, errs *Errors) {
	args := At("distribute", Name("args"))
	for _, own := range []struct{ key, attribute string }{
		{"distribution_type", "type"}, {"quorum_workers", "quorum_workers"}, {"quorum_timeout", "quorum_timeout"},
		{"monitor_members", "monitor_members"},
	} {
		if _, ok := d.Args[own.key]; ok {
			errs.At(args, "has %s, which is distribute.%s: set that attribute, and remove the key from "+
				"args.", own.key, own.attribute)
		}
	}
}
