package kind_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func TestJobsThatFailWithOnePodAreNotEvacuated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode, spec string
		why        string // "" if they are evacuated
	}{
		"a Job":                      {"job", "{}", ""},
		"a Job without retries":      {"job", "{backoffLimit: 0}", "Its `spec.backoffLimit` is 0."},
		"a Job that knows evictions": {"job", "{backoffLimit: 0, podFailurePolicy: {rules: []}}", ""},
		"a CronJob":                  {"cronjob", "{jobTemplate: {spec: {}}}", ""},
		"a CronJob without retries": {"cronjob", "{jobTemplate: {spec: {backoffLimit: 0}}}",
			"Its `spec.jobTemplate.spec.backoffLimit` is 0."},
		"a JobSet": {"jobset", "{replicatedJobs: [{template: {spec: {}}}]}", ""},
		"a JobSet without retries": {"jobset", "{replicatedJobs: [{}, {name: b, template: {spec: {backoffLimit: 0}}}]}",
			"The `backoffLimit` of its Job b is 0"},
		"a JobSet that restarts": {"jobset", "{failurePolicy: {maxRestarts: 1}, replicatedJobs: [{template: {spec: " +
			"{backoffLimit: 0}}}]}", ""},
		"the default of a PyTorchJob": {"pytorchjob", "{pytorchReplicaSpecs: {Master: {}, Worker: {}}}", ""},
		"a PyTorchJob without retries": {"pytorchjob", "{pytorchReplicaSpecs: {Master: {}, Worker: {restartPolicy: " +
			"Never}}}", "Pods of its role Worker are not replaced."},
		"a TFJob": {"tfjob", "{tfReplicaSpecs: {Chief: {restartPolicy: ExitCode}}}", "role Chief"},
		"workers of a TFJob": {"tfjob", "{tfReplicaSpecs: {Worker: {restartPolicy: ExitCode}}}",
			"role Worker"},
		"a TFJob that is elastic":      {"tfjob", "{enableDynamicWorker: true, tfReplicaSpecs: {Worker: {}}}", ""},
		"the default of an XGBoostJob": {"xgboostjob", "{xgbReplicaSpecs: {Master: {}}}", "its role Master"},
		"an XGBoostJob": {"xgboostjob", "{xgbReplicaSpecs: {Master: {restartPolicy: OnFailure}}}",
			"role Master"},
		"an XGBoostJob that restarts": {"xgboostjob", "{xgbReplicaSpecs: {Master: {restartPolicy: ExitCode}}}", ""},
		"the default of an MXJob":     {"mxjob", "{mxReplicaSpecs: {Server: {}}}", "its role Server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusal := kind.OfMode(test.mode).RefusesSome[kind.Evacuating](specOf(t, test.spec))
			switch {
			case test.why == "" && refusal != nil:
				t.Errorf("refused: %s", refusal.Why)
			case test.why != "" && (refusal == nil || !strings.Contains(refusal.Why, test.why)):
				t.Errorf("the refusal is %v, want %q", refusal, test.why)
			}
		})
	}
}

// specOf returns a workload with a spec.
func specOf(t *testing.T, text string) map[string]any {
	t.Helper()
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return map[string]any{"spec": spec}
}
