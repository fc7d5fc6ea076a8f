package manifest

import (
	"slices"
	"strconv"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// validateModes finds attributes that ask for different ways to run a compute, and what does not go with its kind.
func validateModes(c Compute, errs *Errors) {
	if c.Distribute != nil && c.Autoscale != nil {
		errs.mutuallyExclusive("distribute", "autoscale",
			"a compute either has a fixed number of workers or is scaled by its load")
	}
	if c.ReplicasGiven && c.Autoscale != nil {
		errs.mutuallyExclusive("replicas", "autoscale",
			"Knative controls the number of pods, from autoscale.min_scale to max_scale")
	}
	if d := c.Distribute; d != nil && d.Workers > 0 && c.ReplicasGiven && !c.ReplicasKept && c.Replicas != d.Workers {
		errs.mutuallyExclusive("replicas", "distribute", "their number is distribute.workers")
	}
	validateManifest(c, errs)
	validateEndpoint(c, errs)
	validateSuspend(c, errs)
	validateName(c, errs)
	validateDistribution(c, errs)
}

// mutuallyExclusive reports two attributes that exclude each other.
func (e *Errors) mutuallyExclusive(attribute, other, why string) {
	e.report(At(attribute), conflict, "%s and %s cannot both be set: %s. Remove one of the two.", attribute, other, why)
}

// validatePodless finds what has no place where no workload is made.
func validatePodless(c Compute, errs *Errors) {
	conflicting := func(e *AttributeError) bool { return e.Summary == conflict }
	if len(c.Selector) == 0 || c.Manifest != nil || slices.ContainsFunc(*errs, conflicting) {
		return
	}
	c.refuseUnsupported(Existing, errs, At("manifest"))
}

// validatePodTemplatePath finds a path to no pod template. Of the kinds that the provider knows, it knows where it is.
func validatePodTemplatePath(c Compute, errs *Errors) {
	steps := c.PodTemplatePath
	if len(steps) == 0 {
		return
	}
	if c.Manifest == nil {
		errs.report(At("pod_template_path"), "Missing manifest",
			"pod_template_path is the path of the pod template in manifest: set manifest too, or remove "+
				"pod_template_path.").
			concerning(At("manifest"))
		return
	}
	if _, known := kindOfObject(gvkOf(c.Manifest), nil); known {
		return
	}
	if missing, found := followTo(c.Manifest, steps); !found {
		errs.add("pod_template_path", "is %s, but manifest has no object at %s: set the path of its pod template, "+
			"as in spec.template.", dotted(steps), missing)
	}
}

// followTo reports whether there is an object at a path of names and, in lists, of indexes; if not, up to where there
// is none.
func followTo(value any, steps []string) (missing string, found bool) {
	for i, step := range steps {
		var next any
		switch in := value.(type) {
		case map[string]any:
			next = in[step]
		case []any:
			if index, err := strconv.Atoi(step); err == nil && index >= 0 && index < len(in) {
				next = in[index]
			}
		}
		if next == nil {
			return dotted(steps[:i+1]), false
		}
		value = next
	}
	_, found = value.(map[string]any)
	return dotted(steps), found
}

// validateDistribution checks the workload that the workers are pods of.
func validateDistribution(c Compute, errs *Errors) {
	if c.Distribute == nil || c.Manifest == nil {
		return
	}
	kindOfWay := At("distribute", Name("type"))
	switch k := kindOf(c); {
	case !isDistributed(c) && k.Distribution != c.Distribute.Type:
		errs.report(kindOfWay, conflict, "distribute.type is %q, but manifest has the mode %s: use a RayCluster, or "+
			"set another type.", c.Distribute.Type, k.Mode)
	case isDistributed(c) && k.OwnService:
		errs.report(At("distribute"), conflict,
			"distribute requires a fixed number of workers, but manifest is a Knative Service, and Knative controls "+
				"the number of pods: remove one of the two.").
			concerning(kindOfWay)
	}
}

// validateDistribute finds settings of the workers that do not fit each other.
func validateDistribute(c Compute, errs *Errors) {
	d := c.Distribute
	if d == nil {
		return
	}
	workers, quorum := At("distribute", Name("workers")), At("distribute", Name("quorum_workers"))
	switch most := max(designedWorkers(c), 1); {
	case d.QuorumWorkers == nil || *d.QuorumWorkers <= most:
	case d.Workers == 0 && c.Manifest == nil:
		errs.at(quorum, "is %d, but without distribute.workers there is one worker: set distribute.workers.",
			*d.QuorumWorkers).
			concerning(workers, At("manifest"), At("replicas"))
	default:
		errs.at(quorum, "is %d, but there are %d workers: decrease it, or increase distribute.workers.",
			*d.QuorumWorkers, most).
			concerning(workers, At("manifest"), At("replicas"))
	}
	if version, ok := d.Args[kind.RayVersionArg]; ok && d.Type == kind.DistributionRay &&
		kind.RayVersion(d.Args) == "" {
		errs.at(At("distribute", Name("args")), "has %v as %s, which must be a string: set it as in jsonencode({ %s "+
			"= %q }).",
			version, kind.RayVersionArg, kind.RayVersionArg,
			kind.DefaultRayVersion).concerning(At("distribute", Name("type")))
	}
}

// validateArgs finds settings in args that have attributes.
func validateArgs(d *Distribute, errs *Errors) {
	args := At("distribute", Name("args"))
	for _, own := range []struct{ key, attribute string }{
		{"distribution_type", "type"}, {"quorum_workers", "quorum_workers"}, {"quorum_timeout", "quorum_timeout"},
		{"monitor_members", "monitor_members"},
	} {
		if _, ok := d.Args[own.key]; ok {
			errs.at(args, "has %s, which is distribute.%s: set that attribute, and remove the key from "+
				"args.", own.key, own.attribute)
		}
	}
}
