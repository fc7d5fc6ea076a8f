package actions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// TestAccEveryKindConforms runs the same checks on each kind of the table, for a compute that the provider creates and
// for one that it adopts. A new kind needs no test here, only a spec. All computes are in one state, so that a step
// costs one plan and one apply. After each change, the plan is empty. Readiness is not checked: no controllers act on
// the kinds of other projects here.
func TestAccEveryKindConforms(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t).WithComputes(t)
	s := newSuite(t)
	for _, k := range kind.Workloads() {
		s.members = append(s.members, member{kind: k}, member{kind: k, adopted: true})
	}
	for _, step := range []func(){
		s.create, s.adopt, s.update, s.showDrift, s.ignoreDrift, s.showRestarts, s.showSuspensions, s.showScaling,
		s.suspend, s.isImported, s.isListed, s.applyUnknown, s.recreate, s.destroy,
	} {
		step()
	}
}

// member is a compute of the suite.
type member struct {
	kind    kind.Kind
	adopted bool
	source  string // the resource type that a moved compute comes from
}

// name is unique, because the computes are in one namespace.
func (m member) name() string {
	name := strings.ToLower(strings.ReplaceAll(m.kind.Word(), " ", "-"))
	if m.kind.Server != nil {
		name = m.kind.Server.Runtime
	}
	switch {
	case m.source != "":
		return name + "-from-" + strings.ReplaceAll(m.source, "_", "-")
	case m.adopted:
		return name + "-adopted"
	default:
		return name + "-created"
	}
}

func (m member) spec() string { return strings.ReplaceAll(specOf(m.kind), "trainer", m.name()) }

// common are the attributes of every member.
func (m member) common() string {
	return fmt.Sprintf("name = %q\non_not_ready = \"ignore\"\n", m.name())
}

// labels is the attribute with the label that the suite changes. It is in the manifest of an adopted workload.
const labels = "labels = { team = \"red\" }\n"

// object is the workload as an argument of kubectl.
func (m member) object() string { return m.kind.Argument() + "/" + m.name() }

// suite contains the computes of all kinds, and their configuration.
type suite struct {
	t        *testing.T
	ns       string
	members  []member
	computes *acctest.Resources
	bodies   map[string]string
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{t: t, ns: withCRDs.Namespace(t), bodies: map[string]string{}}
	s.computes = withCRDs.Resources(t, "kt_compute", s.ns, "")
	return s
}

// only returns the members that a function accepts.
func (s *suite) only(accept func(member) bool) []member {
	return slices.DeleteFunc(slices.Clone(s.members), func(m member) bool { return !accept(m) })
}

func (s *suite) supporting(o kind.Operation) []member {
	return s.only(func(m member) bool {
		_, refused := m.kind.Refuses[o]
		return !refused
	})
}

// objects are the workloads as arguments of kubectl.
func objects(members []member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.object())
	}
	return all
}

func names(members []member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.name())
	}
	return all
}

func (s *suite) kubectl(args ...string) string {
	s.t.Helper()
	return withCRDs.Kubectl(s.t, append(args, "-n", s.ns)...)
}

// live returns the workloads by name.
func (s *suite) live() map[string]*unstructured.Unstructured {
	s.t.Helper()
	list := &unstructured.UnstructuredList{}
	text := s.kubectl(append([]string{"get", "--show-managed-fields", "-o", "json"}, objects(s.members)...)...)
	if err := json.Unmarshal([]byte(text), list); err != nil {
		s.t.Fatal(err)
	}
	all := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		all[list.Items[i].GetName()] = &list.Items[i]
	}
	return all
}

func (s *suite) bodiesOf(members []member) map[string]string {
	bodies := map[string]string{}
	for _, m := range members {
		bodies[m.name()] = s.bodies[m.name()]
	}
	return bodies
}

// change applies the configuration of members, and expects that the plan updates an attribute of each in place.
func (s *suite) change(members []member, attribute func(member) string) {
	s.t.Helper()
	before := map[string]map[string]any{}
	for _, m := range members {
		before[m.name()] = s.sent(m)
	}
	plans := s.computes.Change(s.t, s.bodiesOf(members))
	for _, m := range members {
		p, want := plans[m.name()], core.Update
		if m.replacedByLabels(before[m.name()], s.sent(m)) {
			want = core.Replace
		}
		if p.Action != want || !slices.Contains(p.Attributes(), attribute(m)) {
			s.t.Errorf("%s: the plan is %s of %q instead of %s of %s", m.name(), p.Action, p.Attributes(), want,
				attribute(m))
		}
	}
}

