package crds

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	widgets = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " +
		"widgets.example.com}\n" +
		"spec: {group: example.com, names: {plural: widgets}, versions: [{name: v1, served: true}]}\n"
	gadgets = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": {"name": "gadgets.example.com"}}`
	other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		path  string
		want  string
		err   string
	}{
		"a file": {files: map[string]string{"a.yaml": widgets},
			path: "a.yaml", want: "widgets.example.com"},
		"a file of any name": {files: map[string]string{"a": widgets}, path: "a", want: "widgets.example.com"},
		"several documents, other kinds": {
			files: map[string]string{"a.yaml": other + "---\n" + widgets + "---\n"},
			path:  "a.yaml", want: "widgets.example.com",
		},
		"a directory with YAML and JSON": {
			files: map[string]string{"a.yml": widgets, "b.json": gadgets, "c.txt": "no YAML: ["},
			path:  ".", want: "widgets.example.com gadgets.example.com",
		},
		"subdirectories are ignored": {
			files: map[string]string{"a.yaml": widgets, "sub/b.yaml": gadgets},
			path:  ".", want: "widgets.example.com",
		},
		"a path that does not exist": {path: "nowhere", err: "no such file"},
		"a file without any": {files: map[string]string{"a.yaml": other}, path: "a.yaml",
			err: "no CustomResourceDefinition found"},
		"an empty directory": {path: ".", err: "no CustomResourceDefinition found"},
		"a file that is not YAML": {files: map[string]string{"a.yaml": "a: ["}, path: "a.yaml",
			err: "converting YAML to JSON"},
		"a definition with a wrong format": {
			files: map[string]string{"a.yaml": strings.Replace(widgets, "versions: [", "versions: [3, ", 1)},
			path:  "a.yaml", err: "cannot unmarshal",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, content := range c.files {
				write(t, filepath.Join(dir, name), content)
			}
			path := filepath.Join(dir, c.path)
			got, err := read([]string{path})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), path) {
					t.Fatalf("error %v; want one with %q and %s", err, c.err, path)
				}
				return
			}
			var names []string
			for _, crd := range got {
				names = append(names, crd.Name)
			}
			if err != nil || strings.Join(names, " ") != c.want {
				t.Errorf("%q, %v; want %q", names, err, c.want)
			}
		})
	}
}

type definition = apiextensionsv1.CustomResourceDefinition

func TestListed(t *testing.T) {
	t.Parallel()
	crd := func(plural string, versions ...apiextensionsv1.CustomResourceDefinitionVersion,
	) *definition {
		return &definition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Versions: versions,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural},
		}}
	}
	v1 := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true}
	v2 := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true}
	old := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1alpha1"}
	lists := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods"}}},
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "widgets"},
			{Name: "widgets/status"}}},
	}
	for name, c := range map[string]struct {
		crds []*definition
		want bool
	}{
		"none":                         {want: true},
		"each":                         {crds: []*definition{crd("widgets", v1)}, want: true},
		"a version that is not served": {crds: []*definition{crd("widgets", v1, old)}, want: true},
		"a version is missing":         {crds: []*definition{crd("widgets", v1, v2)}},
		"a name is missing": {
			crds: []*definition{crd("widgets", v1), crd("gadgets", v1)},
		},
		"the name of another group": {crds: []*definition{crd("pods", v1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := listed(c.crds, lists); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestApplyWaitsForEachToBeEstablishedAndListed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.yaml")
	write(t, file, widgets)
	client := newFake()
	var waited []string
	await := func(what string, done func(context.Context) (bool, error)) error {
		waited = append(waited, what)
		if ok, err := done(t.Context()); ok || err != nil {
			t.Errorf("at first, %s: %t, %v", what, ok, err)
		}
		if len(waited) > 1 {
			client.Resources = []*metav1.APIResourceList{{GroupVersion: "example.com/v1",
				APIResources: []metav1.APIResource{{Name: "widgets"}}}}
			if ok, err := done(t.Context()); !ok || err != nil {
				t.Errorf("when it is listed: %t, %v", ok, err)
			}
			return nil
		}
		api := client.ApiextensionsV1().CustomResourceDefinitions()
		crd, err := api.Get(t.Context(), "widgets.example.com", metav1.GetOptions{})
		if err != nil {
			return err
		}
		crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established,
			Status: apiextensionsv1.ConditionTrue}}
		if _, err := api.UpdateStatus(t.Context(), crd, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if ok, err := done(t.Context()); !ok || err != nil {
			t.Errorf("when it is established: %t, %v", ok, err)
		}
		return nil
	}
	if err := Apply(t.Context(), client, []string{file}, await); err != nil {
		t.Fatal(err)
	}
	if len(waited) != 2 || !strings.Contains(waited[0], "widgets.example.com") {
		t.Errorf("waited for %q", waited)
	}
	tooLong := errors.New("too long")
	err := Apply(t.Context(), newFake(), []string{file},
		func(string, func(context.Context) (bool, error)) error { return tooLong })
	if !errors.Is(err, tooLong) {
		t.Errorf("error %v; want the one of the wait", err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newFake returns an API server without definitions. NewClientset does not support their schema.
func newFake() *fake.Clientset {
	return fake.NewSimpleClientset()
}
