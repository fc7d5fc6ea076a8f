package tf_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func TestHoldsOfAllProvidersOfARun(t *testing.T) {
	t.Parallel()
	shared := filepath.Join(t.TempDir(), "dir", "run")
	for name, file := range map[string]string{"of one process": "", "of two": shared} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := &tf.Holds{File: file}, &tf.Holds{File: file}
			if file == "" {
				second = first
			}
			expect := func(id, want string) {
				t.Helper()
				if reason := second.Reason("kt_compute", id); reason != want {
					t.Errorf("%s is held by %q instead of %q", id, reason, want)
				}
			}
			do := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			expect("ml/a", "")
			do(first.Add("kt_compute", "ml/a", "failed"))
			expect("ml/a", "failed")
			expect("ml/b", "")
			do(first.Add("kt_volume", "", "another type"))
			expect("ml/b", "")
			do(first.Add("kt_compute", "", "all"))
			expect("ml/a", "failed")
			expect("ml/b", "all")
		})
	}
}

func TestHoldsThatOthersCannotRead(t *testing.T) {
	t.Parallel()
	holds := &tf.Holds{File: filepath.Join(t.TempDir(), "file", "run")}
	if err := os.WriteFile(filepath.Dir(holds.File), nil, 0o600); err != nil { // no directory
		t.Fatal(err)
	}
	if err := holds.Add("kt_compute", "ml/a", "failed"); err == nil {
		t.Error("no error although other processes do not know of it")
	}
	if reason := holds.Reason("kt_compute", "ml/a"); reason != "failed" {
		t.Errorf("held by %q", reason)
	}
}

// Other users can write to the directory for temporary files.
func TestHoldsFollowNoLinkAndBelieveNoOtherText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	holds := &tf.Holds{File: filepath.Join(dir, "link")}
	if err := holds.Add("kt_compute", "ml/a", "failed"); err == nil {
		t.Error("it has followed a link")
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "{}\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
	holds = &tf.Holds{File: filepath.Join(dir, "text")}
	if err := os.WriteFile(holds.File, []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if reason := holds.Reason("kt_compute", "ml/a"); !strings.Contains(reason, "does not know") {
		t.Errorf("held by %q", reason)
	}
}