// replacedByLabels reports whether the pods have other labels, and these replace the workload. Webhooks of other
// projects are not installed here, so that the immutable fields of their kinds can be changed.
func (m member) replacedByLabels(before, after map[string]any) bool {
	return slices.ContainsFunc(m.kind.Groups(after), func(g kind.Group) bool {
		path := kind.Under(g.Template, "metadata", "labels")
		was, _ := kind.Find(before, path)
		if is, _ := kind.Find(after, path); reflect.DeepEqual(was, is) {
			return false
		}
		return m.isCreationOnly(path) || !m.kind.Custom() &&
			slices.ContainsFunc(m.kind.Immutable, func(field string) bool {
				// The API server names "spec" for any field of a StatefulSet or Pod; some are mutable.
				return field != "spec" && contains(strings.Split(field, "."), path)
			})
	})
}

// isCreationOnly reports whether a change of a field replaces the workload, although the API server accepts it.
func (m member) isCreationOnly(path []string) bool {
	return slices.ContainsFunc(m.kind.CreationOnly, func(field []string) bool { return contains(field, path) })
}

// contains reports whether a path is at or below a field.
func contains(field, path []string) bool {
	return len(field) <= len(path) && slices.Equal(field, path[:len(field)])
}

func always(attribute string) func(member) string { return func(member) string { return attribute } }

// workload returns the attributes that select the kind.
func (m member) workload(spec string) string {
	if m.kind.Server != nil {
		return fmt.Sprintf("image = \"a:1\"\nruntime = %q\n", m.kind.Server.Runtime)
	}
	return fmt.Sprintf("manifest = <<-EOT\napiVersion: %s\nkind: %s\nspec: %s\nEOT\n", m.kind.GroupVersion(),
		m.kind.Kind, spec)
}

// create creates the computes that are not adopted.
func (s *suite) create() {
	s.t.Helper()
	created := s.only(func(m member) bool { return !m.adopted })
	for _, m := range created {
		s.bodies[m.name()] = m.common() + labels + m.workload(m.spec())
	}
	for name, p := range s.computes.Change(s.t, s.bodiesOf(created)) {
		if p.Action != core.Create {
			s.t.Errorf("%s: the first plan is %s", name, p.Action)
		}
	}
}

func (s *suite) update() {
	s.t.Helper()
	for name, body := range s.bodies {
		if !strings.Contains(body, "red") { // an import does not read the labels of a tensor server
			body += labels
		}
		s.bodies[name] = strings.Replace(body, "red", "blue", 1)
	}
	s.change(s.members, always("manifests"))
	s.expectTeam("blue")
}

func (s *suite) expectTeam(want string) {
	s.t.Helper()
	for name, live := range s.live() {
		if got := live.GetLabels()["team"]; got != want {
			s.t.Errorf("%s: the label team is %q; want %q", name, got, want)
		}
	}
}

// drift changes an owned field as another client.
func (s *suite) drift() {
	s.t.Helper()
	s.kubectl(append(append([]string{"label", "--overwrite"}, objects(s.members)...), "team=green")...)
}

func (s *suite) showDrift() {
	s.t.Helper()
	s.drift()
	s.change(s.members, always("manifests"))
	s.expectTeam("blue")
}

func (s *suite) ignoreDrift() {
	s.t.Helper()
	s.computes.Ignored = map[string][]string{}
	for name, body := range s.bodies {
		s.computes.Ignored[name] = []string{"all"}
		if strings.Contains(body, "labels = ") {
			s.computes.Ignored[name] = []string{"labels"}
		}
	}
	s.drift()
	s.computes.ExpectNoChange(s.t, s.bodies)
	s.expectTeam("green")
	s.computes.Ignored = nil
	s.change(s.members, always("manifests"))
	s.expectTeam("blue")
}

// invoke runs an action on members. It does not wait.
func (s *suite) invoke(members []member, action string, attributes map[string]any) {
	s.t.Helper()
	for _, m := range members {
		all := map[string]any{"id": s.ns + "/" + m.name(), "wait": false}
		maps.Copy(all, attributes)
		if r := invoke(s.t, withCRDs, "kt_"+action, all); len(r.errors) > 0 {
			s.t.Fatalf("kt_%s of %s failed:\n%s", action, m.name(), r)
		}
	}
}

