package computes_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// zeroField is a field of a Deployment with its zero and another value.
type zeroField struct {
	path        string // "[kubetorch]" is the container
	zero, other any
}

func zeroFields() []zeroField {
	const pod, container = "spec.template.spec.", "spec.template.spec.containers.[kubetorch]."
	return []zeroField{
		{"spec.revisionHistoryLimit", 0, 3},
		{"spec.minReadySeconds", 0, 5},
		{"spec.paused", false, true},
		{pod + "automountServiceAccountToken", false, true},
		{pod + "terminationGracePeriodSeconds", 0, 5},
		{pod + "shareProcessNamespace", false, true},
		{pod + "enableServiceLinks", false, true},
		{pod + "setHostnameAsFQDN", false, true},
		{pod + "hostNetwork", false, true},
		{pod + "hostIPC", false, true},
		{pod + "hostname", "", "other"},
		{pod + "subdomain", "", "other"},
		{pod + "priorityClassName", "", "system-node-critical"},
		{pod + "securityContext.runAsUser", 0, 7},
		{pod + "securityContext.fsGroup", 0, 7},
		{pod + "securityContext.runAsNonRoot", false, true},
		{container + "stdin", false, true},
		{container + "stdinOnce", false, true},
		{container + "tty", false, true},
		{container + "workingDir", "", "/tmp"},
		{container + "securityContext.runAsGroup", 0, 7},
		{container + "securityContext.readOnlyRootFilesystem", false, true},
		{container + "securityContext.allowPrivilegeEscalation", false, true},
		{container + "readinessProbe.initialDelaySeconds", 0, 7},
		{container + "lifecycle.preStop.sleep.seconds", 0, 3},
	}
}

// zeroTemplate returns a service_template that sets every field.
func zeroTemplate(value func(zeroField) any) string {
	template := map[string]any{}
	for _, f := range zeroFields() {
		at := template
		steps := strings.Split(f.path, ".")
		for i, step := range steps[:len(steps)-1] {
			switch {
			case steps[i+1] == "[kubetorch]":
				if at[step] == nil {
					at[step] = []any{map[string]any{"name": "kubetorch"}}
				}
			case step == "[kubetorch]":
				at = at["containers"].([]any)[0].(map[string]any)
			default:
				if at[step] == nil {
					at[step] = map[string]any{}
				}
				at = at[step].(map[string]any)
			}
		}
		at[steps[len(steps)-1]] = value(f)
	}
	text, _ := json.Marshal(template)
	return fmt.Sprintf("service_template = %q", text)
}

// inDeployment returns the value of a field in the cluster, and whether the
// provider owns it.
func inDeployment(t *testing.T, live *unstructured.Unstructured, f zeroField) (value any, owned bool) {
	t.Helper()
	set, _, err := fields.Owned(live)
	if err != nil {
		t.Fatal(err)
	}
	value = live.Object
	for step := range strings.SplitSeq(f.path, ".") {
		switch at := value.(type) {
		case map[string]any:
			value = at[step]
		case []any:
			value = at[0]
		}
	}
	want := strings.ReplaceAll(f.path, ".[kubetorch]", `["kubetorch"]`)
	for _, path := range fields.Paths(set) {
		owned = owned || fields.String(path) == want
	}
	return value, owned
}

// The fields of service_template are set to zero, to other values, to zero again,
// and then removed.
func TestAccExplicitZerosInServiceTemplateAreApplied(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", ns)
	write := func(attributes string) { cli.Write(t, acctest.BareCompute(attributes+"\n on_not_ready = \"ignore\"")) }
	write("")
	cli.MustRun(t, "apply", "-auto-approve")
	before := deploymentIn(t, ns)
	zeros := zeroTemplate(func(f zeroField) any { return f.zero })
	for _, step := range []struct {
		name, attributes string
		want             func(f zeroField) (value any, owned bool)
	}{
		{"zeros", zeros, func(f zeroField) (any, bool) { return f.zero, true }},
		{"other values", zeroTemplate(func(f zeroField) any { return f.other }),
			func(f zeroField) (any, bool) { return f.other, true }},
		{"zeros again", zeros, func(f zeroField) (any, bool) { return f.zero, true }},
		{"removal", "", func(f zeroField) (any, bool) { value, _ := inDeployment(t, before, f); return value, false }},
	} {
		write(step.attributes)
		if out := cli.MustRun(t, "apply", "-auto-approve"); !strings.Contains(out, "0 added, 1 changed, 0 destroyed") {
			t.Fatalf("%s:\n%s", step.name, out)
		}
		live := deploymentIn(t, ns)
		for _, f := range zeroFields() {
			want, mustOwn := step.want(f)
			got, owned := inDeployment(t, live, f)
			if !sameOrAbsent(got, want) || owned != mustOwn {
				t.Errorf("%s: %s is %v (owned: %t), want %v (owned: %t)", step.name, f.path, got, owned, want, mustOwn)
			}
		}
		if out := cli.MustRun(t, "plan"); !strings.Contains(out, "No changes") {
			t.Errorf("the plan after %s is not empty:\n%s", step.name, out)
		}
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

// sameOrAbsent compares a value with the wanted one. A zero may be omitted.
func sameOrAbsent(got, want any) bool {
	if got == nil {
		return want == nil || reflect.ValueOf(want).IsZero()
	}
	return fmt.Sprint(got) == fmt.Sprint(want)
}

func deploymentIn(t *testing.T, ns string) *unstructured.Unstructured {
	t.Helper()
	live := &unstructured.Unstructured{}
	text := cluster.Kubectl(t, "get", "deployment", "trainer", "-n", ns, "-o", "json", "--show-managed-fields")
	if err := live.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return live
}
