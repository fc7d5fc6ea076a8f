package image

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	imageref "github.com/distribution/reference"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Dockerfile is a parsed Dockerfile, limited to the instructions that can be
// applied to a running container.
type Dockerfile struct {
	// From is the image, or "" if the file has no FROM.
	From string
	// Ignored are the instructions that have no effect, CMD and ENTRYPOINT: the
	// container always runs Kubetorch's server.
	Ignored []Ignored

	steps []step
	from  line
	text  string
	// escape is the escape character of the file.
	escape byte
}

// Ignored is an instruction that has no effect.
type Ignored struct {
	Line        int
	Instruction string // in upper case
}

// Parse parses a Dockerfile like BuildKit does
// (https://docs.docker.com/reference/dockerfile/), except features that require
// a build: stages, arguments, mounts, here-documents, and all instructions other
// than FROM, RUN, ENV, COPY, CMD and ENTRYPOINT are errors. The error has the type
// [manifest.Errors].
func Parse(text string) (Dockerfile, error) {
	r, err := newReader(text)
	d := Dockerfile{text: text, escape: r.escape}
	if err != nil {
		return d, manifest.Errors{err}
	}
	var found manifest.Errors
	refuse := func(at line, err error) {
		if err != nil {
			found = append(found, inLine(at.first).Problem(err))
		}
	}
	for {
		at, ok := r.instruction()
		if !ok {
			break
		}
		name, rest := cutBlank(at.text)
		i := instruction{line: at, name: strings.ToUpper(name), escape: r.escape}
		i.flags, i.args = cutFlags(rest)
		if terminators := i.heredocs(); len(terminators) > 0 {
			for _, terminator := range terminators {
				r.skipTo(terminator)
			}
			hint := "copy a local file instead"
			if i.name == "RUN" {
				hint = "join the commands with && in one RUN, or use a step with run_bash"
			}
			refuse(at, fmt.Errorf("here-documents are not supported: %s", hint))
			continue
		}
		refuse(at, d.add(i))
	}
	if len(found) > 0 {
		return d, found
	}
	return d, nil
}

// instruction is one parsed instruction.
type instruction struct {
	line
	name   string // in upper case
	flags  []string
	args   string
	escape byte
}

