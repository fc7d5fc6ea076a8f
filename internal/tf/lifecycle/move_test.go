package lifecycle

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// peerStates returns the resources in the states of testdata/moved of package acctest: their sources by peer, type and
// name.
func peerStates(t *testing.T) map[string]MoveSource {
	t.Helper()
	const states = "../../../test/acctest/testdata/moved/*/state.json"
	files, err := filepath.Glob(filepath.FromSlash(states))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	out := map[string]MoveSource{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var state struct {
			Resources []struct {
				Type, Name, Provider string
				Instances            []struct{ Attributes json.RawMessage }
			}
		}
		if err := json.Unmarshal(text, &state); err != nil {
			t.Fatal(err)
		}
		for _, r := range state.Resources {
			provider := strings.TrimSuffix(strings.TrimPrefix(r.Provider, `provider["`), `"]`)
			out[fmt.Sprintf("%s: %s.%s", filepath.Base(filepath.Dir(file)), r.Type, r.Name)] = MoveSource{
				Provider: provider, Type: r.Type, State: r.Instances[0].Attributes}
		}
	}
	return out
}

func TestMovedObjectOfEveryPeer(t *testing.T) {
	t.Parallel()
	kinds := map[string]schema.GroupKind{
		"web": kind.Deployment().GroupKind(), "datasets": kind.PersistentVolumeClaim().GroupKind(),
		"token": kind.Secret().GroupKind(), "queue": {Group: "apps", Kind: "StatefulSet"},
		"cache": {Group: "apps", Kind: "DaemonSet"}, "migrate": {Group: "batch", Kind: "Job"},
		"nightly": {Group: "batch", Kind: "CronJob"}, "debug": {Kind: "Pod"},
		"role": {Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"},
	}
	objectNames := map[string]string{"role": "kt-moved-role"} // others have the name of the resource
	seen := map[string]bool{}
	for name, source := range peerStates(t) {
		resource := name[strings.LastIndex(name, ".")+1:]
		seen[resource] = true
		moved, err := movedObject(source)
		if resource == "settings" { // a ConfigMap
			if err == nil {
				t.Errorf("%s: %v, want an error", name, moved)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := Moved{From: source.Type, Group: kinds[resource].Group, Kind: kinds[resource].Kind,
			Namespace: "NAMESPACE", Name: resource}
		if resource == "role" {
			want.Namespace = ""
			if strings.HasPrefix(source.Type, "kubectl") {
				want.Name = objectNames[resource]
			}
		}
		got := *moved
		if got.UID != "" && resource != "role" && got.UID != "UID/"+got.Kind+"/"+got.Name {
			t.Errorf("%s has the UID %s", name, got.UID)
		}
		got.UID = ""
		if got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
	want := append(slices.Sorted(maps.Keys(kinds)), "settings")
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("the states contain %v, want %v", got, want)
	}
}

func TestMovedObjectIgnoresTheRegistry(t *testing.T) {
	t.Parallel()
	state := []byte(`{"metadata": [{"name": "web", "namespace": "shop", "uid": "1"}]}`)
	for _, provider := range []string{"registry.terraform.io/hashicorp/kubernetes",
		"registry.opentofu.org/hashicorp/kubernetes", "mirror.example.com/hashicorp/kubernetes"} {
		if moved, err := movedObject(MoveSource{provider, "kubernetes_deployment", state}); err != nil ||
			moved.String() != "Deployment shop/web" {
			t.Errorf("%s: %v %v", provider, moved, err)
		}
	}
}

func TestMovedObjectIsReadFromTheStateOfItsProvider(t *testing.T) {
	t.Parallel()
	const (
		kubernetes = "registry.terraform.io/hashicorp/kubernetes"
		kubectl    = "registry.terraform.io/alekc/kubectl"
		connect    = "registry.terraform.io/jmorris0x0/k8sconnect"
	)
	for name, c := range map[string]struct {
		source MoveSource
		want   string // the object; "" for an unknown format
	}{
		"a manifest that was never applied": {MoveSource{kubernetes, "kubernetes_manifest", []byte(`{"object": null,
			"manifest": {"value": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "planned",
			"namespace": "ml"}}}}`)}, "Deployment ml/planned"},
		"an applied manifest": {MoveSource{kubernetes, "kubernetes_manifest", []byte(`{"object": {"value": {
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "applied", "namespace": "ml"}}},
			"manifest": {"value": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "planned",
			"namespace": "ml"}}}}`)}, "Deployment ml/applied"},
		"the namespace in a path": {MoveSource{kubectl, "kubectl_manifest", []byte(`{"kind": "Deployment",
			"id": "/apis/apps/v1/namespaces/shop/deployments/x", "api_version": "apps/v1", "name": "x",
			"namespace": "other"}`)}, "Deployment shop/x"},
		"the namespace in an attribute": {MoveSource{kubectl, "kubectl_manifest", []byte(`{"kind": "Deployment",
			"id": "x", "api_version": "apps/v1", "name": "x", "namespace": "ml"}`)}, "Deployment ml/x"},
		"the path of a namespace": {MoveSource{kubectl, "kubectl_manifest", []byte(`{"kind": "Namespace",
			"id": "/api/v1/namespaces/shop", "api_version": "v1", "name": "shop"}`)}, "Namespace /shop"},
		"a manifest without JSON": {MoveSource{kubernetes, "kubernetes_manifest", []byte("x")}, ""},
		"kubectl without JSON":    {MoveSource{kubectl, "kubectl_manifest", []byte("x")}, ""},
		"k8sconnect without JSON": {MoveSource{connect, "k8sconnect_object", []byte("x")}, ""},
		"k8sconnect without a name": {MoveSource{connect, "k8sconnect_object",
			[]byte(`{"object_ref": {"kind": "Pod"}}`)}, ""},
		"k8sconnect without any object": {MoveSource{connect, "k8sconnect_object", []byte(`{}`)}, ""},
	} {
		moved, err := movedObject(c.source)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %v", name, moved)
			}
			continue
		}
		if err != nil || moved.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", name, moved, err, c.want)
		}
	}
	all := supportedSources(func(schema.GroupKind) bool { return true })
	if !slices.IsSorted(all) || len(all) != 2*len(typedSources())+3 {
		t.Errorf("supported: %v", all)
	}
}

