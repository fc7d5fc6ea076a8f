package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// requestedReplicas returns the requested number of pods, and the attribute that
// sets it. The attribute is nil if the manifest or the default determines the
// number.
func requestedReplicas(c Compute) (n int64, attribute Path) {
	switch {
	case c.Distribute != nil && c.Distribute.Workers > 0:
		return c.Distribute.Workers, At("distribute", Name("workers"))
	case c.ReplicasGiven:
		return c.Replicas, At("replicas")
	case c.Manifest != nil:
		return kind.PodCount(c.Manifest, kindOf(c).Groups(c.Manifest)), nil
	default:
		return cmp.Or(c.Replicas, 1), nil
	}
}

// scale sets the requested number of pods in a manifest of the user.
func scale(c Compute, k kind.Kind, workload map[string]any) Errors {
	requested, attribute := requestedReplicas(c)
	if attribute == nil || c.Manifest == nil {
		return nil
	}
	var errs Errors
	groups := k.Groups(workload)
	i := slices.IndexFunc(groups, func(g kind.Group) bool {
		return g.Scaled && g.SetCount(workload) > 0
	})
	if i < 0 {
		if !k.Scales {
			errs.At(attribute, "requests %d pods, but the provider cannot set the number of pods of a %s: set it in "+
				"manifest.", requested, k.Kind)
		} else if one := kind.PodCount(workload, groups); one != requested {
			errs.At(attribute, "requests %d pods, but the %s in manifest has no workers in addition to its %d: use "+
				"the same number.", requested, k.Kind, one)
		}
		return errs
	}
	g := groups[i]
	each := g.SetCount(workload)
	if current := kind.PodCount(workload, groups); g.HasNumber(workload) {
		if also, ok := kind.NumberAt(workload, g.Also); current != requested ||
			ok && (also-g.Others)*each != g.Count(workload) {
			errs.At(attribute, "requests %d pods, but manifest runs %d (%s): use the same number, or remove one of "+
				"the two.", requested, current, dotted(g.Number))
			return errs
		}
	}
	number, rest, ok := numberFor(g, workload, groups, requested)
	if !ok {
		errs.At(attribute, "requests %d pods, but the %s in manifest has %d in addition to those at %s, which are "+
			"added %d at a time: use a number that this allows.",
			requested, k.Kind, rest, dotted(g.Number), each)
		return errs
	}
	if number < g.AtLeast {
		errs.At(attribute, "requests %s, but the %s in manifest has at least %d: use a larger number, or set "+
			"suspend = true.", advice.Number(requested, "pod"), k.Kind, rest+(g.AtLeast-g.Others)*each)
		return errs
	}
	for _, path := range [][]string{g.Number, g.Also} {
		if path != nil {
			kind.SetAt(workload, path, number)
		}
	}
	return nil
}

// numberFor returns the number of a group with which a workload has the requested pods, and the number of all other
// pods. It returns false if there is no such number.
func numberFor(g kind.Group, workload map[string]any, groups []kind.Group, requested int64) (n, rest int64, ok bool) {
	each := g.SetCount(workload)
	rest = kind.PodCount(workload, groups) - g.Count(workload)
	if requested < rest || (requested-rest)%each != 0 {
		return 0, rest, false
	}
	return (requested-rest)/each + g.Others, rest, true
}

// ScaleError reports that a workload cannot have a number of pods.
type ScaleError struct {
	Fixed int64    // pods whose number cannot be set
	Each  int64    // number of pods by which the others change; 0 if there are none
	Least int64    // smallest number of pods, if that is the problem; otherwise 0
	Field []string // that sets Least; nil if it is fixed
	Fails bool     // whether fewer pods would fail the workload
}

func (e *ScaleError) Error() string {
	switch {
	case e.Fails:
		return "its controller would count the removed pods as failed, and the job with them"
	case e.Field != nil:
		return fmt.Sprintf("it has at least %s (`%s`)", advice.Number(e.Least, "pod"), dotted(e.Field))
	case e.Least > 0:
		return "it has at least " + advice.Number(e.Least, "pod")
	case e.Each == 0:
		return fmt.Sprintf("it only has %s whose number cannot be set", advice.Number(e.Fixed, "pod"))
	}
	return fmt.Sprintf("it has %s whose number cannot be set, and the others are added %d at a time",
		advice.Number(e.Fixed, "pod"), e.Each)
}

