package tf

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/ktdev/terraform-provider-kt/internal/parent"
)

// Holds contains the resources that must not be destroyed in this run, because an action before their destruction
// failed. A failed action does not prevent `terraform destroy` from destroying a resource
// (node_resource_abstract_instance.go in internal/terraform of Terraform 1.16, invokeDestroyActions), so the provider
// does. It is safe for concurrent use.
type Holds struct {
	// File is shared by the providers of a run, because each configuration of the provider has a process of its own.
	// With "", only this process knows the holds.
	File string

	mu   sync.Mutex
	held []hold // what is not in the file
}

// hold is a line of the file.
type hold struct {
	Type   string `json:"type"`
	ID     string `json:"id"` // "" for all resources of the type
	Reason string `json:"reason"`
}

// Add prevents the destruction of a resource, or of all resources of a type if the id is "", until the run ends:
// another action that succeeds has not saved what this one would have. It returns an error if other processes do not
// know of it.
func (h *Holds) Add(resourceType, id, reason string) error {
	added := hold{resourceType, id, reason}
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if h.File != "" {
		err = h.write(added)
	}
	if h.File == "" || err != nil {
		h.held = append(h.held, added)
	}
	return err
}

// write adds a line to the file.
func (h *Holds) write(added hold) error {
	dir := filepath.Dir(h.File)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir) // the directory is below one that other users can write
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	parent.RemoveStale(root)
	file, err := root.OpenFile(filepath.Base(h.File), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	line, err := json.Marshal(added)
	if err == nil {
		_, err = file.Write(append(line, '\n')) // in one piece, because others append too
	}
	return errors.Join(err, file.Close())
}

// Reason returns why a resource must not be destroyed, or "".
func (h *Holds) Reason(resourceType, id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, err := h.shared()
	if err != nil {
		return fmt.Sprintf("The provider does not know whether a kt_checkpoint failed in this run: %v.\n\n"+
			"Next step: Remove the file, and run the destroy again.", err)
	}
	reasons := map[string]string{} // by ID
	for _, one := range append(all, h.held...) {
		if one.Type == resourceType {
			reasons[one.ID] = one.Reason
		}
	}
	return cmp.Or(reasons[id], reasons[""])
}

// shared returns the holds in the file.
func (h *Holds) shared() ([]hold, error) {
	if h.File == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(filepath.Dir(h.File))
	if err != nil {
		return nil, nil // without access to the directory, no process of this user has written to it
	}
	defer func() { _ = root.Close() }()
	file, err := root.Open(filepath.Base(h.File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var all []hold
	lines := bufio.NewScanner(file) // which limits the length of a line
	for lines.Scan() {
		var one hold
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s: %w", h.File, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}
