package actions

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func TestProgressOmitsRepeatedMessages(t *testing.T) {
	t.Parallel()
	var sent []string
	c := &call{send: func(message string) { sent = append(sent, message) }}
	for _, n := range []int{1, 1, 2, 1} {
		c.progress("%d pods", n)
	}
	if want := []string{"1 pods", "2 pods", "1 pods"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

func TestFailureStatesWhatWasDone(t *testing.T) {
	t.Parallel()
	id := path.Root("id")
	expired, cancel := tf.WithTimeLimit(t.Context(), time.Nanosecond, "timeout")
	defer cancel()
	<-expired.Done()
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		at   path.Path
		want []string
	}{
		"timeout": {expired, errors.New("x"), id, []string{"Timeout of kt_x", "(`timeout`). Last status: 2 pods left.",
			"increase `timeout`"}},
		"interrupt": {interrupted, errors.New("x"), id, []string{"kt_x was interrupted", "Last status: 2 pods left."}},
		"refusal": {t.Context(), &refusal{summary: "Cannot scale it", detail: "Because."}, id,
			[]string{"Cannot scale it", "Because."}},
		"attribute": {t.Context(), &refusal{at: path.Root("node"), summary: "No node", detail: "None."},
			path.Root("node"), []string{"No node", "None."}},
	} {
		c := &call{send: func(string) {}}
		if text := c.failure(test.ctx, "kt_x", id, test.err).Detail(); !strings.HasSuffix(text,
			"\n\nThe action has not changed anything.") {
			t.Errorf("%s: %q does not end with what was done", name, text)
		}
		c.did("Evicted %d pods", 2)
		c.progress("%d pods left.", 2)
		failed := c.failure(test.ctx, "kt_x", id, test.err)
		text := failed.Summary() + "\n" + failed.Detail()
		for _, want := range append(test.want, "Done before this error:\n  Evicted 2 pods") {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in %q", name, want, text)
			}
		}
		located, ok := failed.(diag.DiagnosticWithPath)
		if !ok || !located.Path().Equal(test.at) {
			t.Errorf("%s: reported at %v, want %v", name, failed, test.at)
		}
	}
}

func TestFailureWithoutAResponseDoesNotStateThatNothingWasChanged(t *testing.T) {
	t.Parallel()
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	err := &kube.Error{Op: "change", Ref: kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "a"},
		Err: errors.New("x"), OutcomeUnknown: true}
	for name, ctx := range map[string]context.Context{"failure": t.Context(), "interrupt": interrupted} {
		text := (&call{}).failure(ctx, "kt_x", path.Root("id"), err).Detail()
		if !strings.HasSuffix(text, "\n\nThe action may have changed something: there was no response to its last "+
			"request.") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestStatusOfEveryKindCountsPods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`null`: false, `{}`: false, `{"replicas": 0, "readyReplicas": 0}`: false, `{"observedGeneration": 3}`: false,
		`{"replicas": 2}`: true, `{"numberReady": 1}`: true, `{"active": 1}`: true, `{"active": []}`: false,
		`{"active": [{"kind": "Job", "name": "a"}]}`:                   true,
		`{"replicatedJobsStatus": [{"name": "a", "active": 1}]}`:       true,
		`{"replicaStatuses": {"Worker": {"active": 3, "failed": 1}}}`:  true,
		`{"replicaStatuses": {"Worker": {"active": 0, "failed": 1}}}`:  false,
		`{"conditions": [{"type": "Ready", "status": "True"}]}`:        false,
		`{"readyWorkerReplicas": 1, "desiredWorkerReplicas": 2}`:       true,
		`{"replicatedJobsStatus": [{"name": "a", "active": 0}, null]}`: false,
	} {
		var status any
		if err := json.Unmarshal([]byte(text), &status); err != nil {
			t.Fatal(err)
		}
		if got := countsPods(status); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
