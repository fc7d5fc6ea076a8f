package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Step is one step of a [Path]: a [Name], an [Entry] or an [Index].
type Step interface{ text() string }

// Name is an attribute of an object.
type Name string

// Entry is an entry of a map.
type Entry string

// Index is an item of a list.
type Index int

func (s Name) text() string  { return "." + string(s) }
func (s Entry) text() string { return fmt.Sprintf("[%q]", string(s)) }
func (s Index) text() string { return fmt.Sprintf("[%d]", int(s)) }

// Path is the path of an attribute of kt_compute.
type Path []Step

// At returns the path of a top-level attribute, or of a value in it.
func At(attribute string, inside ...Step) Path { return append(Path{Name(attribute)}, inside...) }

// At returns the path of a value in the attribute at p.
func (p Path) At(inside ...Step) Path { return append(slices.Clone(p), inside...) }

// String returns the path as in a configuration: secrets[0].env_vars.
func (p Path) String() string {
	var text strings.Builder
	for _, step := range p {
		text.WriteString(step.text())
	}
	return strings.TrimPrefix(text.String(), ".")
}

// AttributeError is a problem with one attribute.
type AttributeError struct {
	Path    Path
	Summary string // a noun phrase; may be empty
	Detail  string // the observation and the next step, in sentences
	// Concerns lists the other attributes on which the problem depends.
	Concerns []Path
}

func (e *AttributeError) Error() string { return e.Detail }

// Errors lists all problems of a compute. As an error, it is not empty.
type Errors []*AttributeError

func (e Errors) Error() string {
	return strings.Join(kind.Each(e, (*AttributeError).Error), "\n")
}

// add reports a problem of a top-level attribute. The format is a sentence without its subject, the attribute.
func (e *Errors) add(attribute, format string, args ...any) Reported {
	return e.At(At(attribute), format, args...)
}

// At reports a problem. The format is a sentence without its subject, the attribute at the path.
func (e *Errors) At(path Path, format string, args ...any) Reported {
	return e.report(path, "Invalid "+path[:1].String(), "%s "+format, append([]any{path}, args...)...)
}

// choice is an attribute that excludes others.
type choice struct {
	attribute string
	isSet     bool
}

// exactlyOne reports an object with none or several of some attributes, and returns whether it has one.
func (e *Errors) exactlyOne(at Path, choices ...choice) bool {
	var all, set []string
	var paths []Path
	for _, c := range choices {
		all, paths = append(all, c.attribute), append(paths, at.At(Name(c.attribute)))
		if c.isSet {
			set = append(set, c.attribute)
		}
	}
	switch one := strings.Join(all, ", "); len(set) {
	case 0:
		e.At(at, "must have exactly one of %s, but has none: set one.", one).Concerning(paths...)
	case 1:
	default:
		e.At(at, "must have exactly one of %s, but has %s: remove all but one.", one, strings.Join(set, " and "))
	}
	return len(set) == 1
}

// report adds a problem with a summary and a complete sentence.
func (e *Errors) report(path Path, summary, format string, args ...any) Reported {
	found := &AttributeError{Path: path, Summary: summary, Detail: fmt.Sprintf(format, args...)}
	*e = append(*e, found)
	return Reported{found}
}

// Reported is a problem in the list.
type Reported struct{ problem *AttributeError }

// Concerning records other attributes on which the problem depends.
func (r Reported) Concerning(paths ...Path) {
	r.problem.Concerns = append(r.problem.Concerns, paths...)
}

// RejectOthers reports labels or annotations, of the provider block and of the resource, with other values than ours.
// reasonFor returns why a value is fixed, and the attributes that determine it.
func (e *Errors) RejectOthers(
	attribute string, defaults, given, ours map[string]string, reasonFor func(key string) (string, []Path),
) {
	reject := func(where string, entries map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			want, ok := ours[key]
			if !ok || entries[key] == want {
				continue
			}
			reason, decidedBy := reasonFor(key)
			e.report(At(attribute), "Invalid "+attribute, "%s sets %s to %q, but it must be %q here: %s. Remove it.",
				where, key, entries[key], want, reason).Concerning(decidedBy...)
		}
	}
	reject("the provider's default_"+attribute, defaults)
	reject(attribute, given)
}

// Known returns the problems that do not depend on an unknown attribute.
func (e Errors) Known(unknown func(Path) bool) Errors {
	return slices.DeleteFunc(slices.Clone(e), func(found *AttributeError) bool {
		return unknown(found.Path) || slices.ContainsFunc(found.Concerns, unknown)
	})
}
