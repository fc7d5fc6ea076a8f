package drift_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// Kubetorch's controller deletes the workload and the Service after inactivity_ttl.
func TestAccExpiredComputeIsKeptUntilItsConfigurationChanges(t *testing.T) {
	t.Parallel()
	const (
		kept  = `inactivity_ttl = "2h"` + "\n" + `on_expiry = "keep_suspended"` + "\n"
		later = kept + `timeouts = { update = "3m" }`
	)
	changes := map[string]string{
		"workload-changed":     kept + `memory = "1Gi"`,
		"service-changed":      kept + `labels = { a = "b" }`,
		"no-longer-kept":       `inactivity_ttl = "2h"` + "\n" + `on_expiry = "recreate"`,
		"without-a-time-limit": "",
	}
	ns := cluster.Namespace(t)
	computes := cluster.Resources(t, "kt_compute", ns, "")
	// apply returns the plan of each compute, which is empty afterwards.
	apply := func(ready bool, attributes func(name string) string) map[string]*core.Plan {
		t.Helper()
		bodies := map[string]string{}
		for name := range changes {
			bodies[name] = fmt.Sprintf("name = %q\nlaunch_timeout = \"2m\"\n%s", name, attributes(name))
		}
		plans := computes.Change(t, bodies)
		for name := range changes {
			if got := computes.Attribute(name, "ready"); got != ready {
				t.Errorf("%s: ready is %v, want %t", name, got, ready)
			}
		}
		return plans
	}
	always := func(attributes string) func(string) string { return func(string) string { return attributes } }
	removeAll := func(kinds string) {
		t.Helper()
		args := []string{"delete", "-n", ns, kinds}
		for name := range changes {
			args = append(args, name)
		}
		cluster.Kubectl(t, args...)
	}
	expect := func(name string, p *core.Plan, action core.Action, warnings ...string) {
		t.Helper()
		if p.Action != action {
			t.Errorf("%s: the plan is %s of %q, want %s", name, p.Action, p.Attributes(), action)
		}
		for _, text := range warnings {
			if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, text) }) {
				t.Errorf("%s: no warning contains %q: %q", name, text, p.Warnings)
			}
		}
	}

	apply(true, always(kept))
	removeAll("deployment,service")
	for name, p := range apply(false, always(later)) {
		expect(name, p, core.Update)
		if err := acctest.AsPlan(t, p).ChangesOnly("timeouts"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, p := range apply(false, always(later)) {
		expect(name, p, core.NoOp, "deleted, probably by Kubetorch", "With on_expiry")
	}
	for name, p := range apply(true, func(name string) string { return changes[name] }) {
		expect(name, p, core.Update, "The compute is created again")
		if p.After.GetAttr("uid").IsKnown() {
			t.Errorf("%s: the plan shows the UID of an object that does not exist", name)
		}
	}
	apply(true, always(kept))
	removeAll("deployment")
	for name, p := range apply(false, always(kept)) {
		expect(name, p, core.NoOp)
	}
	computes.Destroy(t)
	if err := cluster.NothingLeft(t, ns)(nil); err != nil {
		t.Error(err)
	}
}
