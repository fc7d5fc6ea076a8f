package actions

import (
	"strings"
	"testing"

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
