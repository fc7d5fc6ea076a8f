package parent_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/parent"
)

func TestFilesOfParentsThatHaveEndedAreRemoved(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	dir, current := t.TempDir(), filepath.Base(parent.SharedFile())
	for _, name := range []string{current, current + "0", "1-99999999", "text", "1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	parent.RemoveStale(root)
	for name, want := range map[string]bool{
		current: true, current + "0": false, "1-99999999": false, "text": true, "1": true,
	} {
		if _, err := root.Stat(name); (err == nil) != want {
			t.Errorf("%s is kept: %v", name, err == nil)
		}
	}
}