func TestUnsupportedMovesAreExplained(t *testing.T) {
	t.Parallel()
	const (
		kubernetes = "registry.terraform.io/hashicorp/kubernetes"
		kubectl    = "registry.terraform.io/gavinbunney/kubectl"
		secret     = "hunter2"
		unknown    = "does not contain the identity"
	)
	compute := Kind{Type: "kt_compute", Moves: func(of schema.GroupKind) bool { return of.Group == "apps" }}
	for name, c := range map[string]struct {
		source MoveSource
		want   string
	}{
		"another resource type": {MoveSource{kubernetes, "kubernetes_service", []byte(`{}`)},
			"A kubernetes_service of the provider " + kubernetes + " cannot become a kt_compute."},
		"supported types are listed": {MoveSource{kubernetes, "kubernetes_service", []byte(`{}`)},
			"\n  kubernetes_deployment_v1\n"},
		"another provider": {
			MoveSource{"registry.terraform.io/other/kubernetes", "kubernetes_deployment", []byte(`{}`)},
			"cannot become a kt_compute"},
		"a type of another provider": {MoveSource{kubectl, "kubernetes_manifest", []byte(`{}`)}, "cannot become"},
		"another kind": {MoveSource{kubernetes, "kubernetes_secret",
			[]byte(`{"data": {"a": "` + secret + `"}, "metadata": [{"name": "a", "namespace": "b"}]}`)},
			"manages a Secret (a), which cannot become a kt_compute"},
		"a kind without namespace": {MoveSource{kubectl, "kubectl_manifest",
			[]byte(`{"api_version": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "a"}`)},
			"manages a ClusterRole.rbac.authorization.k8s.io (a)"},
		"no namespace": {MoveSource{kubectl, "kubectl_manifest",
			[]byte(`{"api_version": "apps/v1", "kind": "Deployment", "name": "a"}`)}, "contains no namespace"},
		"no JSON": {
			MoveSource{kubernetes, "kubernetes_deployment", []byte(secret)}, unknown},
		"no state": {
			MoveSource{kubernetes, "kubernetes_deployment", nil}, unknown},
		"another format": {
			MoveSource{kubernetes, "kubernetes_deployment", []byte(`{"metadata": "` + secret + `"}`)}, unknown},
		"several metadata": {
			MoveSource{kubernetes, "kubernetes_deployment", []byte(`{"metadata": [{}, {}]}`)}, unknown},
		"a failed creation": {
			MoveSource{kubernetes, "kubernetes_manifest", []byte(`{"manifest": null, "object": null}`)}, unknown},
	} {
		moved, err := movedObject(c.source)
		if err == nil && compute.Moves(moved.GroupKind()) && moved.Namespace != "" {
			t.Errorf("%s: %v, want an error", name, moved)
			continue
		}
		got := compute.unsupported(c.source, moved, err)
		if !strings.Contains(got, c.want) || strings.Contains(got, secret) {
			t.Errorf("%s: got\n%s\nwant %q, and no secret", name, got, c.want)
		}
	}
}

func FuzzMovedObject(f *testing.F) {
	for _, state := range []string{`{}`, `{"metadata":[{"name":"a"}]}`, `{"object":{"value":{"kind":"a"}}}`,
		`{"id":"/namespaces/","kind":"a"}`, `{"object_ref":null}`} {
		for provider, types := range moveSources() {
			for name := range types {
				f.Add(provider, name, state)
			}
		}
	}
	f.Fuzz(func(t *testing.T, provider, name, state string) {
		moved, err := movedObject(MoveSource{"registry.terraform.io/" + provider, name, []byte(state)})
		if err == nil && (moved.Kind == "" || moved.Name == "") {
			t.Errorf("%+v", moved)
		}
	})
}
