package tf

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func trainer() kube.Ref { return kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"} }

func crash() ready.Verdict {
	return ready.Verdict{Message: "0 of 1 pods ready: 1 crashing", Cause: &ready.Cause{
		Reason: ready.ReasonCrashLoop, Object: "Pod ml/trainer-1-a",
		Summary: "Container kubetorch crashes repeatedly: exit code 1 (Error), 3 restarts.",
		Hint:    advice.Of("Check its log for the cause."), Terminal: true,
		Command: "kubectl -n ml logs trainer-1-a -c kubetorch --previous",
		Logs:    &ready.LogRef{Namespace: "ml", Pod: "trainer-1-a", Container: "kubetorch", Previous: true},
		Events:  []string{"BackOff: Back-off restarting failed container kubetorch (x3)"},
	}}
}

func queued() ready.Verdict {
	return ready.Verdict{Message: "0 of 1 pods ready: 1 queued", Cause: &ready.Cause{
		Reason: ready.ReasonQueued, Object: "Pod ml/trainer-1-a",
		Summary: "Kueue has not admitted the pod yet in queue team-a.",
		Hint:    advice.Of("Check the conditions of its Workload for missing quota."),
		Command: "kubectl -n ml get workloads.kueue.x-k8s.io -o wide",
	}}
}

// expired returns the error of a wait that has exceeded the time limit of an attribute.
func expired(attribute string, limit time.Duration) error { return timeLimitError{limit, attribute} }

func TestDiagnosticsStateTheCauseAndTheNextStep(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"crash": &observe.NotReadyError{Ref: trainer(), Verdict: crash(),
			Logs: []string{"Traceback (most recent call last):",
				"ModuleNotFoundError: No module named 'kubetorch'"}},
		"queued-too-long": &observe.NotReadyError{Ref: trainer(), Verdict: queued(),
			Err: expired("timeouts.update", 90*time.Second)},
		"queued-interrupted": &observe.NotReadyError{Ref: trainer(), Verdict: queued(), Err: context.Canceled},
		"time-limit": &observe.NotReadyError{Ref: trainer(),
			Verdict: ready.Verdict{Message: "0 of 1 pods ready: 1 pulling an image"},
			Err:     expired("timeouts.create", 10*time.Minute)},
		"no-status": &observe.NotReadyError{Ref: trainer(), Err: expired("timeouts.create", time.Hour)},
		"deletion-finalizer": &observe.DeletionError{Ref: trainer(), Finalizers: []string{"example.com/backup"},
			Err: expired("timeouts.delete", 10*time.Minute)},
		"deletion-pods": &observe.DeletionError{Ref: trainer(),
			Pods: []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "trainer-1-a"}},
				{ObjectMeta: metav1.ObjectMeta{Name: "trainer-1-b", Finalizers: []string{"example.com/drain"}}}},
			Err: expired("timeouts.delete", 10*time.Minute)},
		"deletion-slow-pods": &observe.DeletionError{Ref: trainer(),
			Pods: []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "trainer-1-a"}}},
			Err:  expired("timeouts.delete", 10*time.Minute)},
		"deletion-in-use": &observe.InUseError{
			Claim: kube.Ref{Kind: kind.PersistentVolumeClaim(), Namespace: "ml", Name: "datasets"},
			Pods:  []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "trainer-1-a"}}}},
		"deletion-interrupted": &observe.DeletionError{Ref: trainer(), Err: context.Canceled},
		"configuration":        fmt.Errorf("connect: %w", &config.Error{Err: errors.New("no cluster is configured")}),
		"other":                errors.New("disk is full"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summary, detail := explain(fmt.Errorf("wrapped: %w", err))
			got := summary + "\n\n" + detail + "\n"
			file := filepath.Join("testdata", "diagnostics", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, readErr := os.ReadFile(file)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got), run with -update to accept:\n%s", diff)
			}
		})
	}
}

func TestExplainDoesNotModifyTheCause(t *testing.T) {
	t.Parallel()
	e := &observe.NotReadyError{Ref: trainer(), Verdict: crash(), Err: context.Canceled}
	before := e.Verdict.Cause.Summary
	explain(e)
	if e.Verdict.Cause.Summary != before {
		t.Errorf("the summary was changed to %q", e.Verdict.Cause.Summary)
	}
}

func TestWarningIsAFailureWithItsConsequence(t *testing.T) {
	t.Parallel()
	err := &observe.NotReadyError{Ref: trainer(), Verdict: crash()}
	if got := Failure(err); got.Severity() != diag.SeverityError {
		t.Errorf("Failure is a %v", got.Severity())
	}
	warning := Warning(err, "The run continues.")
	if warning.Severity() != diag.SeverityWarning || warning.Summary() != Failure(err).Summary() {
		t.Errorf("Warning is a %v: %s", warning.Severity(), warning.Summary())
	}
	if !strings.HasSuffix(warning.Detail(), "\n\nThe run continues.") {
		t.Errorf("the consequence is missing:\n%s", warning.Detail())
	}
}

func TestRejectedFieldsAreThoseOfTheResourceThatManagesTheKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind         kind.Kind
		ofTheCompute bool
	}{
		"a workload":           {kind.Deployment(), true},
		"the queues of KAI":    {kind.KAIQueue(), false},
		"the queues of Kueue":  {kind.ClusterQueue(kind.KueueVersion), false},
		"the claim of volumes": {kind.PersistentVolumeClaim(), false},
	} {
		err := &kube.Error{Ref: kube.Ref{Kind: c.kind}, Class: kube.Invalid, Err: errors.New("invalid")}
		detail := Failure(err).Detail()
		if !strings.Contains(detail, "the attributes that set the fields") ||
			strings.Contains(detail, "`service_template`") != c.ofTheCompute {
			t.Errorf("%s: %s", name, detail)
		}
	}
}

func TestTimeLimitNamesItsAttribute(t *testing.T) {
	t.Parallel()
	outer, cancel := WithTimeLimit(t.Context(), time.Nanosecond, "timeouts.create")
	defer cancel()
	inner, cancel := WithTimeLimit(outer, time.Hour, "timeout")
	defer cancel()
	<-inner.Done()
	cause := context.Cause(inner)
	if !errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, context.Canceled) {
		t.Errorf("%v is not a deadline error", cause)
	}
	if got := cause.Error(); !strings.Contains(got, "`timeouts.create`") {
		t.Errorf("%s does not name the limit that expired first", got)
	}
	for limit, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 15 * time.Minute: "15m", 90 * time.Second: "1m30s",
		20 * time.Second: "20s", time.Hour + time.Second: "1h0m1s",
	} {
		if got := (timeLimitError{limit, "timeouts.create"}).Error(); !strings.Contains(got, "after "+want+" (") {
			t.Errorf("%v is formatted as %q, want %s", limit, got, want)
		}
	}
}

func TestReasonsAreFormattedAsLowercaseWords(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		ready.ReasonImagePullFailed: "image pull failed",
		ready.ReasonOutOfMemory:     "out of memory",
		ready.ReasonUnschedulable:   "unschedulable",
		"":                          "",
	} {
		if got := lowercaseWords(reason); got != want {
			t.Errorf("%s is formatted as %q, want %q", reason, got, want)
		}
	}
}
