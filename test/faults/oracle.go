package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// reference is what cycles of a scenario without faults do. All other cycles must reach the same.
type reference struct {
	requests  map[step]map[string]proxy.Request
	planned   map[step]map[string]string // action by address
	snapshots map[step]snapshot
}

// snapshot is what a command leaves behind, without what differs between any two runs. The keys are those of objects in
// the cluster, and addresses of resources in state.
type snapshot map[string]any

// snapshot takes a snapshot of the objects in the cluster and of the state.
func (c *cycle) snapshot(ctx context.Context, objects map[string]object) (snapshot, error) {
	out, err := c.cluster.comparableObjects(ctx, objects)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(c.workDir.state())
	if err != nil {
		return nil, err
	}
	resources, err := comparableState(data)
	if err != nil {
		return nil, err
	}
	maps.Copy(out, resources)
	return c.withoutNames(out)
}

// comparableObjects reads objects, and returns what can be compared of them, by key.
func (c *cluster) comparableObjects(ctx context.Context, objects map[string]object) (snapshot, error) {
	out := snapshot{}
	for key, found := range objects {
		live, err := c.dynamic.Resource(found.gvr).Namespace(found.namespace).Get(ctx, found.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		out[key] = comparableObject(live)
	}
	return out, nil
}

// comparableObject returns an object without what the server assigns to each object and without its status. Of
// managedFields, it contains the fields that the provider owns.
func comparableObject(live *unstructured.Unstructured) map[string]any {
	out := live.DeepCopy()
	var owned []any
	for _, entry := range live.GetManagedFields() {
		var fields any
		if entry.FieldsV1 != nil {
			_ = json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) // nil if invalid
		}
		if strings.HasPrefix(entry.Manager, kube.Manager) && !isEmpty(fields) {
			owned = append(owned, map[string]any{"manager": entry.Manager, "operation": string(entry.Operation),
				"subresource": entry.Subresource, "fields": withoutCreation(fields)})
		}
	}
	for _, path := range [][]string{
		{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"},
		{"metadata", "creationTimestamp"}, {"metadata", "annotations", kube.CreationAnnotation}, {"status"},
		{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "volumeName"},
		{"metadata", "annotations", "volume.kubernetes.io/selected-node"},
	} {
		unstructured.RemoveNestedField(out.Object, path...)
	}
	if len(out.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(out.Object, "metadata", "annotations")
	}
	unstructured.RemoveNestedField(out.Object, "metadata", "managedFields")
	return map[string]any{"object": out.Object, "owned": owned}
}

// withoutCreation removes the annotation of the creation from a set of fields: an object that was created by a later
// apply does not have it.
func withoutCreation(fields any) any {
	set, _ := fields.(map[string]any)
	metadata, _ := set["f:metadata"].(map[string]any)
	annotations, _ := metadata["f:annotations"].(map[string]any)
	delete(annotations, "f:"+kube.CreationAnnotation)
	delete(annotations, ".") // the map itself
	if len(annotations) == 0 {
		delete(metadata, "f:annotations")
	}
	return fields
}

func isEmpty(fields any) bool {
	set, _ := fields.(map[string]any)
	return len(set) == 0
}

// comparableState returns the attributes and the private state of the resources in a state file, by address.
func comparableState(data []byte) (map[string]any, error) {
	var state struct {
		Resources []struct {
			Type, Name string
			Instances  []struct {
				Status     string
				Attributes map[string]any
				Private    []byte
			}
		}
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, resource := range state.Resources {
		for _, instance := range resource.Instances {
			address := resource.Type + "." + resource.Name
			shown, err := comparableInstance(instance.Status, instance.Attributes, instance.Private)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", address, err)
			}
			out[address] = shown
		}
	}
	return out, nil
}

// comparableInstance returns a resource in state without its UID.
func comparableInstance(status string, attributes map[string]any, private []byte) (map[string]any, error) {
	decoded, err := comparablePrivate(private)
	if err != nil {
		return nil, fmt.Errorf("private state: %w", err)
	}
	if attributes["uid"] != nil {
		attributes["uid"] = "UID"
	}
	return map[string]any{"status": status, "attributes": attributes, "private": decoded}, nil
}

// comparablePrivate decodes private state: a map of JSON documents, as the plugin framework stores it. It removes what
// depends on the way to the result: whether a response to the creation was received, and whether there was an update.
func comparablePrivate(data []byte) (map[string]any, error) {
	if len(data) == 0 {
		return map[string]any{}, nil
	}
	var documents map[string][]byte
	if err := json.Unmarshal(data, &documents); err != nil {
		return nil, err
	}
	out := map[string]any{}
	for key, document := range documents {
		var value any
		if err := json.Unmarshal(document, &value); err != nil {
			return nil, err
		}
		out[key] = withoutHistory(value)
	}
	return out, nil
}

// history lists the keys of private state that depend on the way to the result, or are random. registers is missing if
// discovery failed in the creation, until the next refresh.
func history() []string {
	return []string{"uid", "creation", "assumed", "configured", "history", "matched", "seal", "digest", "registers"}
}

func withoutHistory(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for name, field := range fields {
		if slices.Contains(history(), name) {
			delete(fields, name)
			continue
		}
		fields[name] = withoutHistory(field)
	}
	return fields
}

// randomUID matches UIDs.
var randomUID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// withoutNames replaces the names and values that each cycle has of its own.
func (c *cycle) withoutNames(s snapshot) (snapshot, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return nil, err
	}
	var names []string
	for version := 1; version <= 2; version++ {
		canary := c.canary(version)
		names = append(names, base64.StdEncoding.EncodeToString([]byte(canary)), fmt.Sprintf("CANARY-%d", version))
	}
	names = append(names, c.kubeconfig(), "KUBECONFIG", c.proxy.URL(), "SERVER", c.namespace, "NAMESPACE")
	replaced := randomUID.ReplaceAllString(strings.NewReplacer(names...).Replace(text.String()), "UID")
	out := snapshot{}
	return out, json.Unmarshal([]byte(replaced), &out)
}

