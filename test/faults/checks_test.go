package main

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// The warning about development overrides is in the output of every command.
const overrides = `{"@level":"warn","type":"diagnostic","diagnostic":{"severity":"warning",` +
	`"summary":"Provider development overrides are in effect"}}` + "\n"

const (
	warning = `{"type":"diagnostic","diagnostic":{"severity":"warning","address":"kt_compute.web",` +
		`"summary":"Timed out"}}` + "\n"
	failure = `{"type":"diagnostic","diagnostic":{"severity":"error","address":"kt_compute.web",` +
		`"summary":"Rejected"}}` + "\n"
	lost = `{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Plugin did not respond"}}` + "\n"
)

func TestExitCodesMustAgreeWithTheDiagnostics(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		output string
		fault  proxy.Kind
		single bool
		want   string // in the violation; "" for none
	}{
		"success":                         {0, overrides + warning, "", false, ""},
		"changes in a plan":               {2, overrides, "", false, ""},
		"failure":                         {1, overrides + failure, proxy.Unavailable, false, ""},
		"success with an error":           {0, failure, "", false, "exit code 0 with the error: Rejected"},
		"failure without an error":        {1, overrides + warning, "", false, "exit code 1 without an error"},
		"failure without any diagnostic":  {1, "", proxy.InterruptCLI, false, "exit code 1 without an error"},
		"failure by a single fault":       {1, failure, proxy.Unavailable, true, "a temporary fault of one request"},
		"failure without a fault":         {1, failure, "", false, "without any fault"},
		"end by a signal":                 {-1, "", proxy.InterruptCLI, false, "ended by a signal"},
		"SIGKILL":                         {-1, `{"type":"diagn`, proxy.KillCLI, false, ""},
		"failure of a provider's SIGKILL": {1, lost, proxy.KillProvider, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cycle := &cycle{item: item{survivable: map[step]bool{create: c.single}},
				last: []proxy.Record{{Fault: c.fault}}}
			got := cycle.exitViolation(create, true, run{code: c.code, messages: parseMessages(c.output)})
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestBenchThatDidTooLittleFails(t *testing.T) {
	faults := map[proxy.Kind]int{proxy.Unavailable: 1}
	for name, test := range map[string]struct {
		tally *tally
		pairs bool
		want  string // "" for none
	}{
		"enough":                 {&tally{cycles: 20, injected: faults, pairs: 1, starved: 2}, true, ""},
		"no pairs, and no need":  {&tally{cycles: 20, injected: faults}, false, ""},
		"no faults":              {&tally{cycles: 20, pairs: 1}, true, "no faults"},
		"no pairs":               {&tally{cycles: 20, injected: faults}, true, "no cycle with a pair"},
		"starved":                {&tally{cycles: 20, injected: faults, starved: 3}, false, "3 of 20"},
		"starved and deadlocked": {&tally{cycles: 9, injected: faults, deadlocks: 1}, false, "1 of 9"},
	} {
		err := test.tally.enough(test.pairs)
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, test.want)
		}
	}
}

func TestOnlyTerraformsDeadlockExplainsAHang(t *testing.T) {
	goroutine := func(state, function string) string {
		return "goroutine 1 gp=0xc0 m=nil [" + state + ", 3 minutes]:\nsync.runtime_SemacquireMutex(0x1)\n" +
			"github.com/hashicorp/terraform/internal/terraform." + function + "(0xc0)\n\n"
	}
	const closes, stops = "(*BuiltinEvalContext).ClosePlugins", "(*Context).watchStop.func1"
	for name, test := range map[string]struct {
		output string
		want   bool
	}{
		"both wait for each other": {goroutine("sync.Mutex.Lock", closes) + goroutine("sync.Mutex.Lock", stops), true},
		"only one is blocked":      {goroutine("sync.Mutex.Lock", closes) + goroutine("select", stops), false},
		"another function":         {goroutine("sync.Mutex.Lock", closes) + goroutine("sync.Mutex.Lock", "F"), false},
		"no goroutines":            {overrides, false},
	} {
		if got := deadlockOfTerraform(overrides + test.output); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestWarningExplainsOnlyItsResourceAndItsWait(t *testing.T) {
	plan := func(address, actions, before, after, unknown string) string {
		return `{"resource_changes":[{"address":"` + address + `","change":{"actions":[` + actions + `],"before":` +
			before + `,"after":` + after + `,"after_unknown":` + unknown + `}}]}`
	}
	const web, update = "kt_compute.web", `"update"`
	for name, c := range map[string]struct {
		plan, output string
		explained    bool
	}{
		"a wait that was cut short": {
			plan(web, update, `{"cpus":"1","ready":false}`, `{"cpus":"1"}`, `{"ready":true,"a":{}}`), warning, true},
		"the status of a queue that is not active yet": {
			plan(web, update, `{"active":false,"admitted_workloads":null,"pending_workloads":null}`, `{}`,
				`{"active":true,"admitted_workloads":true,"pending_workloads":true}`), warning, true},
		"the status of a volume that is not bound yet": {
			plan(web, update, `{"phase":"Pending","capacity":null,"bound_volume_name":null}`, `{}`,
				`{"phase":true,"capacity":true,"bound_volume_name":true}`), warning, true},
		"an object that is missing": {
			plan(web, update, `{"manifests":{"a":"1"}}`, `{"manifests":{"a":"1","b":"2"}}`, `{}`), warning, true},
		"only a warning about overrides": {
			plan(web, update, `{"ready":false}`, `{}`, `{"ready":true}`), overrides, false},
		"a warning about another resource": {
			plan("kt_compute.other", update, `{"ready":false}`, `{}`, `{"ready":true}`), warning, false},
		"a changed object": {
			plan(web, update, `{"manifests":{"a":"1"}}`, `{"manifests":{"a":"2"}}`, `{}`), warning, false},
		"another attribute": {
			plan(web, update, `{"cpus":"1"}`, `{"cpus":"2"}`, `{}`), warning, false},
		"another unknown attribute": {
			plan(web, update, `{"url":"a"}`, `{}`, `{"url":true}`), warning, false},
		"a replacement": {
			plan(web, `"delete","create"`, `{"ready":false}`, `{}`, `{"ready":true}`), warning, false},
	} {
		t.Run(name, func(t *testing.T) {
			changes, err := parsePlan(c.plan)
			if err != nil || len(changes) != 1 {
				t.Fatalf("%v: %v", err, changes)
			}
			if got := unexplained(changes[0], parseMessages(c.output)); (got == "") != c.explained {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestPanicsAreRecognized(t *testing.T) {
	for output, want := range map[string]bool{
		overrides + warning: false,
		lost:                true,
		overrides + "panic: runtime error\n\ngoroutine":               true,
		"fatal error: all goroutines are asleep":                      true,
		strings.ReplaceAll(warning, "Timed out", "panic: in the pod"): false,
	} {
		if got := parseMessages(output).crashed(); got != want {
			t.Errorf("%v for %s", got, output)
		}
	}
}