func cutBlank(s string) (first, rest string) {
	if i := strings.IndexAny(s, blanks); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

// cutFlags separates the leading words that start with two dashes. A "--" ends them.
func cutFlags(s string) (flags []string, args string) {
	for strings.HasPrefix(s, "--") {
		var flag string
		flag, s = cutBlank(s)
		if flag == "--" {
			break
		}
		flags = append(flags, flag)
	}
	return flags, s
}

var heredoc = regexp.MustCompile(`^\d*<<-?([^<]+)$`)

// heredocs returns the terminators of the here-documents that start in this
// instruction, in order.
func (i instruction) heredocs() []string {
	if list, _ := i.list(); list != nil || i.name != "RUN" && i.name != "COPY" && i.name != "ADD" {
		return nil
	}
	var terminators []string
	words := splitWords(i.args, i.escape)
	for n, word := range words {
		if (strings.HasSuffix(word, "<<") || strings.HasSuffix(word, "<<-")) && n+1 < len(words) {
			word += words[n+1] // << EOF
		}
		if found := heredoc.FindStringSubmatch(word); found != nil {
			terminators = append(terminators, strings.NewReplacer(`"`, "", `'`, "").Replace(found[1]))
		}
	}
	return terminators
}

// list returns the words of an instruction in JSON form, or nil for another form. As in BuildKit, items that are not
// strings are an error.
func (i instruction) list() ([]string, error) {
	if !strings.HasPrefix(i.args, "[") {
		return nil, nil
	}
	var words []string
	err := json.Unmarshal([]byte(i.args), &words)
	if _, isJSON := errors.AsType[*json.UnmarshalTypeError](err); isJSON {
		return nil, fmt.Errorf("%s has items that are not strings: enclose each word in double quotes", i.args)
	}
	return words, nil
}

// unsupportedFlag returns the error for a flag. All of them require a build.
func (i instruction) unsupportedFlag() error {
	flag, _, _ := strings.Cut(i.flags[0], "=")
	hint := map[string]string{
		"FROM --platform": "remove it, and select nodes with node_selector = { \"kubernetes.io/arch\" = … } in " +
			"kt_compute",
		"COPY --from":  "copy a local file, or download it with RUN",
		"COPY --chmod": "remove it, and change the mode or owner in a later RUN",
		"COPY --chown": "remove it, and change the mode or owner in a later RUN",
		"RUN --mount":  "use COPY for files, and secrets of kt_compute for secrets",
	}[i.name+" "+flag]
	return fmt.Errorf("%s of %s is not supported: %s", flag, i.name, cmp.Or(hint, "remove it"))
}

func (i instruction) unsupported() error {
	hint := map[string]string{
		"ADD":         "use COPY for local files, and RUN to download or unpack",
		"ARG":         "use ENV, or insert the value with a template",
		"WORKDIR":     "use working_dir of kt_compute, and absolute paths",
		"USER":        "remove it, and run all steps as the user of the image",
		"SHELL":       "use a step with run_bash, or RUN [\"bash\", \"-c\", \"…\"]",
		"EXPOSE":      "remove it, because kt_compute creates a Service for its port",
		"VOLUME":      "use kt_volume, and volumes of kt_compute",
		"LABEL":       "use labels and annotations of kt_image or kt_compute",
		"MAINTAINER":  "use labels and annotations of kt_image or kt_compute",
		"HEALTHCHECK": "remove it, because kt_compute configures probes of the server",
		"STOPSIGNAL":  "remove it, or build an image",
		"ONBUILD":     "use the instruction directly",
	}[i.name]
	if hint == "" {
		return fmt.Errorf("%s is not a Dockerfile instruction: use FROM, RUN, ENV, COPY, CMD or ENTRYPOINT", i.name)
	}
	return fmt.Errorf("%s is not supported, because no image is built: %s", i.name, hint)
}

// add adds an instruction. It returns an error for those that require a build.
func (d *Dockerfile) add(i instruction) error {
	switch supported := []string{"FROM", "RUN", "ENV", "COPY", "CMD", "ENTRYPOINT"}; {
	case !slices.Contains(supported, i.name):
		return i.unsupported()
	case len(i.flags) > 0:
		return i.unsupportedFlag()
	case i.args == "":
		return fmt.Errorf("%s has no arguments: complete it, or remove it", i.name)
	}
	var do action
	var err error
	switch i.name {
	case "FROM":
		return d.addFrom(i)
	case "CMD", "ENTRYPOINT":
		d.Ignored = append(d.Ignored, Ignored{Line: i.first, Instruction: i.name})
		return nil
	case "RUN":
		do, err = i.run()
	case "ENV":
		do, err = i.env()
	case "COPY":
		do, err = i.copy()
	}
	if err != nil {
		return err
	}
	d.steps = append(d.steps, step{what: fmt.Sprintf("%s in line %d of the Dockerfile", i.name, i.first), do: do,
		at: inLine(i.first)})
	return nil
}

func (d *Dockerfile) addFrom(i instruction) error {
	words := strings.Fields(i.args)
	switch {
	case d.From != "":
		return fmt.Errorf("a second FROM starts another stage, which is not supported because no image is built: " +
			"keep only the FROM of the image to run")
	case len(d.steps) > 0 || len(d.Ignored) > 0:
		return fmt.Errorf("FROM must be the first instruction: move it to the top")
	case len(words) != 1 && (len(words) != 3 || !strings.EqualFold(words[1], "AS")):
		return fmt.Errorf("FROM takes one image, as in FROM python:3.12-slim, but has %q", i.args)
	case strings.Contains(words[0], "$"):
		return fmt.Errorf("FROM has a variable, %s, but ARG is not supported: insert the value with a template "+
			"(templatefile), or use image_id", words[0])
	case words[0] == "scratch":
		return fmt.Errorf("the image scratch is empty, but Kubetorch requires bash and Python: use another image")
	}
	if _, err := imageref.ParseNormalizedNamed(words[0]); err != nil {
		return fmt.Errorf("FROM has %s, which is not a valid image reference (%w): use registry/repository:tag or "+
			"…@sha256:digest, with a lowercase repository", words[0], err)
	}
	d.From, d.from = words[0], i.line
	return nil
}

func (i instruction) run() (action, error) {
	words, err := i.list()
	if err != nil {
		return nil, err
	}
	if words == nil {
		words = []string{"/bin/sh", "-c", i.args}
	}
	return runAction{words: words}, checkCommand(words)
}

// env parses both forms: NAME=value …, and NAME value up to the end of the line.
func (i instruction) env() (action, error) {
	words := splitWords(i.args, i.escape)
	if !strings.Contains(words[0], "=") {
		name, value := cutBlank(i.args)
		if value == "" {
			return nil, fmt.Errorf("ENV %s has no value: use ENV %s=value", name, name)
		}
		words = []string{name + "=" + value}
	}
	var vars envAction
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("ENV has %q, which is not NAME=value: enclose values with spaces in double quotes",
				word)
		}
		if !isVariable(name) {
			return nil, fmt.Errorf("ENV sets %q, which is "+notVariable, name)
		}
		parsed, err := parseWord(value, i.escape)
		if err != nil {
			return nil, fmt.Errorf("in the value of %s, %w", name, err)
		}
		vars = append(vars, variable{name: name, value: parsed})
	}
	return vars, nil
}

func (i instruction) copy() (action, error) {
	words, err := i.list()
	if err != nil {
		return nil, err
	}
	if words == nil {
		words = strings.Fields(i.args)
	}
	if len(words) < 2 {
		return nil, fmt.Errorf("COPY requires at least one source and a destination, but has %q", i.args)
	}
	var c copyAction
	for n, word := range words {
		parsed, err := parseWord(word, i.escape)
		if err != nil {
			return nil, fmt.Errorf("in %s, %w", word, err)
		}
		if n == len(words)-1 {
			c.dest = parsed
			break
		}
		source, ok := parsed.literal()
		if !ok || source == "" {
			return nil, fmt.Errorf("COPY has the source %s, whose variables are known only in the container: use a "+
				"local path", word)
		}
		c.sources = append(c.sources, source)
	}
	return c, checkDestination(c)
}
