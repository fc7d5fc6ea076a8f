package chains_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

var (
	// resourceName is the name of a resource in that of an object, such as kt-image-c7.
	resourceName = regexp.MustCompile(`\bc\d+\b`)
	// generated matches what servers generate: UIDs, and the names of volumes with tokens.
	generated = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|kube-api-access-[a-z0-9]{5}`)
)

// state is a state with resources in a namespace of its own.
type state struct {
	*acctest.Resources
	subject

	t     *testing.T
	ns    string
	done  *totals
	plans map[string]*core.Plan // of the last change, with all values known
}

func (b *bench) newState() *state {
	b.t.Helper()
	ns := cluster.Namespace(b.t)
	return &state{Resources: cluster.Resources(b.t, b.typ, ns, ""), subject: b.subject, t: b.t, ns: ns,
		done: b.done}
}

// plan plans declarations.
func (s *state) plan(bodies map[string]string) (map[string]*core.Plan, map[string]error) {
	s.t.Helper()
	named := map[string]string{}
	for name, body := range bodies {
		object := name
		if s.clusterWide {
			object += "-" + s.ns
		}
		named[name] = strings.ReplaceAll(body, "NAME", object)
	}
	return s.TryPlan(s.t, named)
}

// change plans and applies declarations, and plans again, when all values are known. It returns what is wrong, by name.
func (s *state) change(bodies map[string]string) map[string]string {
	s.t.Helper()
	wrong := map[string]string{}
	note := func(what string, failed map[string]error) {
		for name, err := range failed {
			wrong[name] = fmt.Sprintf("%s: %v", what, err)
			delete(bodies, name)
		}
	}
	bodies = maps.Clone(bodies)
	plans, failed := s.plan(bodies)
	known := s.foresee(bodies)
	known.judgeFailed(failed)
	note("plan", failed)
	s.plans = maps.Clone(plans)
	failed = s.TryApply(s.t, plans)
	late := known.judge(s, plans, failed)
	note("apply", failed)
	if len(late) > 0 {
		plans, failed := s.plan(late)
		note("plan of the next run", failed)
		maps.Copy(s.plans, plans)
		note("apply of the next run", s.TryApply(s.t, plans))
	}
	if s.settled != nil {
		s.settled(s)
	}
	second, failed := s.plan(applied(bodies))
	note("second plan", failed)
	for name, p := range second {
		if p.Action != core.NoOp {
			wrong[name] = fmt.Sprintf("the second plan is %s of %q", p.Action, acctest.AsPlan(s.t, p).Fields())
		}
	}
	return wrong
}

func (s *state) destroy() {
	s.t.Helper()
	s.Destroy(s.t)
	for name, left := range s.objects() {
		s.t.Errorf("%s %s is left behind: %v", s.typ, name, slices.Sorted(maps.Keys(left)))
	}
}

// object is an object in the cluster.
type object struct {
	UID string
	// Content is without what only the server or a creation sets.
	Content map[string]any
}

// objects returns the objects of each resource that no controller created, by version, kind and name.
func (s *state) objects() map[string]map[string]object {
	s.t.Helper()
	where := []string{"-n", s.ns}
	if s.clusterWide {
		where = []string{"-A"}
	}
	list := &unstructured.UnstructuredList{}
	text := cluster.Kubectl(s.t, append([]string{"get", strings.Join(s.kinds, ","), "-o", "json"}, where...)...)
	if err := json.Unmarshal([]byte(text), list); err != nil {
		s.t.Fatal(err)
	}
	own := regexp.MustCompile(`\b` + s.ns + `\b`)
	all := map[string]map[string]object{}
	for i := range list.Items {
		item := &list.Items[i]
		of := resourceName.FindString(item.GetName())
		if of == "" || metav1.GetControllerOf(item) != nil || s.clusterWide && !own.MatchString(item.GetName()) {
			continue
		}
		uid := string(item.GetUID())
		content := s.content(item)
		if all[of] == nil {
			all[of] = map[string]object{}
		}
		name := own.ReplaceAllString(item.GetName(), "NAMESPACE")
		all[of][fmt.Sprint(item.GetAPIVersion(), " ", item.GetKind(), " ", name)] = object{uid, content}
	}
	return all
}

// content removes what only the server or a creation sets from an object, and returns it.
func (s *state) content(item *unstructured.Unstructured) map[string]any {
	s.t.Helper()
	acctest.RemoveServerFields(item.Object)
	metadata := kind.FieldsAt(item.Object, "metadata")
	if !s.clusterWide {
		delete(metadata, "namespace")
	}
	delete(kind.FieldsAt(metadata, "annotations"), "deprecated.daemonset.template.generation")
	if len(item.GetAnnotations()) == 0 {
		delete(metadata, "annotations")
	}
	delete(kind.FieldsAt(item.Object, "spec"), "nodeName") // of a Pod
	for _, one := range kind.WorkloadOf(item.GroupVersionKind().GroupKind()).Suspension {
		// A workload that was suspended has false, which is the default. In a queue, only a new one is suspended.
		value, _ := kind.Find(item.Object, one.Path)
		if one.Value == true && (value == false || item.GetLabels()[kind.KueueQueueLabel] != "") {
			kind.SetAt(item.Object, one.Path, nil)
		}
		// Of a training job, nothing else may be in runPolicy.
		if parent := one.Path[:len(one.Path)-1]; len(parent) > 1 && len(kind.FieldsAt(item.Object, parent...)) == 0 {
			kind.SetAt(item.Object, parent, nil)
		}
	}
	text, err := json.Marshal(item.Object)
	if err != nil {
		s.t.Fatal(err)
	}
	text = generated.ReplaceAll(text, []byte("GENERATED"))
	text = regexp.MustCompile(`\b`+s.ns+`\b`).ReplaceAll(text, []byte("NAMESPACE"))
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// unplanned returns what an apply did to objects although its plan does not show it, or "".
func unplanned(t *testing.T, p *core.Plan, before, after map[string]object) string {
	t.Helper()
	if p.Action == core.Replace || p.Action == core.Create {
		return ""
	}
	if p.Action == core.NoOp {
		if diff := cmp.Diff(before, after); diff != "" {
			return "the plan is empty, but objects change (-before, +after):\n" + diff
		}
	}
	fields := acctest.AsPlan(t, p).Fields()
	shows := func(path string) bool {
		return slices.ContainsFunc(fields, func(f string) bool {
			return strings.HasPrefix(f, path) || strings.HasPrefix(path, f)
		})
	}
	for key, was := range before {
		now, left := after[key]
		if !left {
			continue // the plan shows it, otherwise the second plan would not be empty
		}
		item := &unstructured.Unstructured{Object: was.Content}
		workload := kind.WorkloadOf(item.GroupVersionKind().GroupKind())
		if was.UID != now.UID && (workload.Mode != "" || !shows(item.GetKind()+" ")) {
			return fmt.Sprintf("%s is created again, and the plan is an update of %q", key, fields)
		}
		if workload.Groups == nil {
			continue
		}
		for _, g := range workload.Groups(was.Content) {
			template := g.Template
			if len(template) == 0 {
				template = []string{"spec"} // of a Pod or a tensor server
			}
			old, _ := kind.Find(was.Content, template)
			is, _ := kind.Find(now.Content, template)
			if !cmp.Equal(old, is) && !shows(item.GetKind()+" "+strings.Join(template, ".")) {
				return fmt.Sprintf("pods are replaced because of %s %v, and the plan shows only %q", key, template,
					fields)
			}
		}
	}
	return ""
}
