package manifest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestJobIsObservedAsItWasRendered(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]manifest.Job{
		"without settings": {},
		"zeros":            {BackoffLimit: new(int32(0)), TTL: new(time.Duration(0))},
		"all": {Completions: new(int32(8)), BackoffLimit: new(int32(2)), ActiveDeadline: new(12 * time.Hour),
			TTL: new(time.Hour), PodFailurePolicy: []batchv1.PodFailurePolicyRule{
				{Action: "Ignore", OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
					{Type: "DisruptionTarget", Status: "True"}}},
			}},
	} {
		c := minimal(func(c *manifest.Compute) {
			c.Command, c.Job, c.Replicas, c.ReplicasGiven = []string{"train"}, &job, 4, true
		})
		got := manifest.Observe(render(t, c)[0])
		if diff := cmp.Diff(&job, got.Job); diff != "" || got.Replicas != 4 {
			t.Errorf("%s: %d replicas, -rendered +observed:\n%s", name, got.Replicas, diff)
		}
	}
}

func TestScalingAJobChangesItsCompletionsOnlyIfAllRunAtOnce(t *testing.T) {
	t.Parallel()
	number := func(n int64) map[string]any { return map[string]any{"parallelism": n} }
	with := func(spec map[string]any, completions int64) map[string]any {
		spec["completions"] = completions
		return spec
	}
	for name, test := range map[string]struct {
		spec map[string]any
		want map[string]any
	}{
		"all at once":      {with(number(2), 2), with(number(5), 5)},
		"some at a time":   {with(number(2), 100), with(number(5), 100)},
		"one, by default":  {with(map[string]any{}, 1), with(number(5), 5)},
		"of a work queue":  {number(2), number(5)},
		"one at a time":    {with(map[string]any{}, 3), with(number(5), 3)},
		"fewer than pods ": {with(number(4), 2), with(number(5), 2)},
	} {
		workload := map[string]any{"spec": test.spec}
		if err := manifest.Scale(workload, kind.Job().Workload, 5); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, workload["spec"]); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestJobIsRejectedWithoutACommandAndWithOtherModes(t *testing.T) {
	t.Parallel()
	half := 90*time.Second + 500*time.Millisecond
	for name, test := range map[string]struct {
		change    func(*manifest.Compute)
		attribute string
		says      string
	}{
		"without a command": {func(c *manifest.Compute) { c.Command = nil }, "job", "set command or args too"},
		"autoscaled": {func(c *manifest.Compute) {
			c.Autoscale = &manifest.Autoscale{}
			c.Settings = []manifest.Setting{{Attribute: "autoscale", Runners: kind.Kubetorch}}
		}, "job", "job and autoscale cannot both be set"},
		"a part of a second": {func(c *manifest.Compute) { c.Job.ActiveDeadline = &half }, "job.active_deadline",
			"whole seconds"},
		"a rule without a condition": {func(c *manifest.Compute) {
			c.Job.PodFailurePolicy = []batchv1.PodFailurePolicyRule{{Action: "Count"}}
		}, "job.pod_failure_policy[0]", "exactly one of on_exit_codes, on_pod_conditions, but has "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, minimal(func(c *manifest.Compute) {
				c.Command, c.Job = []string{"train"}, &manifest.Job{}
				test.change(c)
			}), test.attribute, test.says)
		})
	}
}
