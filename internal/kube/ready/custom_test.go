package ready

import "testing"

func TestReadinessOfKindsOutsideTheTable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		phase     Phase
		needsPods bool
	}{
		"custom-ready":          {phase: Ready},
		"custom-ready-stale":    {phase: Progressing},
		"custom-no-status":      {phase: Progressing, needsPods: true},
		"custom-no-status-pods": {phase: Ready, needsPods: true},
		"custom-phase-ready":    {phase: Ready, needsPods: true},
		"custom-phase-pull":     {phase: Pulling, needsPods: true},
		"custom-phase-no-pods":  {phase: Progressing, needsPods: true},
		"custom-phase-few-pods": {phase: Progressing, needsPods: true},
		"custom-pods-ended":     {phase: Ready, needsPods: true},
		"custom-conditions-map": {phase: Ready, needsPods: true},
		"custom-complete":       {phase: Ready, needsPods: true},
		"custom-failed":         {phase: Crashing, needsPods: true},
		"custom-suspended":      {phase: Suspended},
		"rollout-ready":         {phase: Ready},
		"rollout-lag":           {phase: Progressing},
		"rollout-updates":       {phase: Progressing},
		"rollout-hash":          {phase: Ready},
		"rollout-zero":          {phase: Suspended, needsPods: true},
		"ready":                 {phase: Ready}, // a Deployment
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := load(t, name)
			v := Assess(s)
			if v.Phase != want.phase {
				t.Errorf("phase %s, want %s: %s", v.Phase, want.phase, v.Message)
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