// Scale sets the number of pods of an existing workload of a kind that Scales. It resumes one that is suspended by
// having no pods. It returns a [ScaleError] if the workload cannot have that number.
func Scale(workload map[string]any, of *kind.Workload, pods int64) error {
	groups := of.Groups(workload)
	i := slices.IndexFunc(groups, func(g kind.Group) bool { return g.Scaled && g.SetCount(workload) > 0 })
	switch {
	case i < 0 && pods > 0 && suspendsByNumber(of) && IsSuspended(workload, of): // by a number of groups
		if err := Resume(workload, of, 0); err != nil && !errors.Is(err, ErrReplicasUnknown) {
			return err
		}
		if IsSuspended(workload, of) { // nothing was recorded, or no pods
			unsuspend(workload, of)
		}
		return Scale(workload, of, pods)
	case i < 0:
		return &ScaleError{Fixed: kind.PodCount(workload, groups)}
	}
	g := groups[i]
	number, rest, ok := numberFor(g, workload, groups, pods)
	if tooFew := tooFewPods(workload, g, rest); pods < tooFew.Least {
		return tooFew
	}
	if !ok {
		return &ScaleError{Fixed: rest, Each: g.SetCount(workload)}
	}
	current := g.NumberIn(workload)
	if g.OnlyGrows && number < current && !IsSuspended(workload, of) {
		return &ScaleError{Fails: true}
	}
	if also, has := kind.NumberAt(workload, g.Also); has && also == current {
		kind.SetAt(workload, g.Also, number)
	}
	kind.SetAt(workload, g.Number, number)
	raiseLimit(workload, g)
	return nil
}

// tooFewPods is the error for fewer pods than a workload with the rest of them in other groups can have.
func tooFewPods(workload map[string]any, g kind.Group, rest int64) *ScaleError {
	each := g.SetCount(workload)
	e := &ScaleError{Least: rest + max(g.Minimum(workload)-g.Others, 0)*each, Each: each}
	if least, _ := kind.NumberAt(workload, g.Least); least > 0 {
		e.Field = g.Least
	}
	return e
}

// FailsSmaller returns the field in which an update lowers a number of pods and so fails the workload, or "". A
// suspended workload has no pods to lose.
func FailsSmaller(before, after *unstructured.Unstructured) string {
	k, _ := kindOfObject(after.GroupVersionKind(), nil)
	groups := k.Groups(before.Object)
	for _, g := range k.Groups(after.Object) {
		i := slices.IndexFunc(groups, g.Is)
		if i >= 0 && groups[i].OnlyGrows && g.NumberIn(after.Object) < groups[i].NumberIn(before.Object) &&
			!IsSuspended(before.Object, k.Workload) && !IsSuspended(after.Object, k.Workload) {
			return dotted(g.Number)
		}
	}
	return ""
}

// raiseLimit sets the largest allowed number of a group to its number, unless it is larger.
func raiseLimit(workload map[string]any, g kind.Group) {
	n, _ := kind.NumberAt(workload, g.Number)
	if most, ok := kind.NumberAt(workload, g.Most); ok && most < n {
		kind.SetAt(workload, g.Most, n)
	}
}

// PreserveReplicas sets the numbers of pods in a rendered workload to those of
// prior, which another client may have changed. If one of the two is suspended, a
// number that suspends it is not preserved. A resumed workload whose only number is
// that one gets resumed pods, unless that is zero.
func PreserveReplicas(
	rendered, prior *unstructured.Unstructured, suspended bool, resumed int64, podTemplate ...string,
) {
	k, _ := kindOfObject(rendered.GroupVersionKind(), podTemplate)
	suspends := func(path []string) bool {
		return slices.ContainsFunc(k.Suspension, func(s kind.Setting) bool { return slices.Equal(s.Path, path) })
	}
	before, groups := k.Groups(prior.Object), k.Groups(rendered.Object)
	for _, g := range groups {
		i := slices.IndexFunc(before, g.Is)
		if i < 0 {
			continue
		}
		for j, path := range g.Numbers() {
			n, ok := kind.NumberAt(prior.Object, before[i].Numbers()[j])
			switch {
			case !ok || path == nil:
			case !suspended || !suspends(path):
				kind.SetAt(rendered.Object, path, n)
			case resumed > 0 && len(groups) == 1 && slices.Equal(path, g.Number):
				kind.SetAt(rendered.Object, path, resumed)
			}
		}
		raiseLimit(rendered.Object, g)
	}
}
