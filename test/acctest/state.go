package acctest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// encoded matches what may be base64.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/]{16,}={0,2}`)

// Decoded returns a text and everything that it contains in base64, at any level. Private state has two: Terraform
// writes it as base64, and the plugin framework the documents in it. The values of a Secret in it would be the third.
func Decoded(text []byte) []byte {
	out := bytes.Clone(text)
	for _, word := range encoded.FindAll(text, -1) {
		if plain, err := base64.StdEncoding.DecodeString(string(word)); err == nil {
			out = append(append(out, '\n'), Decoded(plain)...)
		}
	}
	return out
}

// StateFile returns the path of the local state.
func (c *CLI) StateFile() string { return filepath.Join(c.Dir, "terraform.tfstate") }

// RecoverState does what a user does after a run that was killed or interrupted
// twice: it removes the lock, and restores the state from before the run, nil if
// there was none, if the run was ended while writing it. The CLI writes local
// state in place (statemgr.Filesystem in OpenTofu 1.12 and Terraform), so the file
// may be empty or incomplete.
func (c *CLI) RecoverState(t *testing.T, previous []byte) {
	t.Helper()
	lock := filepath.Join(c.Dir, ".terraform.tfstate.lock.info") // as `terraform force-unlock` would
	if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	now, err := os.ReadFile(c.StateFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err != nil || json.Valid(now) {
		return
	}
	t.Logf("the run left %d bytes of an incomplete state; restoring the previous %d", len(now), len(previous))
	if len(previous) == 0 {
		err = os.Remove(c.StateFile())
	} else {
		err = os.WriteFile(c.StateFile(), previous, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Instance is a resource instance in state.
type Instance struct {
	Status     string `json:"status"`
	Attributes struct {
		Ready bool   `json:"ready"`
		UID   string `json:"uid"`
	} `json:"attributes"`
}

// State returns the resource instances in the state file.
func (c *CLI) State(t *testing.T) []Instance {
	t.Helper()
	data, err := os.ReadFile(c.StateFile())
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Instances []Instance `json:"instances"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		t.Fatal(err)
	}
	var all []Instance
	for _, r := range state.Resources {
		all = append(all, r.Instances...)
	}
	return all
}
