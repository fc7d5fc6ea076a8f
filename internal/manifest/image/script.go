package image

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// The keys of the ConfigMap that are always there.
const (
	DockerfileKey = "Dockerfile"
	ScriptKey     = "setup.sh"
)

// Rendered is what a ConfigMap holds.
type Rendered struct {
	// Dockerfile is the whole set-up as a Dockerfile, for people to read.
	Dockerfile string
	// Script is the set-up script.
	Script string
	// Files are the copied files and folders, by key.
	Files map[string]Packed
	// Digest is that of what the script does and copies, "sha256:…". The image
	// that it runs in is not part of it.
	Digest string
}

// Render makes the script of a spec, whose Dockerfile is parsed, for the image
// that it runs in. Every local path that Sources names is in packed. The error
// is of type Errors.
func Render(s Spec, d Dockerfile, runs string, packed map[string]Packed) (Rendered, error) {
	steps := slices.Clone(d.steps)
	var found Errors
	for i, one := range s.Steps {
		parsed, field, err := one.parse()
		if err != nil {
			found = append(found, &Error{Step: i, Field: field, Detail: err.Error()})
		}
		steps = append(steps, parsed)
	}
	if len(found) > 0 {
		return Rendered{}, found
	}
	w := writer{spec: s, packed: packed, files: map[string]Packed{}, total: len(steps)}
	for i, one := range steps {
		w.step(i+1, one)
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

// digestPlace stands for the digest in a script whose digest is not known yet.
const digestPlace = "@digest@"

func digestOf(body string, files map[string]Packed) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s", len(body), body)
	for _, key := range sortedKeys(files) {
		fmt.Fprintf(h, "%s %s\n", key, files[key].Digest())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writer writes the script step by step.
type writer struct {
	spec   Spec
	packed map[string]Packed
	files  map[string]Packed
	total  int

	lines                           []string
	runs, pips, copies, hasPackages bool
}

func (w *writer) line(format string, args ...any) {
	w.lines = append(w.lines, "  "+fmt.Sprintf(format, args...))
}

func (w *writer) step(number int, s step) {
	run := func(command string, words ...string) {
		w.runs = true
		for _, word := range words {
			command += " " + quote(word)
		}
		w.line("_kt_step %d %s %s || return", number, quote(s.what), command)
	}
	switch do := s.do.(type) {
	case runAction:
		// Through exec, so that no builtin or function of this shell is meant.
		if do.words[0] == "/bin/sh" || do.words[0] == "bash" {
			run(quote(do.words[0]), do.words[1:]...)
		} else {
			run(`/bin/sh -c 'exec "$@"' sh`, do.words...)
		}
	case envAction:
		w.export(do)
	case copyAction:
		for _, source := range do.sources {
			var before []string
			dest := do.dest.bash(&before)
			for _, one := range before {
				w.line("%s", one)
			}
			w.copies = true
			packed := w.packed[source]
			key := w.add(packed)
			if packed.Folder {
				run("_kt_folder " + quote(key) + " " + dest)
			} else {
				run(fmt.Sprintf("_kt_file %s %s %s %s", quote(key), quote(packed.Name), packed.mode(), dest))
			}
		}
	case pipAction:
		w.pips = true
		run("_kt_pip", do.packages...)
	case packageAction:
		packed := w.packed[do.source]
		w.copies, w.pips = true, w.pips || packed.Project
		run("_kt_package " + quote(w.add(packed)) + " " + quote(packed.Name) + " " + cmp.Or(map[bool]string{true: "_kt_pip"}[packed.Project], ":"))
		if !packed.Project && !w.hasPackages {
			w.line(`export PYTHONPATH="$_kt_state/packages${PYTHONPATH:+:$PYTHONPATH}"`)
		}
		w.hasPackages = w.hasPackages || !packed.Project
	}
}

// export sets the variables of one instruction. The words of one export are all
// expanded before the first is assigned, as ENV wants it.
func (w *writer) export(vars envAction) {
	var before, words []string
	for _, v := range vars {
		words = append(words, v.name+"="+v.value.bash(&before))
	}
	for _, one := range before {
		w.line("%s", one)
	}
	w.line("export %s", strings.Join(words, " "))
}

// add puts something into the ConfigMap, each thing under a key of its own.
func (w *writer) add(p Packed) string {
	key := fmt.Sprintf("%d-%s", len(w.files)+1, p.keyName())
	w.files[key] = p
	return key
}

// script is the script with all that its steps need.
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

// ending leaves nothing behind. As the condition of an if, _kt_setup runs the
// same whether the shell that sources it has set -e or not.
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

// findState finds the folder that remembers which set-up has run.
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

// pipFunction installs as the start-up script of a compute does.
func (w *writer) pipFunction() string {
	if w.spec.InstallCmd != "" {
		return fmt.Sprintf("_kt_pip() {\n  bash -c %s install \"$@\"\n}", quote(w.spec.InstallCmd+` "$@"`))
	}
	find := `$(command -v python3 || command -v python) || { echo "neither python3 nor python in PATH=$PATH" >&2; return 127; }`
	if w.spec.PythonPath != "" {
		find = quote(w.spec.PythonPath)
	}
	return `_kt_pip() {
  local _kt_python
  _kt_python=` + find + `
  if command -v uv >/dev/null; then UV_BREAK_SYSTEM_PACKAGES=1 uv pip install --python "$_kt_python" "$@"
  else PIP_BREAK_SYSTEM_PACKAGES=1 "$_kt_python" -m pip install "$@"; fi
}`
}
