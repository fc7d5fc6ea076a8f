// Package crds creates CustomResourceDefinitions from files.
package crds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
)

// Apply creates the CustomResourceDefinitions in the given files and directories unless they exist. With await, a poll
// with a timeout, it waits until the API server serves and lists each of them. In a directory, it reads the files
// *.yaml, *.yml and *.json, but not subdirectories. It ignores documents of other kinds.
func Apply(
	ctx context.Context, client apiextensions.Interface, paths []string,
	await func(what string, done func(context.Context) (bool, error)) error,
) error {
	crds, err := read(paths)
	if err != nil {
		return err
	}
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range crds {
		if _, err := api.Create(ctx, crd, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create CustomResourceDefinition %s: %w", crd.Name, err)
		}
	}
	for _, crd := range crds {
		err := await("CustomResourceDefinition "+crd.Name+" to be established",
			func(ctx context.Context) (bool, error) {
				got, err := api.Get(ctx, crd.Name, metav1.GetOptions{})
				return err == nil && established(got), err
			})
		if err != nil {
			return err
		}
	}
	return await("the API server to list the CustomResourceDefinitions", func(context.Context) (bool, error) {
		_, lists, err := client.Discovery().ServerGroupsAndResources()
		if discovery.IsGroupDiscoveryFailedError(err) {
			return false, nil
		}
		return err == nil && listed(crds, lists), err
	})
}

// listed reports whether discovery contains each served version of the definitions. An API server serves a definition
// before its discovery contains it.
func listed(crds []*apiextensionsv1.CustomResourceDefinition, lists []*metav1.APIResourceList) bool {
	names := map[string]bool{} // group/version/plural
	for _, list := range lists {
		for _, resource := range list.APIResources {
			names[list.GroupVersion+"/"+resource.Name] = true
		}
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if version.Served && !names[crd.Spec.Group+"/"+version.Name+"/"+crd.Spec.Names.Plural] {
				return false
			}
		}
	}
	return true
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

func read(paths []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, path := range paths {
		files, err := expand(path)
		if err != nil {
			return nil, fmt.Errorf("--crds: %w", err)
		}
		before := len(crds)
		for _, file := range files {
			found, err := readFile(file)
			if err != nil {
				return nil, fmt.Errorf("--crds %s: %w", file, err)
			}
			crds = append(crds, found...)
		}
		if len(crds) == before {
			return nil, fmt.Errorf("--crds %s: no CustomResourceDefinition found", path)
		}
	}
	return crds, nil
}

func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if ext := filepath.Ext(entry.Name()); !entry.IsDir() &&
			slices.Contains([]string{".yaml", ".yml", ".json"}, ext) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

func readFile(file string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	reader, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var crds []*apiextensionsv1.CustomResourceDefinition
	decoder := yaml.NewYAMLOrJSONDecoder(reader, 4096)
	for {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := decoder.Decode(crd)
		if errors.Is(err, io.EOF) {
			return crds, nil
		}
		if err != nil {
			return nil, err
		}
		if crd.Kind == "CustomResourceDefinition" {
			crds = append(crds, crd)
		}
	}
}
