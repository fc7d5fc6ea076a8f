package ownership_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccMovedResourcesAreNeverReplaced(t *testing.T) {
	t.Parallel()
	requireMoves(t)
	for name, c := range map[string]struct {
		object string
		config string   // instead of that of moveTargets
		before []string // arguments of kubectl, which change the object before the move
		args   []string // of plan
		want   string
	}{
		"pods of a Job are immutable": {object: "Job/migrate", want: "A moved compute cannot be replaced"},
		"another name": {object: "Deployment/web", want: "A moved compute cannot be replaced",
			config: strings.Replace(moveTargets["Deployment/web"].config, `= "web"`, `= "shop"`, 1)},
		"another kind": {object: "Deployment/web", want: "A moved compute cannot be replaced",
			config: strings.Replace(moveTargets["Deployment/web"].config, "kind: Deployment", "kind: DaemonSet", 1)},
		"-replace": {object: "Deployment/web", args: []string{"-replace=kt_compute.web"},
			want: "A moved compute cannot be replaced"},
		"another access mode": {object: "PersistentVolumeClaim/datasets", config: moveVolume("10Gi", "ReadWriteMany"),
			want: "(A moved volume cannot be replaced|The data of the volume would be lost)"},
		"an immutable Secret": {object: "Secret/token", want: "A moved secret cannot be replaced",
			before: []string{"patch", "secret/token", "-p", `{"immutable": true, "stringData": {"TOKEN": "other"}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMove(t, "kubernetes", c.object)
			if len(c.before) > 0 {
				cluster.Kubectl(t, append(slices.Clone(c.before), "-n", m.namespace)...)
			}
			target := moveTargets[c.object]
			if c.config != "" {
				target.config = c.config
			}
			m.Write(t, movedBlock(peers["kubernetes"].resources[c.object], target.address)+target.config)
			m.expectRejected(t, c.want, append([]string{"plan"}, c.args...)...)
			m.expectKept(t)
		})
	}
}

// Terraform plans the replacement of a tainted resource as a creation, without its state. The plan therefore finds an
// object of somebody else. With adopt_existing, the plan succeeds, and the provider rejects the deletion.
func TestAccMovedTaintedResourceIsNotReplaced(t *testing.T) {
	t.Parallel()
	requireMoves(t)
	for object, want := range map[string]string{
		"Deployment/web":                 "cannot be taken over", // because of its selector
		"PersistentVolumeClaim/datasets": "A tainted volume is not replaced",
		"Secret/token":                   "A tainted secret is not replaced",
	} {
		t.Run(object, func(t *testing.T) {
			t.Parallel()
			m := newMove(t, "kubernetes", object)
			m.editState(t, `"schema_version":`, `"status":"tainted","schema_version":`)
			target := moveTargets[object]
			block := movedBlock(peers["kubernetes"].resources[object], target.address)
			m.Write(t, block+target.config)
			m.expectRejected(t, "was not created by this provider", "plan")
			m.Write(t, block+strings.Replace(target.config, "\n}", "\n  adopt_existing = true\n}", 1))
			m.expectRejected(t, want, "apply", "-auto-approve")
			m.expectKept(t)
		})
	}
}

func TestAccMoveRequiresARefresh(t *testing.T) {
	t.Parallel()
	requireMoves(t)
	for object := range generic("") {
		t.Run(object, func(t *testing.T) {
			t.Parallel()
			m := newMove(t, "kubernetes", object)
			target := moveTargets[object]
			m.Write(t, movedBlock(peers["kubernetes"].resources[object], target.address)+target.config)
			for _, command := range [][]string{{"plan", "-refresh=false"}, {"plan", "-refresh=false", "-destroy"}} {
				m.expectRejected(t, "A moved resource has to be refreshed", command...)
			}
			m.expectKept(t)
			m.MustRun(t, "apply", "-auto-approve") // with a refresh
			m.expectKept(t)
		})
	}
}

func TestAccMoveOfAnotherObjectIsRejected(t *testing.T) {
	t.Parallel()
	requireMoves(t)
	const object = "Deployment/web"
	target := moveTargets[object]
	t.Run("a cluster with an object of the same name", func(t *testing.T) {
		t.Parallel()
		m := newMove(t, "kubernetes", object)
		m.editState(t, m.uids[object], "00000000-0000-4000-8000-000000000000")
		m.Write(t, movedBlock("kubernetes_deployment.web", target.address)+target.config)
		m.expectRejected(t, "The moved object is another one", "plan")
		m.expectKept(t)
	})
	t.Run("a cluster without the object", func(t *testing.T) {
		t.Parallel()
		m := newMove(t, "kubernetes", object)
		cluster.Kubectl(t, "delete", object, "-n", m.namespace)
		m.Write(t, movedBlock("kubernetes_deployment.web", target.address)+target.config)
		m.expectRejected(t, "The moved object does not exist", "plan")
	})
}

func TestAccMoveTakesTheKindOfTheState(t *testing.T) {
	t.Parallel()
	requireMoves(t)
	const object = "StatefulSet/queue"
	m := newMove(t, "kubernetes", object)
	// Without the state, an import would find the Deployment first.
	deployment := strings.NewReplacer("name: web", "name: queue").Replace(moveObjects["Deployment/web"])
	cluster.Apply(t, deployment, "-n", m.namespace)
	target := moveTargets[object]
	m.Write(t, movedBlock(peers["kubernetes"].resources[object], target.address)+target.config)
	if got := m.actions(t)[target.address]; !slices.Equal(got, []string{"update"}) {
		t.Errorf("the plan is %v, want an update", got)
	}
}

// expectRejected runs a command that must fail with a diagnostic. want may contain alternatives: (a|b).
func (m move) expectRejected(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := m.Run(t, args...)
	if err == nil {
		t.Fatalf("%v succeeded, want %q:\n%s", args, want, out)
	}
	text := acctest.Unwrap(out)
	for alternative := range strings.SplitSeq(strings.Trim(want, "()"), "|") {
		if strings.Contains(text, alternative) {
			return
		}
	}
	t.Errorf("the output of %v does not contain %q:\n%s", args, want, out)
}

// expectKept checks that the objects still exist.
func (m move) expectKept(t *testing.T) {
	t.Helper()
	if got := m.live(t, slices.Collect(maps.Keys(m.uids))); !maps.Equal(got, m.uids) {
		t.Errorf("the UIDs of the objects are %v, were %v", got, m.uids)
	}
}

// editState replaces a text in the state.
func (m move) editState(t *testing.T, before, after string) {
	t.Helper()
	file := m.StateFile()
	state, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.ReplaceAll(string(state), before, after)
	if edited == string(state) {
		t.Fatal(fmt.Errorf("the state does not contain %q:\n%s", before, state))
	}
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
}
