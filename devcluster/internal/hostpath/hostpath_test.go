package hostpath

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestRemoveRemovesOnlyDirectoriesOfThisCluster(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	root := filepath.Join(base, "hostpath_pv")
	ours, others, users := filepath.Join(root, "ours"), filepath.Join(root, "others"), filepath.Join(base, "data")
	for _, dir := range []string{ours, others, users} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	client := fake.NewClientset(volume("ours", ours), volume("users", users), volume("root", root),
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "nfs"}})
	if err := Remove(t.Context(), root, client); err != nil {
		t.Fatal(err)
	}
	wantThere(t, ours, false)
	wantThere(t, others, true)
	wantThere(t, users, true)

	// The last cluster of the machine also removes the root.
	if err := Remove(t.Context(), root, fake.NewClientset(volume("others", others))); err != nil {
		t.Fatal(err)
	}
	wantThere(t, root, false)
	if err := Remove(t.Context(), root, fake.NewClientset()); err != nil {
		t.Errorf("without any volume: %v", err)
	}
}

func volume(name, path string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: path}}},
	}
}

func wantThere(t *testing.T, path string, want bool) {
	t.Helper()
	if _, err := os.Stat(path); (err == nil) != want {
		t.Errorf("%s exists: %t; want %t", path, err == nil, want)
	}
}

func TestEmptyDirectoriesAreRemovedAndRestored(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "hostpath_pv")
	empty, full := filepath.Join(root, "empty"), filepath.Join(root, "full")
	data := filepath.Join(full, "data")
	for _, dir := range []string{empty, data} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	client := fake.NewClientset(volume("empty", empty), volume("full", full))
	if err := RemoveEmpty(t.Context(), root, client); err != nil {
		t.Fatal(err)
	}
	wantThere(t, empty, false)
	wantThere(t, data, true)
	if err := Restore(t.Context(), root, client); err != nil {
		t.Fatal(err)
	}
	wantThere(t, empty, true)
	wantThere(t, data, true)
}
