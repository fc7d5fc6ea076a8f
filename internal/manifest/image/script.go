package image

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/shell"
)

// Keys that every ConfigMap has.
const (
	DockerfileKey = "Dockerfile"
	ScriptKey     = "setup.sh"
)

// Rendered is the content of a ConfigMap.
type Rendered struct {
	// Dockerfile is the complete setup as a Dockerfile, for humans.
	Dockerfile string
	// Script is the setup script.
	Script string
	// Files are the copied files and directories, by key.
	Files map[string]Packed
	// Digest is the digest of the script and the copied files, "sha256:…". It does
	// not depend on the image that the script runs in.
	Digest string
}

// Render renders a spec with its parsed Dockerfile. runs is the resolved image.
// packed contains all sources that Sources returns. The error has the type [manifest.Errors].
func Render(s Spec, d Dockerfile, runs string, packed map[Source][]Packed) (Rendered, error) {
	steps, found := stepsOf(s, d)
	if len(found) > 0 {
		return Rendered{}, found
	}
	w := writer{spec: s, packed: packed, files: map[string]Packed{}, total: len(steps)}
	for i, one := range steps {
		if err := w.step(i+1, one); err != nil {
			found = append(found, one.at.Problem(err))
		}
	}
	if len(found) > 0 {
		return Rendered{}, found
	}
	body := w.script()
	digest := digestOf(body, w.files)
	return Rendered{
		Dockerfile: d.render(runs, steps[len(d.steps):]),
		Script:     strings.ReplaceAll(body, digestPlace, digest),
		Files:      w.files,
		Digest:     "sha256:" + digest,
	}, nil
}

// digestPlace is the placeholder of the digest in a script whose digest is not computed yet.
const digestPlace = "@digest@"

func digestOf(body string, files map[string]Packed) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s", len(body), body)
	for _, key := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %s\n", key, files[key].Digest())
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// writer writes the script step by step.
type writer struct {
	spec   Spec
	packed map[Source][]Packed
	total  int

	files map[string]Packed
	lines []string
	// Helper functions that the lines use.
	runs, pips, copies, pythonPath bool
}

// indent adds lines to the setup function.
func (w *writer) indent(lines ...string) {
	for _, line := range lines {
		w.lines = append(w.lines, "  "+line)
	}
}

// run adds a line that runs a command as one step. command is already valid
// bash; words are quoted and appended.
func (w *writer) run(number int, s step, command string, words ...string) {
	w.runs = true
	for _, word := range words {
		command += " " + shell.Quote(word)
	}
	w.indent(fmt.Sprintf("_kt_step %d %s %s || return", number, shell.Quote(s.what), command))
}

func (w *writer) step(number int, s step) error {
	switch do := s.do.(type) {
	case runAction:
		if do.isShell() {
			w.run(number, s, shell.Quote(do.words[0]), do.words[1:]...)
		} else { // exec prevents that a builtin or function of this shell is run instead
			w.run(number, s, `/bin/sh -c 'exec "$@"' sh`, do.words...)
		}
	case envAction:
		w.export(do)
	case copyAction:
		return w.copy(number, s, do)
	case pipAction:
		w.pips = true
		w.run(number, s, "_kt_pip", do.packages...)
	case packageAction:
		return w.syncPackage(number, s, do)
	}
	return nil
}

// isShell reports whether the first word is a shell, which is never the name of
// a function of this shell.
func (r runAction) isShell() bool { return r.words[0] == "/bin/sh" || r.words[0] == "bash" }

func (w *writer) copy(number int, s step, do copyAction) error {
	var all []Packed
	for _, source := range do.sources {
		all = append(all, w.packed[Source{Path: source}]...)
	}
	if dest, known := do.dest.literal(); known && len(all) > 1 && !strings.HasSuffix(dest, "/") {
		return fmt.Errorf("%d files or directories are copied to %s, which must be a directory: add a slash at the "+
			"end, %s/",
			len(all), dest, dest)
	}
	var before []string
	dest := do.dest.bash(&before)
	w.indent(before...)
	w.copies = true
	for _, packed := range all {
		if key := shell.Quote(w.add(packed)); packed.Directory {
			w.run(number, s, "_kt_folder "+key+" "+dest)
		} else {
			w.run(number, s, fmt.Sprintf("_kt_file %s %s %s %s", key, shell.Quote(packed.Name), packed.mode(), dest))
		}
	}
	return nil
}

