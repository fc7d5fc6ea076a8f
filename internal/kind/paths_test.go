package kind

import "testing"

func TestPointerIsEscapedAsAJSONPointer(t *testing.T) {
	t.Parallel()
	if got, want := Pointer([]string{"metadata", "labels", "a/b~c"}), "/metadata/labels/a~1b~0c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
