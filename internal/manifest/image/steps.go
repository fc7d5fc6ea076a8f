package image

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Spec contains the attributes of a kt_image. It is stored as JSON in the
// annotation SpecAnnotation, from which an import reads it.
type Spec struct {
	ImageID    string `json:"image_id,omitempty"`
	Base       string `json:"base,omitempty"`
	PythonPath string `json:"python_path,omitempty"`
	InstallCmd string `json:"install_cmd,omitempty"`
	Dockerfile string `json:"dockerfile,omitempty"`
	Steps      []Step `json:"steps,omitempty"`
	PinDigest  bool   `json:"pin_digest,omitempty"`
}

// Step is one item of steps. Exactly one field is set.
type Step struct {
	PipInstall  []string          `json:"pip_install,omitempty"`
	RunBash     string            `json:"run_bash,omitempty"`
	SetEnvVars  map[string]string `json:"env,omitempty"`
	Copy        *Copy             `json:"copy,omitempty"`
	SyncPackage string            `json:"sync_package,omitempty"`
}

// Copy is a file or directory to copy.
type Copy struct {
	Source string `json:"source"`
	Dest   string `json:"dest"`
}

// step is one parsed step, from a line of the Dockerfile or an item of steps.
type step struct {
	what string // in messages: "RUN in line 3 of the Dockerfile", "pip_install"
	do   action
	at   Position
}

// action is one of runAction, envAction, copyAction, pipAction and packageAction.
type action interface {
	// instructions returns the lines of a Dockerfile for it.
	instructions(escape string) []string
}

type (
	runAction  struct{ words []string }
	envAction  []variable
	copyAction struct {
		sources []string
		dest    Word
	}
	pipAction     struct{ packages []string }
	packageAction struct{ source string }
)

type variable struct {
	name  string
	value Word
}

// Source is a local file or directory to copy.
type Source struct {
	Path string // as configured
	// Package reports whether it is the directory of a Python package, from which
	// the files of [Excluded] are left out.
	Package bool
}

// Needed is a source with the position that requires it.
type Needed struct {
	Source

	At Position
}

// Sources returns the sources that a Dockerfile and the steps of a spec copy, in order.
func Sources(s Spec, d Dockerfile) []Needed {
	var out []Needed
	steps, _ := stepsOf(s, d)
	for _, one := range steps {
		switch do := one.do.(type) {
		case copyAction:
			for _, path := range do.sources {
				out = append(out, Needed{Source: Source{Path: path}, At: one.at})
			}
		case packageAction:
			out = append(out, Needed{Source: Source{Path: do.source, Package: true}, At: one.at})
		}
	}
	return out
}

// stepsOf returns the steps of a Dockerfile, and then those of a spec that are valid.
func stepsOf(s Spec, d Dockerfile) (steps []step, found manifest.Errors) {
	steps = slices.Clone(d.steps)
	for i, given := range s.Steps {
		if parsed, err := given.parse(i); err != nil {
			found = append(found, parsed.at.Problem(err))
		} else {
			steps = append(steps, parsed)
		}
	}
	return steps, found
}

// CheckStep validates one step whose values are all known. An empty step is valid. The error has the type
// [manifest.Errors].
func CheckStep(index int, s Step) error {
	if parsed, err := s.parse(index); err != nil && parsed.do != nil {
		return manifest.Errors{parsed.at.Problem(err)}
	}
	return nil
}

// parse parses the item of steps with an index.
func (s Step) parse(index int) (step, error) {
	attribute, do, err := s.action()
	return step{what: attribute, do: do, at: inStep(index, attribute)}, err
}

// action returns the action with its attribute, or nil for an empty step.
func (s Step) action() (attribute string, do action, err error) {
	switch {
	case len(s.PipInstall) > 0:
		return "pip_install", pipAction{packages: s.PipInstall}, checkPackages(s.PipInstall)
	case s.RunBash != "":
		words := []string{"bash", "-eo", "pipefail", "-c", s.RunBash}
		return "run_bash", runAction{words: words}, checkCommand(words)
	case len(s.SetEnvVars) > 0:
		vars, err := s.variables()
		return "set_env_vars", vars, err
	case s.Copy != nil:
		c := copyAction{sources: []string{s.Copy.Source}, dest: Word{{Text: s.Copy.Dest}}}
		return "copy", c, checkDestination(c)
	case s.SyncPackage != "":
		return "sync_package", packageAction{source: s.SyncPackage}, nil
	default:
		return "", nil, errors.New("the step is empty: set exactly one of pip_install, run_bash, set_env_vars, copy " +
			"and sync_package")
	}
}

func (s Step) variables() (envAction, error) {
	var vars envAction
	for _, name := range slices.Sorted(maps.Keys(s.SetEnvVars)) {
		value := s.SetEnvVars[name]
		switch {
		case !isVariable(name):
			return nil, fmt.Errorf("%q is "+notVariable, name)
		case strings.ContainsAny(value, "\n\x00"):
			return nil, fmt.Errorf("the value of %s has a line break, which a Dockerfile cannot express: use "+
				"env_vars or secrets of kt_compute", name)
		}
		vars = append(vars, variable{name: name, value: plainWord(value)})
	}
	return vars, nil
}

func checkPackages(packages []string) error {
	for _, name := range packages {
		if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "\n\x00") {
			return fmt.Errorf("%q is not a package: each item must be one argument of pip, such as \"torch==2.5.1\"",
				name)
		}
	}
	return nil
}

// longestArgument is the maximum size of one argument in Linux, MAX_ARG_STRLEN with its NUL.
const longestArgument = 128<<10 - 1

func checkCommand(words []string) error {
	if len(words) == 0 || words[0] == "" {
		return errors.New("the command is empty: complete it, or remove it")
	}
	for _, word := range words {
		switch {
		case len(word) >= longestArgument:
			return fmt.Errorf("the command is %d bytes long, but Linux accepts at most %d: copy it as a file, and "+
				"run that", len(word), longestArgument-1)
		case strings.Contains(word, "\x00"):
			return errors.New("the command has a NUL character, which shells do not accept: remove it")
		}
	}
	return nil
}

func checkDestination(c copyAction) error {
	dest, known := c.dest.literal()
	switch {
	case known && dest == "":
		return errors.New("the destination is empty: set a path, such as /app/")
	case strings.HasPrefix(dest, "~"):
		return fmt.Errorf("the destination is %s, but ~ is not expanded: use an absolute path, such as /root%s", dest,
			strings.TrimPrefix(dest, "~"))
	case strings.ContainsAny(dest, "\n\x00"):
		return errors.New("the destination has a line break: remove it")
	case known && len(c.sources) > 1 && !strings.HasSuffix(dest, "/"):
		return fmt.Errorf("several sources are copied to %s, which must be a directory: add a slash at the end, "+
			"%s/", dest,
			dest)
	}
	return nil
}
