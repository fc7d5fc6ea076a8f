package kind

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
)

// StatefulSet is apps/v1 StatefulSet. If an immutable field changes, the server
// names only spec.
func StatefulSet() Kind { return must("apps", "StatefulSet") }

func statefulSet() Kind {
	return workload(appsv1.SchemeGroupVersion, "StatefulSet", &Workload{
		Complete: func(c Compute, workload map[string]any) {
			SetDefault(workload, cmp.Or(c.Subdomain, c.Name), "spec", "serviceName")
		},
		Groups:     replicated(),
		Scales:     true,
		Scale:      scaledReplicas(),
		Suspension: noReplicas(),
		Restart:    restartByStrategy,
		Selects:    true,
		Readiness:  OfStatefulSet,
		Defaults: map[string]any{"podManagementPolicy": "OrderedReady", "revisionHistoryLimit": int64(10),
			"updateStrategy": map[string]any{"type": "RollingUpdate",
				"rollingUpdate": map[string]any{"partition": int64(0)}},
			"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Retain", "whenScaled": "Retain"}},
	}, "spec")
}
