package image

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Spec is a kt_image: what its attributes say. As JSON it is kept in the
// annotation SpecAnnotation, so that an import finds all of it.
type Spec struct {
	ImageID    string `json:"image_id,omitempty"`
	Base       string `json:"base,omitempty"`
	PythonPath string `json:"python_path,omitempty"`
	InstallCmd string `json:"install_cmd,omitempty"`
	Dockerfile string `json:"dockerfile,omitempty"`
	Steps      []Step `json:"steps,omitempty"`
	PinDigest  bool   `json:"pin_digest,omitempty"`
}

// Step is one item of steps; exactly one field is set.
type Step struct {
	PipInstall  []string          `json:"pip_install,omitempty"`
	RunBash     string            `json:"run_bash,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Copy        *Copy             `json:"copy,omitempty"`
	SyncPackage string            `json:"sync_package,omitempty"`
}

// Copy is a file or folder to copy.
type Copy struct {
	Source string `json:"source"`
	Dest   string `json:"dest"`
}

// step is one thing to do, from a line of the Dockerfile or an item of steps.
type step struct {
	what string // in messages: "RUN in line 3 of the Dockerfile", "pip_install"
	do   action
}

// action is one of runAction, envAction, copyAction, pipAction and packageAction.
type action interface{ isAction() }

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

func (runAction) isAction()     {}
func (envAction) isAction()     {}
func (copyAction) isAction()    {}
func (pipAction) isAction()     {}
func (packageAction) isAction() {}

// Sources are the local paths that a step copies.
func (s Step) Sources() []string {
	parsed, _, err := s.parse()
	if err != nil {
		return nil
	}
	return sources([]step{parsed})
}

func sources(steps []step) []string {
	var out []string
	for _, s := range steps {
		switch do := s.do.(type) {
		case copyAction:
			out = append(out, do.sources...)
		case packageAction:
			out = append(out, do.source)
		}
	}
	return out
}

// CheckStep says what is wrong with one step that is wholly known.
func CheckStep(index int, s Step) error {
	_, field, err := s.parse()
	if err != nil {
		return &Error{Step: index, Field: field, Detail: err.Error()}
	}
	return nil
}

func (s Step) parse() (parsed step, field string, err error) {
	switch {
	case len(s.PipInstall) > 0:
		return step{what: "pip_install", do: pipAction{packages: s.PipInstall}}, "pip_install", checkPackages(s.PipInstall)
	case s.RunBash != "":
		words := []string{"bash", "-eo", "pipefail", "-c", s.RunBash}
		return step{what: "run_bash", do: runAction{words: words}}, "run_bash", checkCommand(words)
	case len(s.Env) > 0:
		vars, err := s.variables()
		return step{what: "env", do: vars}, "env", err
	case s.Copy != nil:
		c := copyAction{sources: []string{s.Copy.Source}, dest: Word{{Text: s.Copy.Dest}}}
		return step{what: "copy", do: c}, "copy", checkDestination(c)
	case s.SyncPackage != "":
		return step{what: "sync_package", do: packageAction{source: s.SyncPackage}}, "sync_package", nil
	default:
		return step{}, "run_bash", errors.New("the step says nothing to do: give exactly one of pip_install, run_bash, env, copy and sync_package")
	}
}

func (s Step) variables() (envAction, error) {
	var vars envAction
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value := s.Env[name]
		switch {
		case identifier.FindString(name) != name || name == "":
			return nil, fmt.Errorf("%q is no name that a shell can export: use letters, digits and underscores, no digit first", name)
		case strings.ContainsAny(value, "\n\x00"):
			return nil, fmt.Errorf("the value of %s has a line break, which no Dockerfile has: use env_vars or secrets of kt_compute", name)
		}
		vars = append(vars, variable{name: name, value: plainWord(value)})
	}
	return vars, nil
}

func checkPackages(packages []string) error {
	for _, name := range packages {
		if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "\n\x00") {
			return fmt.Errorf("%q is no package: give one argument of pip an item, such as \"torch==2.5.1\"", name)
		}
	}
	return nil
}

// longestArgument is what Linux takes as one argument, MAX_ARG_STRLEN with its NUL.
const longestArgument = 128<<10 - 1

func checkCommand(words []string) error {
	if len(words) == 0 || words[0] == "" {
		return errors.New("the command is empty: complete it, or remove it")
	}
	for _, word := range words {
		switch {
		case len(word) >= longestArgument:
			return fmt.Errorf("the command has %d bytes, and Linux takes no more than %d: copy it as a file, and run that", len(word), longestArgument-1)
		case strings.Contains(word, "\x00"):
			return errors.New("the command has a NUL character, which no shell takes: remove it")
		}
	}
	return nil
}

func checkDestination(c copyAction) error {
	dest, known := c.dest.literal()
	switch {
	case known && dest == "":
		return errors.New("the destination is empty: give a path, such as /app/")
	case strings.HasPrefix(dest, "~"):
		return fmt.Errorf("the destination is %s, and nothing expands the ~: give an absolute path, such as /root%s", dest, strings.TrimPrefix(dest, "~"))
	case strings.ContainsAny(dest, "\n\x00"):
		return errors.New("the destination has a line break: remove it")
	case known && len(c.sources) > 1 && !strings.HasSuffix(dest, "/"):
		return fmt.Errorf("several sources go to %s, which must be a folder: end it with a slash, %s/", dest, dest)
	}
	return nil
}
