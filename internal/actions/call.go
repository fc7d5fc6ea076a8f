package actions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// call is one invocation of an action, on the compute namespace/name unless it operates on a node. Its methods are safe
// for concurrent use.
type call struct {
	cluster         *kube.Cluster
	holds           *tf.Holds
	namespace, name string
	found           bool // whether the compute exists

	send     func(message string)
	mu       sync.Mutex
	last     string   // last progress message
	done     []string // what was done so far
	warnings diag.Diagnostics
}

// progress sends a message to Terraform, unless it is the same as the previous one.
func (c *call) progress(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if message != c.last {
		c.last = message
		c.send(message)
	}
}

// report sends the status of the compute.
func (c *call) report(verdict ready.Verdict) {
	if verdict.Message != "" {
		c.progress("%s/%s: %s.", c.namespace, c.name, strings.TrimSuffix(verdict.Message, "."))
	}
}

// did reports a change that was made, as a sentence without a full stop. A later error repeats it.
func (c *call) did(format string, args ...any) {
	c.note(format, args...)
	c.progress(format+".", args...)
}

// note is did without a progress message.
func (c *call) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, fmt.Sprintf(format, args...))
}

// warn adds a warning to the result.
func (c *call) warn(summary, detail string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings.AddWarning(summary, detail)
}

// refusal is an action that is not possible for a compute.
type refusal struct {
	summary, detail string
	at              path.Path // of the attribute with the cause; empty: the one that identifies the compute
}

func (e *refusal) Error() string { return e.summary + ": " + e.detail }

// refused returns a refusal for a reason of the compute.
func refused(summary, detail string) error { return &refusal{summary: summary, detail: detail} }

// diagnosticOf returns the diagnostic of an error, without a path.
func diagnosticOf(err error) diag.Diagnostic {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return diag.NewErrorDiagnostic(refused.summary, refused.detail)
	}
	return tf.Failure(err)
}

// failure returns the diagnostic of an error, which also states what was done before. at is the attribute that
// identifies the compute.
func (c *call) failure(ctx context.Context, action string, at path.Path, err error) diag.Diagnostic {
	var (
		failed   = diagnosticOf(err)
		refused  *refusal
		notReady *observe.NotReadyError
	)
	switch {
	case errors.As(err, &refused):
		if len(refused.at.Steps()) > 0 {
			at = refused.at
		}
	case ctx.Err() == nil || errors.As(err, &notReady):
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		failed = diag.NewErrorDiagnostic("Timeout of "+action, fmt.Sprintf("%v%s\n\n"+
			"Next step: If it only needs more time, increase `timeout`.", context.Cause(ctx), c.status()))
	default:
		failed = diag.NewErrorDiagnostic(action+" was interrupted", "The run was interrupted."+c.status())
	}
	return diag.WithPath(at, diag.NewErrorDiagnostic(failed.Summary(), failed.Detail()+c.history(err)))
}

// status returns the last progress message as a sentence, after a space.
func (c *call) status() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == "" {
		return ""
	}
	return " Last status: " + strings.TrimSuffix(c.last, ".") + "."
}

// history returns a paragraph with what was done before an error.
func (c *call) history(err error) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.done) > 0:
		return "\n\nDone before this error:\n  " + strings.Join(c.done, "\n  ")
	case kube.OutcomeUnknown(err):
		return "\n\nThe action may have changed something: there was no response to its last request."
	}
	return "\n\nThe action has not changed anything."
}
