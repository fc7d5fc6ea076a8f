package ready

import (
	"testing"
	"time"
)

// TestOnlyUnrecoverableCausesArePermanent: if a wait ends too early, the run fails
// although the compute would become ready. If it ends too late, the user waits in
// vain.
func TestOnlyUnrecoverableCausesArePermanent(t *testing.T) {
	t.Parallel()
	const mayRecover = -1
	for name, want := range map[string]time.Duration{ // required duration
		// Containers that fail: the second restart decides, or the controller.
		"crash-once":                 mayRecover,
		"crash-second":               mayRecover,
		"crash-between":              0,
		"crash":                      0,
		"crash-runs-again":           mayRecover,
		"crash-init-early":           mayRecover,
		"crash-init":                 0,
		"crash-native-sidecar-early": mayRecover,
		"crash-sidecar-early":        mayRecover,
		"crash-sidecar":              0,
		"job-retry-awaited":          mayRecover,
		"job-crash-counted":          mayRecover,
		"job-failed-pod":             shortGrace,
		"training-crash":             0,
		"training-crash-counted":     mayRecover,
		// Memory: with a limit, the first restart decides.
		"oom-once":       mayRecover,
		"oom-runs-again": mayRecover,
		"oom-twice":      0,
		"oom":            0,
		"oom-node-twice": mayRecover,
		"oom-node":       0,
		// Images: a rejection by the registry is permanent.
		"image-name":          0,
		"image-missing":       pullGrace,
		"image-denied":        pullGrace,
		"image-pull":          pullGrace,
		"image-timeout":       recoverGrace,
		"image-registry-down": recoverGrace,
		"image-throttled":     mayRecover,
		"image-disk-full":     mayRecover,
		"image-qps":           mayRecover,
		"knative-image":       pullGrace,
		// New nodes.
		"start-error":      pullGrace,
		"start-gpu-driver": mayRecover,
		"gpu-registering":  mayRecover,
		// Nodes that are added on demand.
		"gpu-none":             scaleGrace,
		"gpu-none-fixed":       shortGrace,
		"scale-from-zero":      mayRecover,
		"autoscaler-silent":    mayRecover,
		"autoscaler-scales":    mayRecover,
		"autoscaler-full":      mayRecover,
		"autoscaler-two":       mayRecover,
		"autoscaler-refuses":   scaleGrace,
		"autoscaler-unlabeled": scaleGrace,
		"karpenter-refuses":    mayRecover,
		// Volumes: a provisioner retries, and reports if it is only throttled.
		"claim-refused-once":         mayRecover,
		"claim-refused":              volumeGrace,
		"claim-waits-new-node":       recoverGrace,
		"claim-throttled":            mayRecover,
		"claim-slow":                 mayRecover,
		"claim-class-missing":        volumeGrace,
		"mount-multi-attach-other":   mayRecover,
		"mount-multi-attach-leaving": mayRecover,
		"mount-multi-attach-unready": mayRecover,
		"mount-multi-attach-named":   mayRecover,
		"mount-multi-attach-custom":  mayRecover,
		"mount-multi-attach-forged":  mayRecover,
		"mount-multi-attach-own":     volumeGrace,
		// References: the kubelet tries again after 10 to 15 s.
		"config-secret":   shortGrace,
		"config-key":      volumeGrace,
		"config-root":     shortGrace,
		"config-services": mayRecover,
		// Events without a second fact.
		"ray-invalid":        shortGrace,
		"ray-invalid-update": mayRecover,
		// Quotas.
		"quota":                 shortGrace,
		"quota-uncounted":       mayRecover,
		"quota-leaving":         mayRecover,
		"webhook-down":          mayRecover,
		"server-stopping":       mayRecover,
		"webhook-denies":        shortGrace,
		"knative-unschedulable": mayRecover,

		"knative-unschedulable-quoted": mayRecover,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Assess(load(t, name)).Cause
			switch {
			case c == nil:
				t.Fatal("no cause is shown")
			case c.Terminal != (want != mayRecover):
				t.Errorf("terminal is %t: %s", c.Terminal, c.Summary)
			case c.Terminal && c.Grace != want:
				t.Errorf("it ends a wait after %s, want %s: %s", c.Grace, want, c.Summary)
			}
		})
	}
}

func TestAWaitIsOverWhenTheWorkloadIsReadyOrSuspended(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"ready": true, "zero-replicas": true, "compute-suspended": true, "job-complete": true,
		"scaling-to-zero": false, "compute-suspending": false, "crash": false, "gated": false,
	} {
		if got := Assess(load(t, name)).Settled(); got != want {
			t.Errorf("%s: settled is %t", name, got)
		}
	}
}
