package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// SurgeOf returns the number of pods that a rolling update of a rendered Deployment starts in addition to its replicas,
// and the number of their GPUs. It returns zero for a workload without limits of a rolling update.
func SurgeOf(workload *unstructured.Unstructured) (pods, gpus int64) {
	seen, all := Observe(workload), InventoryOf(workload)
	if all.Pods == 0 || seen.MaxSurge == "" && seen.MaxUnavailable == "" {
		return 0, 0
	}
	surge := intstr.FromString("25%") // the default of Kubernetes
	if seen.MaxSurge != "" {
		surge = intstr.Parse(seen.MaxSurge)
	}
	number, err := intstr.GetScaledValueFromIntOrPercent(&surge, int(all.Pods), true)
	if err != nil {
		return 0, 0
	}
	return int64(number), int64(number) * (all.GPUs / all.Pods)
}

// validateRollout rejects a strategy of another kind than a Deployment, and limits without a rolling update.
func validateRollout(c Compute, errs *Errors) {
	k := kindOf(c)
	rolls := kind.StrategyOf(kindInput(c)) == appsv1.RollingUpdateDeploymentStrategyType
	inManifest, _ := kind.Find(c.Manifest, []string{"spec", "strategy"})
	for _, attribute := range c.setOf("strategy", "max_surge", "max_unavailable") {
		switch {
		case len(k.Strategy) == 0:
			errs.report(At(attribute), conflict, "%s is how a Deployment replaces its pods, but the compute is a "+
				"%s: remove it.", attribute, k.Word()).Concerning(modeAttributes()...)
		case attribute == "strategy":
		case inManifest != nil:
			errs.mutuallyExclusive(attribute, "manifest", "manifest contains spec.strategy, which has this limit too")
		case !rolls:
			errs.report(At(attribute), conflict, "%s limits a rolling update, but the pods are replaced in another "+
				"way: set strategy = \"RollingUpdate\", or remove %s.", attribute, attribute).Concerning(
				At("strategy"), At("port"), At("command"), At("args"), At("distribute"))
		}
	}
	if kind.IsNoPod(c.MaxSurge) && kind.IsNoPod(c.MaxUnavailable) {
		errs.add("max_unavailable", "is zero, as is max_surge, so no pod could be replaced: increase one of the two.").
			Concerning(At("max_surge"))
	}
}
