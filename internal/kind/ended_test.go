package kind_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func TestEndedWorkloadIsReplacedToRunMorePods(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode, planned, live, status string
		want                        bool
	}{
		"more pods of a complete Job": {"job", "{parallelism: 3, completions: 3}", "{parallelism: 2, completions: 2}",
			"{succeeded: 2, conditions: [{type: Complete, status: 'True'}]}", true},
		"more pods of a running Job": {"job", "{parallelism: 3, completions: 3}", "{parallelism: 2, completions: 2}",
			"{succeeded: 1, conditions: [{type: Suspended, status: 'False'}]}", false},
		"more pods of a Job with its last pods terminating": {"job", "{parallelism: 3, completions: 3}",
			"{parallelism: 2, completions: 2}",
			"{succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: 'True'}]}", true},
		"more pods of a failing Job": {"job", "{parallelism: 3, completions: 3}", "{parallelism: 2, completions: 2}",
			"{succeeded: 1, conditions: [{type: FailureTarget, status: 'True'}]}", true},
		"fewer pods of a complete Job": {"job", "{parallelism: 1, completions: 1}", "{parallelism: 2, completions: 2}",
			"{succeeded: 2, conditions: [{type: Complete, status: 'True'}]}", false},
		"repaired number of a complete Job": {"job", "{parallelism: 2, completions: 2}",
			"{parallelism: 1, completions: 1}",
			"{succeeded: 2, conditions: [{type: Complete, status: 'True'}]}", false},
		"more pods at a time of a complete Job": {"job", "{parallelism: 4, completions: 8}",
			"{parallelism: 2, completions: 8}",
			"{succeeded: 8, conditions: [{type: Complete, status: 'True'}]}", false},
		"more pods at a time of a failed Job": {"job", "{parallelism: 4, completions: 8}",
			"{parallelism: 2, completions: 8}", "{succeeded: 3, conditions: [{type: Failed, status: 'True'}]}", true},
		"another field of a failed Job": {"job", "{parallelism: 2, completions: 2, ttlSecondsAfterFinished: 1}",
			"{parallelism: 2, completions: 2, ttlSecondsAfterFinished: 0}",
			"{conditions: [{type: Failed, status: 'True'}]}", false},
		"more retries of a failed Job": {"job", "{parallelism: 2, completions: 2, backoffLimit: 1}",
			"{parallelism: 2, completions: 2, backoffLimit: 0}",
			"{conditions: [{type: Failed, status: 'True'}]}", true},
		"more retries of a complete Job": {"job", "{parallelism: 2, completions: 2, backoffLimit: 1}",
			"{parallelism: 2, completions: 2, backoffLimit: 0}",
			"{succeeded: 2, conditions: [{type: Complete, status: 'True'}]}", false},
		"more retries of a Job that succeeded by its policy with some pods": {"job",
			"{parallelism: 4, completions: 4, backoffLimit: 6}", "{parallelism: 4, completions: 4, backoffLimit: 3}",
			"{succeeded: 1, conditions: [{type: SuccessCriteriaMet, status: 'True'}, " +
				"{type: Complete, status: 'True'}]}",
			false},
		"less retries of a failed Job": {"job", "{parallelism: 2, completions: 2, backoffLimit: 1}",
			"{parallelism: 2, completions: 2, backoffLimit: 2}",
			"{conditions: [{type: Failed, status: 'True'}]}", false},
		"no deadline for a failed Job": {"job", "{parallelism: 1, completions: 1}",
			"{parallelism: 1, completions: 1, backoffLimit: 6, activeDeadlineSeconds: 10}",
			"{conditions: [{type: Failed, status: 'True'}]}", true},
		"unchanged defaults of a failed Job with retries by index": {"job", "{parallelism: 1, completions: 1}",
			"{parallelism: 1, completions: 1, backoffLimit: 2147483647}",
			"{conditions: [{type: Failed, status: 'True'}]}", false},
		"a deadline for a failed Job": {"job", "{parallelism: 1, completions: 1, activeDeadlineSeconds: 10}",
			"{parallelism: 1, completions: 1}", "{conditions: [{type: Failed, status: 'True'}]}", false},
		"more time for a failed RayJob": {"rayjob", "{activeDeadlineSeconds: 90, rayClusterSpec: {}}",
			"{activeDeadlineSeconds: 60, rayClusterSpec: {}}", "{jobDeploymentStatus: Failed}", true},
		"another field of a failed RayJob": {"rayjob", "{ttlSecondsAfterFinished: 9, rayClusterSpec: {}}",
			"{backoffLimit: 0, rayClusterSpec: {}}", "{jobDeploymentStatus: Failed}", false},
		"more time for a RayJob that retries": {"rayjob", "{activeDeadlineSeconds: 90, rayClusterSpec: {}}",
			"{activeDeadlineSeconds: 60, rayClusterSpec: {}}", "{jobDeploymentStatus: Retrying}", false},
		"more time for a failed TFJob": {"tfjob", "{runPolicy: {activeDeadlineSeconds: 9}, tfReplicaSpecs: {Worker: " +
			"{replicas: 1}}}", "{runPolicy: {activeDeadlineSeconds: 5}, tfReplicaSpecs: {Worker: {replicas: 1}}}",
			"{conditions: [{type: Failed, status: 'True'}]}", true},
		"a number that a queue sets": {"job", "{completions: 4}", "{parallelism: 2, completions: 4}",
			"{conditions: [{type: Failed, status: 'True'}]}", false},
		"more workers of a succeeded PyTorchJob": {"pytorchjob",
			"{pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 3}}}",
			"{pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 1}}}",
			"{replicaStatuses: {Master: {succeeded: 1}, Worker: {succeeded: 1}}, conditions: " +
				"[{type: Running, status: 'False'}, {type: Succeeded, status: 'True'}]}", true},
		"fewer workers of a succeeded PyTorchJob": {"pytorchjob",
			"{pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 1}}}",
			"{pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 3}}}",
			"{replicaStatuses: {Master: {succeeded: 1}, Worker: {succeeded: 3}}, conditions: " +
				"[{type: Succeeded, status: 'True'}]}", false},
		"more pods of a Deployment": {"deployment", "{replicas: 3}", "{replicas: 2}",
			"{conditions: [{type: Failed, status: 'True'}]}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, status := specOf(t, test.live), map[string]any{}
			if err := yaml.Unmarshal([]byte(test.status), &status); err != nil {
				t.Fatal(err)
			}
			live["status"] = status
			of := kind.OfMode(test.mode)
			if got := kind.NeedsNewRun(of, specOf(t, test.planned), specOf(t, test.live), live); got != test.want {
				t.Errorf("replaced %t, want %t", got, test.want)
			}
		})
	}
}

