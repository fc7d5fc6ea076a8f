package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
)

func TestObjectHasKubetorchsMetadata(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in                  secret.Secret
		labels, annotations map[string]string
	}{
		"variables": {
			secret.Secret{Name: "hf", Namespace: "ml", Username: "alice", Provider: "huggingface",
				Filenames: []string{"HF_TOKEN"}, Labels: map[string]string{"team": "a"},
				DefaultLabels: map[string]string{"team": "b", "org": "x"}},
			map[string]string{
				"app.kubernetes.io/managed-by": "terraform-provider-kt", "kubetorch.com/mount-type": "env",
				"kubetorch.com/secret-name": "hf",
				"kubetorch.com/username":    "alice", "kubetorch.com/provider": "huggingface", "team": "a", "org": "x",
			},
			map[string]string{"kubetorch.com/override": "false"},
		},
		"files with a mode": {
			secret.Secret{Name: "ssh", Namespace: "ml", Provider: "ssh", SourceDir: "~/.ssh",
				Filenames: []string{"id_rsa"}, DefaultMode: "0400"},
			map[string]string{
				"app.kubernetes.io/managed-by": "terraform-provider-kt", "kubetorch.com/mount-type": "volume",
				"kubetorch.com/secret-name": "ssh", "kubetorch.com/provider": "ssh",
			},
			map[string]string{
				"kubetorch.com/override": "false", "kubetorch.com/secret-path": "~/.ssh",
				"kubetorch.com/secret-filenames":    `["id_rsa"]`,
				"kubetorch.com/secret-default-mode": "0400",
			},
		},
		"files": {
			secret.Secret{Name: "aws", Namespace: "ml", Adopt: true, SourceDir: "~/.aws",
				Filenames: []string{"config", "credentials"}, Annotations: map[string]string{"note": "x"}},
			map[string]string{"app.kubernetes.io/managed-by": "terraform-provider-kt",
				"kubetorch.com/mount-type": "volume", "kubetorch.com/secret-name": "aws"},
			map[string]string{
				"kubetorch.com/override": "true", "kubetorch.com/secret-path": "~/.aws",
				"kubetorch.com/secret-filenames": `["config","credentials"]`, "note": "x",
			},
		},
	} {
		obj := test.in.Object()
		if diff := cmp.Diff(test.labels, obj.GetLabels()) +
			cmp.Diff(test.annotations, obj.GetAnnotations()); diff != "" || obj.Object["type"] != "Opaque" {
			t.Errorf("%s:\n%s", name, diff)
		}
		for key := range test.labels {
			if given := key == "team" || key == "org"; secret.IsReservedLabel(key) == given ||
				secret.IsReservedAnnotation(key) {
				t.Errorf("the label %s is reserved: %t", key, secret.IsReservedLabel(key))
			}
		}
		for key := range test.annotations {
			if given := key == "note"; secret.IsReservedAnnotation(key) == given || secret.IsReservedLabel(key) {
				t.Errorf("the annotation %s is reserved: %t", key, secret.IsReservedAnnotation(key))
			}
		}
	}
}

func TestDirectoriesAreMountedAtTheirPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"~/.aws":            "/root/.aws",
		"~/.config//gh/":    "/root/.config/gh",
		"/home/alice/.ssh":  "/root/.ssh",
		"/home/alicex/.ssh": "/home/alicex/.ssh",
		"/etc/creds/":       "/etc/creds",
		"~/a/../.aws":       "/root/.aws",
		"~":                 "",
		"~/":                "",
		"/home/alice":       "",
		"/":                 "",
		"creds":             "",
		"./creds":           "",
		".":                 "",
	} {
		sourceDir, err := secret.SourceDir(in, "/home/alice")
		if (err != nil) != (want == "") || err == nil && secret.MountPath(sourceDir) != want {
			t.Errorf("%s: %s, %v; want %s", in, secret.MountPath(sourceDir), err, want)
		}
	}
}

func TestDigestsDistinguishValuesWithoutRevealingThem(t *testing.T) {
	t.Parallel()
	const canary = "canary-of-digests"
	digests := secret.Digests{}.WithSealer(secret.NewSealer())
	digests.Values["a"] = digests.Next("a", []byte(canary), false)
	if !digests.Same("a", []byte(canary)) || digests.Same("a", []byte(canary+"x")) ||
		digests.Same("b", []byte(canary)) {
		t.Error("values are not told apart")
	}
	other := secret.Digests{}.WithSealer(secret.NewSealer())
	other.Values["a"] = other.Next("a", []byte(canary), false)
	if cmp.Equal(digests.Values, other.Values) || cmp.Equal(digests.Digest("a", nil), digests.Digest("b", nil)) {
		t.Error("two secrets, or two keys, have the same digest of one value")
	}
	obj := secret.Secret{Name: "x", Namespace: "ml"}.Object()
	masked := digests.Mask(secret.WithData(obj, map[string][]byte{"a": []byte(canary)}),
		map[string][]byte{"a": []byte(canary)})
	if diff := cmp.Diff(digests.MaskApplied(obj), masked); diff != "" {
		t.Errorf("the masked values differ from the applied ones:\n%s", diff)
	}
	for _, v := range []any{digests, masked.Object} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary)),
			hex.EncodeToString([]byte(canary))} {
			if strings.Contains(string(text), form) {
				t.Errorf("%s has the value", text)
			}
		}
	}
	if next := digests.Next("a", []byte("b"), true); next.Revision != 2 ||
		!strings.HasPrefix(next.Text, "revision 2 (") || digests.Next("c", nil, false).Text != "revision 1" {
		t.Errorf("the next revision is %+v", next)
	}
}

func TestDigestsOfKnownValuesAreNotComputed(t *testing.T) {
	t.Parallel()
	digests := secret.Digests{}.WithSealer(secret.NewSealer())
	const digest = "not computed"
	digests.Values["a"] = secret.Entry{Digest: []byte(digest), Revision: 1}
	digests.Confirm(map[string][]byte{"a": []byte("value"), "b": []byte("value")})
	if string(digests.Digest("a", []byte("value"))) != digest {
		t.Error("the digest of a value that is known was computed")
	}
	for key, value := range map[string]string{"a": "other", "b": "value"} {
		if string(digests.Digest(key, []byte(value))) == digest {
			t.Errorf("%s = %s has the digest of another value", key, value)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	digests := secret.Digests{}.WithSealer(secret.NewSealer())
	for i := 0; b.Loop(); i++ {
		digests.Digest("a", fmt.Append(nil, i))
	}
}

// FuzzKey searches for a file name whose key Kubernetes rejects.
func FuzzKey(f *testing.F) {
	for _, name := range []string{"id_rsa", "my key.txt", "..data", ".", "é", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if key, err := secret.Key(name); err == nil && secret.CheckKey(key) != nil {
			t.Errorf("%q becomes %q", name, key)
		}
	})
}
