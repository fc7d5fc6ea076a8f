package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// drifted is the value of fields that the probe changes. It is base64, because values of Secrets are.
const drifted = "ZHJpZnRz"

// probe changes fields of each object like another client. The plan must show each of them, and the apply must restore
// them. It fails if the provider no longer owns a field, or has lost what it remembers.
func (c *cycle) probe(ctx context.Context, at step) error {
	state, err := c.workDir.readState()
	if err != nil {
		return err
	}
	changed := map[string][][]string{} // paths by key
	for key, found := range c.objects {
		paths := probed(state.manifests[key])
		if found.kind == "Secret" {
			paths = append(paths, []string{"data", "TOKEN"})
		}
		if len(paths) == 0 {
			return fmt.Errorf("no field to change in %s: %s", key, state.manifests[key])
		}
		patch, err := json.Marshal(patchOf(paths))
		if err != nil {
			return err
		}
		_, err = c.cluster.dynamic.Resource(found.gvr).Namespace(found.namespace).Patch(ctx, found.name,
			types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "faults-probe"})
		if err != nil {
			return fmt.Errorf("probe of %s: %w", key, err)
		}
		changed[key] = paths
	}
	shown, err := c.planWithoutFaults(ctx, at)
	if err != nil {
		return err
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if missing := unseen(shown, state.owners[key], key, changed[key]); len(missing) > 0 {
			errs = append(errs, c.violate(at, fmt.Sprintf("the plan does not show that another client changed %s of %s",
				strings.Join(missing, ", "), key)))
		}
	}
	if err := joined(errs); err != nil {
		return err
	}
	if out, err := c.runWithoutFaults(ctx, at, "apply", "-auto-approve"); err != nil || out.code != 0 {
		return c.violateUnless(err, at, "an apply does not repair drift")
	}
	return c.checkConverged(ctx, at)
}

// probed returns the paths of the fields of an applied object that the probe changes: its labels, its annotations, and
// the values of a ConfigMap. They can be changed in all kinds, without an effect on pods.
func probed(manifest map[string]any) [][]string {
	var paths [][]string
	for _, parent := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"data"}} {
		for name, value := range fieldAt(manifest, parent) {
			if _, ok := value.(string); ok {
				paths = append(paths, append(slices.Clone(parent), name))
			}
		}
	}
	return paths
}

func fieldAt(manifest map[string]any, path []string) map[string]any {
	for _, name := range path {
		manifest, _ = manifest[name].(map[string]any)
	}
	return manifest
}

func patchOf(paths [][]string) map[string]any {
	out := map[string]any{}
	for _, path := range paths {
		parent := out
		for _, name := range path[:len(path)-1] {
			if parent[name] == nil {
				parent[name] = map[string]any{}
			}
			parent, _ = parent[name].(map[string]any)
		}
		parent[path[len(path)-1]] = drifted
	}
	return out
}

// unseen returns the changed fields of an object that a plan does not show.
func unseen(shown []change, address, key string, paths [][]string) []string {
	i := slices.IndexFunc(shown, func(ch change) bool { return ch.Address == address })
	var missing []string
	for _, path := range paths {
		if i < 0 || !slices.Equal(shown[i].Change.Actions, []string{actionUpdate}) || !shows(shown[i], key, path) {
			missing = append(missing, strings.Join(path, "."))
		}
	}
	slices.Sort(missing)
	return missing
}

// shows reports whether a plan changes a field of an object. Of the values of a Secret, only the keys are in the plan.
func shows(ch change, key string, path []string) bool {
	name := path[len(path)-1]
	value := func(attributes map[string]any) any {
		if strings.HasPrefix(key, "Secret/") && path[0] == "data" {
			return fieldAt(attributes, []string{"keys"})[name]
		}
		manifest := decodeManifest(fieldAt(attributes, []string{"manifests"})[key])
		return fieldAt(manifest, path[:len(path)-1])[name]
	}
	return value(ch.Change.Before) != value(ch.Change.After)
}

func decodeManifest(text any) map[string]any {
	out := map[string]any{}
	if text, ok := text.(string); ok {
		_ = json.Unmarshal([]byte(text), &out) // stays empty
	}
	return out
}
