package ready

import "testing"

func TestReadinessOfKindsOutsideTheTable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		ready, suspended, needsPods bool
	}{
		"custom-ready":          {ready: true},
		"custom-ready-stale":    {},
		"custom-no-status":      {needsPods: true},
		"custom-no-status-pods": {ready: true, needsPods: true},
		"custom-phase-ready":    {ready: true, needsPods: true},
		"custom-phase-pull":     {needsPods: true},
		"custom-phase-no-pods":  {needsPods: true},
		"custom-phase-few-pods": {needsPods: true},
		"custom-pods-ended":     {ready: true, needsPods: true},
		"custom-conditions-map": {ready: true, needsPods: true},
		"custom-complete":       {ready: true, needsPods: true},
		"custom-failed":         {needsPods: true},
		"custom-suspended":      {suspended: true},
		"rayservice-upgrade":    {},
		"rollout-ready":         {ready: true},
		"rollout-lag":           {},
		"rollout-updates":       {},
		"rollout-hash":          {ready: true},
		"rollout-zero":          {suspended: true, needsPods: true},
		"ready":                 {ready: true}, // a Deployment
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := load(t, name)
			v := Assess(s)
			if v.Ready != want.ready || v.Suspended != want.suspended {
				t.Errorf("ready %t, suspended %t: %s", v.Ready, v.Suspended, v.Message)
			}
			if got := NeedsPods(s.Workload); got != want.needsPods {
				t.Errorf("NeedsPods is %t, want %t", got, want.needsPods)
			}
			// If readiness depends on the pods, the workload is not ready without them.
			without := s
			without.Pods = nil
			if bare := Assess(without); bare.Ready && want.needsPods && name != "custom-complete" {
				t.Errorf("ready without its pods: %s", bare.Message)
			}
		})
	}
}