func TestLimitThatAPolicyLoweredRunsNothingAgainUnlessItIsChanged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, planned, live string
		want                  bool
	}{
		"an added deadline": {"{}", "{}", "{activeDeadlineSeconds: 60}", false},
		"a lowered deadline": {"{activeDeadlineSeconds: 90}", "{activeDeadlineSeconds: 90}",
			"{activeDeadlineSeconds: 60}", false},
		"fewer retries":        {"{backoffLimit: 3}", "{backoffLimit: 3}", "{backoffLimit: 1}", false},
		"a deadline that goes": {"{activeDeadlineSeconds: 60}", "{}", "{activeDeadlineSeconds: 60}", true},
		"a lowered one, changed": {"{activeDeadlineSeconds: 90}", "{activeDeadlineSeconds: 99}",
			"{activeDeadlineSeconds: 60}", true},
		"fewer retries, and more": {"{backoffLimit: 3}", "{backoffLimit: 4}", "{backoffLimit: 1}", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := specOf(t, test.live)
			live["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True"}}}
			got := kind.NeedsNewRun(kind.OfMode("job"), specOf(t, test.planned), specOf(t, test.before), live)
			if got != test.want {
				t.Errorf("replaced %t, want %t", got, test.want)
			}
		})
	}
}

func TestWorkloadOfAnotherKindNeedsNoNewRun(t *testing.T) {
	t.Parallel()
	object := map[string]any{"spec": map[string]any{"completions": int64(2)},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}}
	of := kind.WorkloadOf(schema.GroupKind{Group: "example.com", Kind: "Fleet"})
	if kind.NeedsNewRun(of, object, object, object) {
		t.Error("a kind that is not in the table needs a new run")
	}
}
