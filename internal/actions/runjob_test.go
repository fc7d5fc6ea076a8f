package actions

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func TestDiagnosisOfAJobIsMasked(t *testing.T) {
	t.Parallel()
	err := &observe.NotReadyError{
		Verdict: ready.Verdict{Cause: &ready.Cause{Reason: "Failed", Summary: "It ended: bad token s3cr3t.",
			Events: []string{"Failed: s3cr3t"}}},
		Logs: []string{"token is s3cr3t"},
	}
	mask := func(text string) string { return strings.ReplaceAll(text, "s3cr3t", "(hidden)") }
	text := tf.Failure(maskNotReady(err, mask)).Detail()
	if strings.Contains(text, "s3cr3t") || strings.Count(text, "(hidden)") != 3 {
		t.Errorf("masked:\n%s", text)
	}
	text = tf.Failure(maskNotReady(err, nil)).Detail()
	if strings.Contains(text, "s3cr3t") || !strings.Contains(text, hiddenOutput) {
		t.Errorf("without permission:\n%s", text)
	}
	if !strings.Contains(err.Logs[0], "s3cr3t") {
		t.Error("the error itself was changed")
	}
}

func TestJobIsRefusedWithoutItsContainer(t *testing.T) {
	t.Parallel()
	for containers, want := range map[string]string{
		`[{"name": "sidecar"}, {"name": "kubetorch"}]`: "Set `container` to one of: sidecar, kubetorch.",
		`[]`: "contains no pod template from which a Job could be created.",
	} {
		var template any
		if err := json.Unmarshal([]byte(`{"spec": {"containers": `+containers+`}}`), &template); err != nil {
			t.Fatal(err)
		}
		workload := kind.Deployment().Named("ml", "trainer")
		workload.Object["spec"] = map[string]any{"template": template}
		of := &target{PodSource: kube.PodSource{Workload: workload},
			kind: kind.WorkloadOf(workload.GroupVersionKind().GroupKind())}
		err := (&call{}).runJob(t.Context(), of, podCommand{container: "missing"}, jobModel{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", containers, err, want)
		}
	}
}