// syncPackage installs a project, and adds any other package to PYTHONPATH.
func (w *writer) syncPackage(number int, s step, do packageAction) error {
	found := w.packed[Source{Path: do.source, Package: true}]
	if len(found) != 1 || !found[0].Directory {
		return fmt.Errorf("%s is not a directory: use the directory of a Python package", do.source)
	}
	packed := found[0]
	w.copies = true
	if packed.Project {
		w.pips = true
		w.run(number, s, "_kt_package", w.add(packed), packed.Name, "_kt_pip")
		return nil
	}
	w.run(number, s, "_kt_package", w.add(packed), packed.Name, ":")
	if !w.pythonPath {
		w.pythonPath = true
		w.indent(`export PYTHONPATH="$_kt_state/packages${PYTHONPATH:+:$PYTHONPATH}"`)
	}
	return nil
}

// export exports the variables of one instruction. A single export expands all
// values before it assigns the first, as ENV does.
func (w *writer) export(vars envAction) {
	var before, words []string
	for _, v := range vars {
		words = append(words, v.name+"="+v.value.bash(&before))
	}
	w.indent(append(before, "export "+strings.Join(words, " "))...)
}

// add adds a file or directory to the ConfigMap under a unique key, and returns the key.
func (w *writer) add(p Packed) string {
	key := fmt.Sprintf("%d-%s", len(w.files)+1, p.keyName())
	w.files[key] = p
	return key
}

// script returns the complete script with the functions that its steps use.
func (w *writer) script() string {
	lines := []string{"# Sets up the container: source it with bash, KT_IMAGE_DIR being its folder."}
	if w.runs {
		lines = append(lines, fmt.Sprintf(stepFunction, w.total))
	}
	if w.pips {
		lines = append(lines, w.pipFunction())
	}
	if w.copies {
		lines = append(lines, copyFunctions)
	}
	lines = append(lines, "_kt_setup() {")
	if w.runs {
		lines = append(lines, findState)
	}
	lines = append(lines, w.lines...)
	if w.runs {
		lines = append(lines, `  [ -z "$_kt_state" ] || : > "$_kt_state/image-`+digestPlace+`"`)
	}
	return strings.Join(append(lines, "  return 0", "}", ending), "\n") + "\n"
}

// ending removes all functions. As the condition of an if, _kt_setup behaves the
// same with and without set -e in the sourcing shell.
const ending = `if _kt_setup; then unset -f ` + ownFunctions + `
else eval "unset -f ` + ownFunctions + `; return $? 2>/dev/null || exit $?"; fi`

const ownFunctions = "_kt_setup _kt_step _kt_pip _kt_file _kt_folder _kt_package"

const stepFunction = `_kt_step() {
  [ -z "$_kt_done" ] || return 0
  echo "image set-up: step $1 of %d, $2" >&2
  "${@:3}" </dev/null && return
  set -- "$?" "$@"
  echo "image set-up: step $2, $3, failed with exit code $1" >&2
  return "$1"
}`

// findState selects the directory that records which setup has run.
const findState = `  local _kt_state _kt_done=
  for _kt_state in "${KT_STATE_DIR:-/var/lib/kubetorch}" "${HOME:-}/.kubetorch" "/tmp/kubetorch-$UID" ""; do
    if [ -n "$_kt_state" ] && mkdir -p -- "$_kt_state" 2>/dev/null && [ -w "$_kt_state" ]; then break; fi
  done
  if [ -n "$_kt_state" ] && [ -e "$_kt_state/image-` + digestPlace + `" ]; then _kt_done=1; fi`

const copyFunctions = `_kt_folder() {
  mkdir -p -- "$2" && tar -xzf "$KT_IMAGE_DIR/$1" -C "$2"
}
_kt_file() {
  if [ -d "$4" ] || [ "${4%/}" != "$4" ]; then set -- "$1" "$2" "$3" "${4%/}/$2"; fi
  mkdir -p -- "$(dirname -- "$4")" && cp -- "$KT_IMAGE_DIR/$1" "$4" && chmod -- "$3" "$4"
}
_kt_package() {
  [ -n "$_kt_state" ] || { echo "no folder can be written to; set KT_STATE_DIR" >&2; return 1; }
  rm -rf -- "$_kt_state/packages/$2" && _kt_folder "$1" "$_kt_state/packages/$2" && "$3" "$_kt_state/packages/$2"
}`

// pipFunction returns the function that installs packages like the startup
// script of a compute does.
func (w *writer) pipFunction() string {
	if w.spec.InstallCmd != "" {
		return fmt.Sprintf("_kt_pip() {\n  bash -c %s install \"$@\"\n}", shell.Quote(w.spec.InstallCmd+` "$@"`))
	}
	find := shell.FindPython("return 127")
	if w.spec.PythonPath != "" {
		find = shell.Quote(w.spec.PythonPath)
	}
	uv, pip := shell.PipInstall(`"$_kt_python"`)
	return `_kt_pip() {
  local _kt_python
  _kt_python=` + find + `
  if command -v uv >/dev/null; then ` + uv + ` "$@"
  else ` + pip + ` "$@"; fi
}`
}