func (s *suite) showRestarts() {
	s.t.Helper()
	members := s.supporting(kind.Restarting)
	s.invoke(members, "restart", nil)
	s.computes.ExpectNoChange(s.t, s.bodiesOf(members))
}

// showSuspensions expects that the plan shows nothing after kt_suspend and kt_resume, that it shows kt_suspend alone,
// and that its apply resumes the compute.
func (s *suite) showSuspensions() {
	s.t.Helper()
	members := s.supporting(kind.Suspending)
	s.invoke(members, "suspend", nil)
	s.expectSuspended(members, true)
	s.computes.Refresh(s.t, names(members))
	s.invoke(members, "resume", nil)
	s.computes.ExpectNoChange(s.t, s.bodiesOf(members))
	s.expectSuspended(members, false)
	s.invoke(members, "suspend", nil)
	s.change(members, func(m member) string {
		if slices.ContainsFunc(m.kind.Suspension, func(one kind.Setting) bool { return one.Value == int64(0) }) {
			return "replicas"
		}
		return "suspend"
	})
	s.expectSuspended(members, false)
}

// expectSuspended checks the fields that suspend the workloads. KubeRay does not resume a RayCluster without the field.
func (s *suite) expectSuspended(members []member, want bool) {
	s.t.Helper()
	live := s.live()
	for _, m := range members {
		object := live[m.name()].Object
		if manifest.IsSuspended(object, m.kind.Workload) != want {
			s.t.Errorf("%s: suspended is not %t: %v", m.name(), want, object["spec"])
		}
		for _, one := range m.kind.Suspension {
			if value, _ := kind.Find(object, one.Path); one.Value == true && value != want {
				s.t.Errorf("%s: %v is %v; want %t", m.name(), one.Path, value, want)
			}
		}
	}
}

func (s *suite) showScaling() {
	s.t.Helper()
	members := s.supporting(kind.Scaling)
	s.invoke(members, "scale", map[string]any{"replicas": 3})
	s.change(members, always("manifests"))
}

// suspend suspends and resumes by the attribute.
func (s *suite) suspend() {
	s.t.Helper()
	members := s.only(func(m member) bool { return len(m.kind.Suspension) > 0 })
	before := s.bodiesOf(members)
	for name := range before {
		s.bodies[name] += "suspend = true\n"
	}
	s.change(members, always("suspend"))
	s.expectSuspended(members, true)
	maps.Copy(s.bodies, before)
	s.change(members, always("suspend"))
	s.expectSuspended(members, false)
}

// isImported expects that another state plans no change of the objects.
func (s *suite) isImported() {
	s.t.Helper()
	imported := withCRDs.Resources(s.t, "kt_compute", s.ns, "")
	imported.Import(s.t, s.ns, slices.Sorted(maps.Keys(s.bodies)))
	s.expectNoObjectChanges(imported.Plan(s.t, s.bodies))
}

// isListed expects that a query finds each compute once, by the ID of its import. It leaves out Pods and ReplicaSets
// without labels of the provider or of Kubetorch, which most clusters have by the thousand.
func (s *suite) isListed() {
	s.t.Helper()
	var want []string
	for _, m := range s.only(func(m member) bool {
		return !m.adopted || m.kind.Kind != "Pod" && m.kind.Kind != "ReplicaSet"
	}) {
		want = append(want, s.ns+"/"+m.name())
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, list(s.t, withCRDs, "kt_compute", s.ns)); diff != "" {
		s.t.Error(diff)
	}
}

func (s *suite) recreate() {
	s.t.Helper()
	before := s.live()
	s.kubectl(append([]string{"delete"}, objects(s.members)...)...)
	s.computes.Change(s.t, s.bodies)
	for name, live := range s.live() {
		if uid := live.GetUID(); uid == before[name].GetUID() || s.computes.Attribute(name, "uid") != string(uid) {
			s.t.Errorf("%s: the UID in state is %v; live %s", name, s.computes.Attribute(name, "uid"), uid)
		}
	}
}

func (s *suite) destroy() {
	s.t.Helper()
	s.computes.Destroy(s.t)
	left := append([]string{"get", "--ignore-not-found", "-o", "name"}, objects(s.members)...)
	for _, m := range s.members {
		left = append(left, "service/"+m.name())
	}
	if out := s.kubectl(left...); out != "" {
		s.t.Errorf("left behind:\n%s", out)
	}
}
