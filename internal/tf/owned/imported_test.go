package owned

import (
	"context"
	"errors"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// Otherwise, an outage during the plan of an imported resource would show as a change of its manifests.
func TestOnlyADryRunWithoutAVerdictEndsThePlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"accepted":         {nil, false},
		"no response":      {&kube.Error{Class: kube.Unreachable, Err: errors.New("connection reset")}, true},
		"failure of etcd":  {&kube.Error{Class: kube.Other, Err: errors.New("leader changed")}, true},
		"interrupted":      {&kube.Error{Class: kube.Canceled, Err: context.Canceled}, true},
		"deleted":          {&kube.Error{Class: kube.NotFound, Err: errors.New("not found")}, false},
		"invalid":          {&kube.Error{Class: kube.Invalid, Err: errors.New("spec.replicas")}, false},
		"immutable":        {&kube.Error{Class: kube.Immutable, Err: errors.New("spec.selector")}, false},
		"refused":          {&kube.Error{Class: kube.Refused, Err: errors.New("exceeded quota")}, false},
		"owned by another": {&kube.Error{Class: kube.Conflict, Err: errors.New("conflict")}, false},
	} {
		if got := unanswered(c.err); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
