package driftbench_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Classes of changes that a complete run makes in addition, one to each subject.
const (
	twoAtOnce    = "two changes at once"
	withUpdate   = "change together with a change of the configuration"
	keptInUpdate = "foreign change, kept by a change of the configuration"
)

// pairs makes two changes to one object of each subject, as two managers: an update, and then a server-side apply of
// another field.
func (b *bench) pairs(t *testing.T) {
	t.Helper()
	var acts []act
	for _, s := range b.subjects {
		all := s.tasks(t, b)
		first, ok := b.first(t, s, all, func(m mutation) bool {
			return m.must && !m.deletes && !m.leavesItem && m.removes == nil
		})
		if !ok {
			continue
		}
		acts = append(acts, first)
		for _, task := range all {
			second := act{task: task, subject: s, before: first.after}
			if task.object != first.object || !task.must || len(task.parts) == 0 || related(task.path, first.path) ||
				!second.apply(t) {
				continue
			}
			second.before = first.before
			first.also, second.also = append(first.also, second.shows...),
				append(second.also, append(first.shows, first.also...)...)
			first.class, second.class = twoAtOnce, twoAtOnce
			acts = append(acts[:len(acts)-1], first, second)
			break
		}
	}
	b.round(t, acts)
}

// tasks returns all mutations of a subject in random order.
func (s *subject) tasks(t *testing.T, b *bench) []task {
	t.Helper()
	fresh := *s
	fresh.todo, fresh.copies, fresh.copy = nil, 1, 0
	fresh.learn(t, b.random, b.options.seed)
	return fresh.todo
}

// first makes the first of these changes that is wanted and that the server accepts.
func (b *bench) first(t *testing.T, s *subject, from []task, wanted func(mutation) bool) (act, bool) {
	t.Helper()
	for _, task := range from {
		a := act{task: task, subject: s, before: task.object.get(t)}
		if wanted(task.mutation) && a.update(t, b.random) {
			return a, true
		}
	}
	return act{}, false
}

func related(a, b fieldpath.Path) bool {
	n := min(len(a), len(b))
	return a[:n].Equals(b[:n])
}

// addedLabel is the label that a change of the configuration adds to every object.
const addedLabel = "drift-round"

var ownLabels = regexp.MustCompile(`\blabels\s*=\s*\{`)

// unchangeable are specimens with an immutable pod template, which a new label replaces.
var unchangeable = []string{"pod", "job", "job-set"}

// configured changes an object of each subject, and the configuration. The next apply restores what is the provider's,
// and keeps foreign changes.
func (b *bench) configured(t *testing.T) {
	t.Helper()
	var acts []act
	bodies := map[*subject]string{}
	for i, s := range b.subjects {
		bodies[s] = s.body
		if slices.Contains(unchangeable, s.specimen.name) {
			continue
		}
		a, ok := b.first(t, s, s.tasks(t, b), func(m mutation) bool {
			if i%2 == 0 {
				return m.must && !m.deletes && !m.leavesItem
			}
			return strings.HasPrefix(m.class, "foreign ")
		})
		if !ok {
			continue
		}
		a.class = map[bool]string{true: withUpdate, false: keptInUpdate}[a.must]
		acts = append(acts, a)
		if ownLabels.MatchString(s.body) {
			s.body = ownLabels.ReplaceAllString(s.body, `${0} "`+addedLabel+`" = "2",`)
		} else {
			s.more = "\n  labels = { \"" + addedLabel + "\" = \"2\" }\n"
		}
	}
	b.cli.Write(t, b.config(configuration(b.subjects)))
	planned := b.plan(t)
	applied := b.run(t, "apply", "-json", "plan.bin")
	b.table.unexplained(nil, "plan of a changed configuration", planned)
	b.table.unexplained(nil, "apply of a changed configuration", applied)
	for _, a := range acts {
		b.table.updated(t, a, planned)
	}
	for s, body := range bodies {
		s.body, s.more = body, ""
	}
	b.cli.Write(t, b.config(configuration(b.subjects)))
	for _, a := range acts {
		if !a.must {
			a.undo(t)
		}
	}
	b.plan(t)
	b.table.unexplained(nil, "apply of the former configuration", b.run(t, "apply", "-json", "plan.bin"))
}

// updated checks the plan and the apply of a changed configuration after a change of an object.
func (b *table) updated(t *testing.T, a act, planned report) {
	t.Helper()
	want := a.before
	if a.must {
		b.judge(a, planned)
	} else {
		b.count(a)
		want = a.after
		if lines := planned.lines(a); len(lines) > 0 {
			b.violation(a, "must not show, but the plan warns: %q", lines)
		}
		if action := planned.planned[a.subject.address]; action != "update" {
			b.violation(a, "the changed configuration must be an update, but the plan is to %s", action)
		}
	}
	now := a.object.get(t)
	var left []string
	for change := range strings.SplitSeq(difference(content(want), content(now)), "; ") {
		if change != "" && !strings.Contains(change, addedLabel) {
			left = append(left, change)
		}
	}
	if len(left) > 0 {
		b.violation(a, "after the apply of the changed configuration: %q", left)
	}
	if !slices.ContainsFunc(a.subject.objects, func(o *object) bool { return hasLabel(o.get(t), addedLabel) }) {
		b.violation(a, "the changed configuration was not applied")
	}
}

func hasLabel(obj *unstructured.Unstructured, label string) bool {
	_, ok := obj.GetLabels()[label]
	return ok
}
