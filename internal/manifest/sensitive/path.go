// Package sensitive hides fields of objects: it replaces their values by placeholders, and puts the values back.
package sensitive

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Path selects fields of an object, as drift warnings write them: spec.template.spec.containers["main"].args[0].
type Path []step

// step selects a field of an object by its name, an item of a list by its name or index, or all of either.
type step struct {
	name  string
	index int // -1 without one
	all   bool
}

// ParsePath decodes a path: names separated by dots, ["NAME"] for a field of any name and for the list item whose field
// name it is, [0] for a list item, and [*] for all items or fields.
func ParsePath(text string) (Path, error) {
	var path Path
	for rest := text; rest != ""; {
		next, after, err := parseStep(rest, len(path) == 0)
		if err != nil {
			return nil, fmt.Errorf("%q is not a path of a field: %w", text, err)
		}
		path, rest = append(path, next), after
	}
	if len(path) == 0 {
		return nil, errors.New("the path of a field is empty")
	}
	return path, nil
}

// parseStep decodes the first step of text, and returns the rest.
func parseStep(text string, first bool) (found step, rest string, err error) {
	if !strings.HasPrefix(text, "[") {
		name, dotted := strings.CutPrefix(text, ".")
		if dotted == first {
			return step{}, "", fmt.Errorf("%q must begin with a name, and continue with . or [", text)
		}
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		if end == 0 || strings.ContainsAny(name[:end], "]\"' \t\r\n") {
			return step{}, "", fmt.Errorf("%q does not begin with a name; write [\"NAME\"] for one with other "+
				"characters", name)
		}
		return step{name: name[:end], index: -1}, name[end:], nil
	}
	inner := text[1:]
	if quoted, err := strconv.QuotedPrefix(inner); err == nil && quoted[0] == '"' {
		name, err := strconv.Unquote(quoted)
		rest, closed := strings.CutPrefix(inner[len(quoted):], "]")
		if err != nil || !closed {
			return step{}, "", fmt.Errorf("%q has no closing ]", text)
		}
		return step{name: name, index: -1}, rest, nil
	}
	inner, rest, closed := strings.Cut(inner, "]")
	if inner == "*" && closed {
		return step{index: -1, all: true}, rest, nil
	}
	index, err := strconv.ParseUint(inner, 10, 31)
	if err != nil || !closed {
		return step{}, "", fmt.Errorf("%q must begin with [\"NAME\"], [0] or [*]", text)
	}
	return step{index: int(index)}, rest, nil
}

// matchesField reports whether the step selects a field of an object.
func (s step) matchesField(name string) bool { return s.all || s.index < 0 && s.name == name }

// matchesItem reports whether the step selects an item of a list.
func (s step) matchesItem(index int, item any) bool {
	if s.all || s.index >= 0 {
		return s.all || s.index == index
	}
	fields, _ := item.(map[string]any)
	name, named := fields["name"].(string)
	return named && name == s.name
}

// Selects reports whether one of the paths selects the field with the names, or an object that contains it.
func Selects(paths []Path, names ...string) bool {
	return slices.ContainsFunc(paths, func(path Path) bool {
		return len(path) <= len(names) && slices.EqualFunc(path, names[:len(path)], step.matchesField)
	})
}