// checkOracle checks that the cluster and the state are those of a cycle without faults.
func (c *cycle) checkOracle(ctx context.Context, at step, objects map[string]object) error {
	got, err := c.snapshot(ctx, objects)
	if err != nil {
		return err
	}
	return c.compare(at, got)
}

// compare compares a snapshot with that of a cycle without faults.
func (c *cycle) compare(at step, got snapshot) error {
	c.result.snapshots[at] = got
	if c.reference == nil || c.reference.snapshots[at] == nil {
		return nil
	}
	want := c.reference.snapshots[at]
	if c.result.injected[proxy.KillProvider] > 0 {
		want, got = want.withoutMemory(), got.withoutMemory()
	}
	if c.result.injected[proxy.KillCLI] > 0 || at == update && slices.ContainsFunc(c.last, isLost) {
		want, got = want.withoutNotation(), got.withoutNotation()
	}
	diff := cmp.Diff(want, got)
	if diff == "" {
		return nil
	}
	var keys []string
	for key := range union(want, got) {
		if !reflect.DeepEqual(want[key], got[key]) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	fmt.Fprintf(&c.log, "\ndifference from a cycle without faults:\n%s\n", diff)
	return c.violate(at, "differs from a cycle without faults: "+strings.Join(keys, ", "))
}

// withoutMemory returns a snapshot without what the provider remembers only in its private state, which Terraform drops
// if the provider exits in an update: the private state itself, and the revisions of the values of Secrets.
func (s snapshot) withoutMemory() snapshot {
	out := snapshot{}
	for key, value := range s {
		resource, _ := value.(map[string]any)
		attributes, isResource := resource["attributes"].(map[string]any)
		if !isResource {
			out[key] = value
			continue
		}
		resource, attributes = maps.Clone(resource), maps.Clone(attributes)
		delete(resource, "private")
		delete(attributes, "keys")
		resource["attributes"] = attributes
		out[key] = resource
	}
	return out
}

// withoutNotation returns a snapshot without the notation of the attributes before the objects changed. The provider
// remembers it while a refresh takes changes into state that no apply has saved, such as those of a killed CLI or those
// whose responses were all lost, until the next apply of the resource.
func (s snapshot) withoutNotation() snapshot {
	out := maps.Clone(s)
	for key, value := range out {
		resource, _ := value.(map[string]any)
		private, _ := resource["private"].(map[string]any)
		notes, _ := private["notes"].(map[string]any)
		if notes["applied"] == nil {
			continue
		}
		resource, private, notes = maps.Clone(resource), maps.Clone(private), maps.Clone(notes)
		delete(notes, "applied")
		private["notes"], resource["private"] = notes, private
		out[key] = resource
	}
	return out
}

func union(a, b snapshot) snapshot {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// joined joins errors, and reports errEnded only once.
func joined(errs []error) error {
	if slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, errEnded) }) {
		errs = append(slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, errEnded) }), errEnded)
	}
	return errors.Join(errs...)
}
