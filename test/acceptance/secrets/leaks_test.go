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

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// secretRun is a working directory for a configuration with secrets. Its commands log at level TRACE. At the end of the
// test, all files that they have written are searched for the canaries, which are the values of the secrets.
type secretRun struct {
	*acctest.CLI
	ns       string
	home     string // home directory of Terraform, with fixtures
	canaries []string
	stored   int    // number of outputs and states that were stored for the search
	saved    string // file of the last plan
}

func newSecretRun(t *testing.T) *secretRun {
	t.Helper()
	r := &secretRun{ns: cluster.Namespace(t), CLI: acctest.NewCLI(t), home: t.TempDir()}
	r.Setenv("HOME", r.home)
	r.Setenv("TF_LOG", "TRACE")
	r.Setenv("TF_LOG_PATH", filepath.Join(r.Dir, "trace.log"))
	t.Cleanup(func() {
		for _, leak := range leaks(t, r.Dir, r.canaries) {
			t.Error(leak)
		}
	})
	return r
}

// canary returns a new value that no file may contain. JSON, HCL and Go escape some of its characters.
func (r *secretRun) canary() string {
	text := fmt.Sprintf("canary-%s\n\"<&\\>\" %s", rand.Text(), rand.Text())
	r.canaries = append(r.canaries, text)
	return text
}

// write replaces the configuration, and adds a provider block for the namespace.
func (r *secretRun) write(t *testing.T, config string) {
	t.Helper()
	r.Write(t, cluster.Config(r.ns, config))
}

// file writes a file in the home directory.
func (r *secretRun) file(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(r.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// try runs a command, and stores its output for the search.
func (r *secretRun) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := r.Run(t, args...)
	r.store(t, "output", []byte(out))
	return out, err
}

func (r *secretRun) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := r.try(t, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

// mustFail runs a command that must fail with these texts in its output.
func (r *secretRun) mustFail(t *testing.T, args []string, texts ...string) string {
	t.Helper()
	out, err := r.try(t, args...)
	if err == nil {
		t.Errorf("%v succeeded:\n%s", args, out)
	}
	acctest.ExpectText(t, out, texts...)
	return out
}

// plan saves a plan, stores it as JSON for the search, and returns its output.
func (r *secretRun) plan(t *testing.T) string {
	t.Helper()
	r.saved = fmt.Sprintf("plan-%d.saved", r.stored)
	out := r.must(t, "plan", "-out="+r.saved)
	asJSON := r.must(t, "show", "-json", r.saved)
	if !strings.Contains(asJSON, "kt_secret") {
		t.Errorf("the plan as JSON contains no secret: %s", asJSON)
	}
	return out
}

// apply plans, applies the plan, and checks that the next plan is empty. It returns the output of the first plan.
func (r *secretRun) apply(t *testing.T) string {
	t.Helper()
	out := r.plan(t)
	r.must(t, "apply", r.saved)
	r.must(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
	state, err := os.ReadFile(r.StateFile())
	if err != nil {
		t.Fatal(err)
	}
	r.store(t, "state", state)
	return out
}

// store writes content to a file for the search.
func (r *secretRun) store(t *testing.T, kind string, content []byte) {
	t.Helper()
	r.stored++
	path := filepath.Join(r.Dir, fmt.Sprintf("stored-%d.%s", r.stored, kind))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// expectValue checks the value of a key of a Secret.
func (r *secretRun) expectValue(t *testing.T, secret, key, value string) {
	t.Helper()
	got := cluster.Kubectl(t, "get", "secret", secret, "-n", r.ns, "-o",
		"jsonpath={.data."+strings.ReplaceAll(key, ".", `\.`)+"}")
	if plain, err := base64.StdEncoding.DecodeString(got); err != nil || string(plain) != value {
		t.Errorf("%s of %s is %q, want %q", key, secret, plain, value)
	}
}

// leaks searches all files of a directory, and the files in its archives, for the canaries and their random parts, in
// every encoding. It excludes main.tf, which may contain values.
func leaks(t *testing.T, dir string, canaries []string) []string {
	t.Helper()
	var forms []string
	for _, canary := range canaries {
		forms = append(forms, encodings(canary)...)
	}
	var found []string
	search := func(name string, content []byte) {
		content = acctest.Decoded(content)
		for _, form := range forms {
			if at := bytes.Index(content, []byte(form)); at >= 0 {
				found = append(found,
					fmt.Sprintf("%s contains a canary: …%s…", name, content[max(0, at-200):min(len(content), at+100)]))
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

// encodings returns the forms in which a canary may occur in a file.
func encodings(canary string) []string {
	asJSON, _ := json.Marshal(canary)
	forms := []string{canary, string(asJSON[1 : len(asJSON)-1]), strings.Trim(strconv.Quote(canary), `"`)}
	first, last, _ := strings.Cut(canary, "\n")
	forms = append(forms, strings.TrimPrefix(first, "canary-"), last[strings.LastIndex(last, " ")+1:])
	for skip := range 3 { // base64 depends on the position modulo 3
		coded := base64.RawStdEncoding.EncodeToString([]byte(canary[skip:]))
		forms = append(forms, coded[:24], coded[len(coded)-24:len(coded)-4])
	}
	return forms
}

func TestAccSearchForLeakedSecretsFindsStoredValues(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	r.write(t, `
variable "token" {
  type      = string
  sensitive = true
}
resource "kt_secret" "stored" {
  name   = "stored"
  values = { TOKEN = var.token }
}`)
	canary := r.canary()
	r.canaries = nil // values of this secret are in state, as documented
	r.Setenv("TF_VAR_token", canary)
	out := r.apply(t)
	r.expectValue(t, "stored", "TOKEN", canary)
	acctest.ExpectText(t, out, `+ "TOKEN" = "revision 1"`, "The values of this secret are in state")
	if strings.Contains(out, strings.Split(canary, "\n")[0]) {
		t.Errorf("the plan shows the value:\n%s", out)
	}
	found := strings.Join(leaks(t, r.Dir, []string{canary}), "\n")
	// A control of the search in private state, which is encoded twice.
	state, err := os.ReadFile(r.StateFile())
	if err != nil {
		t.Fatal(err)
	}
	uid := cluster.Kubectl(t, "get", "secret/stored", "-n", r.ns, "-o", "jsonpath={.metadata.uid}")
	if documents := acctest.Decoded(state)[len(state):]; !bytes.Contains(documents, []byte(`"`+uid+`"`)) {
		t.Errorf("the search does not find the UID %s in private state:\n%s", uid, documents)
	}
	for _, file := range []string{".state contains", "terraform.tfstate contains", "plan-0.saved/tfplan contains"} {
		if !strings.Contains(found, file) {
			t.Errorf("the search does not find %q, only:\n%s", file, found)
		}
	}
	if strings.Contains(found, "trace.log contains") {
		t.Errorf("the log contains the value:\n%s", found)
	}
	log, err := os.ReadFile(filepath.Join(r.Dir, "trace.log"))
	for _, text := range []string{"[TRACE]", "Calling provider defined Resource ModifyPlan",
		"provider.terraform-provider-kt"} {
		if !bytes.Contains(log, []byte(text)) {
			t.Errorf("%v; the log does not have the level TRACE: %q is missing", err, text)
		}
	}
	r.must(t, "destroy", "-auto-approve")
}
