package secrets_test

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// vault is a folder with a configuration of secrets, whose runs are logged at
// the TRACE level, and the canaries that were ever put into it. When the test
// ends, all that the runs left is searched for them.
type vault struct {
	*acctest.CLI
	ns       string
	home     string // of the machine that runs Terraform, with the fixtures
	canaries []string
	kept     int    // files
	saved    string // the last plan
}

func newVault(t *testing.T) *vault {
	t.Helper()
	v := &vault{ns: cluster.Namespace(t), CLI: acctest.NewCLI(t), home: t.TempDir()}
	v.Setenv("HOME", v.home)
	v.Setenv("TF_LOG", "TRACE")
	v.Setenv("TF_LOG_PATH", filepath.Join(v.Dir, "trace.log"))
	t.Cleanup(func() {
		for _, leak := range leaks(t, v.Dir, v.canaries) {
			t.Error(leak)
		}
	})
	return v
}

// canary is a new value that must be found nowhere, with characters that are
// escaped in every notation.
func (v *vault) canary() string {
	text := fmt.Sprintf("canary-%s\n\"<&\\>\" %s", rand.Text(), rand.Text())
	v.canaries = append(v.canaries, text)
	return text
}

// write puts a configuration into the folder, with a provider block for the
// namespace.
func (v *vault) write(t *testing.T, config string) {
	t.Helper()
	v.Write(t, cluster.Config(v.ns, config))
}

// file writes a file below the home folder.
func (v *vault) file(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(v.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// try runs a command, and keeps what it says for the search.
func (v *vault) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := v.Run(t, args...)
	v.keep(t, "output", []byte(out))
	return out, err
}

func (v *vault) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := v.try(t, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// refused runs a command that must fail and say these texts.
func (v *vault) refused(t *testing.T, args []string, texts ...string) string {
	t.Helper()
	out, err := v.try(t, args...)
	if err == nil {
		t.Errorf("%v succeeds:\n%s", args, out)
	}
	acctest.ExpectText(t, out, texts...)
	return out
}

// plan saves a plan, keeps it as JSON too, and returns what it says.
func (v *vault) plan(t *testing.T) string {
	t.Helper()
	v.saved = fmt.Sprintf("plan-%d.saved", v.kept)
	out := v.must(t, "plan", "-out="+v.saved)
	asJSON := v.must(t, "show", "-json", v.saved)
	if !strings.Contains(asJSON, "kt_secret") {
		t.Errorf("the plan as JSON has no secret: %s", asJSON)
	}
	return out
}

// apply plans, shows, applies what was planned, and requires that nothing is
// left to do. It returns what the plan said.
func (v *vault) apply(t *testing.T) string {
	t.Helper()
	out := v.plan(t)
	v.must(t, "apply", v.saved)
	v.must(t, "plan", "-detailed-exitcode") // an error if there is anything to do
	state, err := os.ReadFile(filepath.Join(v.Dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	v.keep(t, "state", state)
	return out
}

func (v *vault) keep(t *testing.T, kind string, content []byte) {
	t.Helper()
	v.kept++
	if err := os.WriteFile(filepath.Join(v.Dir, fmt.Sprintf("kept-%d.%s", v.kept, kind)), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// has fails the test unless a key of the Secret has this value.
func (v *vault) has(t *testing.T, secret, key, value string) {
	t.Helper()
	got := cluster.Kubectl(t, "get", "secret", secret, "-n", v.ns, "-o",
		"jsonpath={.data."+strings.ReplaceAll(key, ".", `\.`)+"}")
	if plain, err := base64.StdEncoding.DecodeString(got); err != nil || string(plain) != value {
		t.Errorf("%s of %s is %q, want %q", key, secret, plain, value)
	}
}

// leaks searches all files of a folder, and those in its archives, for the
// canaries, whole and their random halves, in every notation.
func leaks(t *testing.T, dir string, canaries []string) []string {
	t.Helper()
	var forms []string
	for _, canary := range canaries {
		forms = append(forms, notations(canary)...)
	}
	var found []string
	search := func(name string, content []byte) {
		for _, form := range forms {
			if at := bytes.Index(content, []byte(form)); at >= 0 {
				found = append(found,
					fmt.Sprintf("%s has a canary: …%s…", name, content[max(0, at-200):min(len(content), at+100)]))
			}
		}
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "main.tf" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		search(path, content)
		if archive, err := zip.OpenReader(path); err == nil {
			defer archive.Close()
			for _, file := range archive.File {
				search(path+"/"+file.Name, unzip(t, file))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func unzip(t *testing.T, file *zip.File) []byte {
	t.Helper()
	reader, err := file.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func notations(canary string) []string {
	asJSON, _ := json.Marshal(canary)
	forms := []string{canary, string(asJSON[1 : len(asJSON)-1]), strings.Trim(strconv.Quote(canary), `"`)}
	first, last, _ := strings.Cut(canary, "\n")
	forms = append(forms, strings.TrimPrefix(first, "canary-"), last[strings.LastIndex(last, " ")+1:])
	for skip := range 3 { // whatever else was encoded before it
		coded := base64.RawStdEncoding.EncodeToString([]byte(canary[skip:]))
		forms = append(forms, coded[:24], coded[len(coded)-24:len(coded)-4])
	}
	return forms
}

func TestAccSearchForSecretsFindsStoredValues(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.write(t, `
variable "token" {
  type      = string
  sensitive = true
}
resource "kt_secret" "kept" {
  name   = "kept"
  values = { TOKEN = var.token }
}`)
	canary := v.canary()
	v.canaries = nil // this one is in state, as documented
	v.Setenv("TF_VAR_token", canary)
	out := v.apply(t)
	v.has(t, "kept", "TOKEN", canary)
	acctest.ExpectText(t, out, `+ "TOKEN" = "revision 1"`, "The values of this secret are in state")
	if strings.Contains(out, strings.Split(canary, "\n")[0]) {
		t.Errorf("the plan shows the value:\n%s", out)
	}
	where := strings.Join(leaks(t, v.Dir, []string{canary}), "\n")
	for _, file := range []string{".state has", "terraform.tfstate has", "plan-0.saved/tfplan has"} {
		if !strings.Contains(where, file) {
			t.Errorf("the search does not find %q; it finds:\n%s", file, where)
		}
	}
	if strings.Contains(where, "trace.log has") {
		t.Errorf("the log has the value:\n%s", where)
	}
	log, err := os.ReadFile(filepath.Join(v.Dir, "trace.log"))
	for _, text := range []string{"[TRACE]", "Calling provider defined Resource ModifyPlan",
		"provider.terraform-provider-kt"} {
		if !bytes.Contains(log, []byte(text)) {
			t.Errorf("%v; the log is not one of TRACE: it lacks %q", err, text)
		}
	}
	v.must(t, "destroy", "-auto-approve")
}
