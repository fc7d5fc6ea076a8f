package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// stateFile is a state of the CLI.
type stateFile struct {
	Version          int             `json:"version"`
	TerraformVersion string          `json:"terraform_version"`
	Serial           int             `json:"serial"`
	Lineage          string          `json:"lineage"`
	Outputs          struct{}        `json:"outputs"`
	Resources        []stateResource `json:"resources"`
}

type stateResource struct {
	Mode      string                       `json:"mode"`
	Type      string                       `json:"type"`
	Name      string                       `json:"name"`
	Provider  string                       `json:"provider"`
	Instances []map[string]json.RawMessage `json:"instances"`
}

func readState(path string) (stateFile, error) {
	var state stateFile
	data, err := os.ReadFile(path)
	if err != nil {
		return state, err
	}
	return state, json.Unmarshal(data, &state)
}

// created identifies an object that the bench has created.
type created struct{ uid, version string }

// prepareObjects creates the objects of all resources of a case, and returns them by index and in the order of the
// prototype. It returns when controllers have updated their status.
func (b *bench) prepareObjects(ctx context.Context, c config) ([][]created, error) {
	made := make([][]created, c.size)
	err := b.sendEach(ctx, c, func(ctx context.Context, r request) error {
		live, err := b.cluster.apply(ctx, r.of, r.object)
		if err != nil {
			return err
		}
		made[r.resource] = append(made[r.resource], created{string(live.GetUID()), live.GetResourceVersion()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return made, b.awaitAll(ctx, c, settles)
}

// request is about one object.
type request struct {
	resource int // index of its resource
	first    bool
	of       schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// sendEach calls send for the objects of all resources of a case, for those of one resource in order.
func (b *bench) sendEach(ctx context.Context, c config, send func(context.Context, request) error) error {
	return each(ctx, c.size, func(ctx context.Context, i int) error {
		t, replacer := b.prototypeOf(c, i)
		for j, o := range t.objects {
			obj := &unstructured.Unstructured{}
			if err := obj.UnmarshalJSON([]byte(replacer.Replace(o.text))); err != nil {
				return err
			}
			if err := send(ctx, request{resource: i, first: j == 0, of: o.resource, object: obj}); err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitAll waits until no object of a case is pending.
func (b *bench) awaitAll(ctx context.Context, c config, isPending func(*unstructured.Unstructured) bool) error {
	for _, v := range c.family.variants {
		for _, o := range b.prototypes[prototypeKey{v.name, c.replicas}].objects {
			if err := b.cluster.await(ctx, o.resource, c.prefix+"-", isPending); err != nil {
				return err
			}
		}
	}
	return nil
}

// prototypeOf returns the prototype of the resource with an index, and what makes it that resource.
func (b *bench) prototypeOf(c config, index int) (*prototype, *strings.Replacer) {
	v := c.variant(index)
	t := b.prototypes[prototypeKey{v.name, c.replicas}]
	return t, t.Replacer(answer.Name(v.name, index), c.namespace(index), c.generation)
}

// writeState writes the state of a case into a directory.
func (b *bench) writeState(c config, objects [][]created, dir string) error {
	state, err := b.prepareState(c, objects)
	if err != nil {
		return err
	}
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "terraform.tfstate"), data, 0o600)
}

// prepareState returns the state that the provider, or terraform_data, would have written for objects.
func (b *bench) prepareState(c config, objects [][]created) (stateFile, error) {
	state := stateFile{Version: 4, TerraformVersion: "1.0.0", Serial: 1, Lineage: "bench"}
	byName := map[string]*stateResource{}
	var order []string
	for i := range c.size {
		v := c.variant(i)
		t, replacer := b.prototypeOf(c, i)
		one := t.stored
		if c.builtin {
			one = t.builtin
		}
		instance, err := one.instanceOf(replacer, objects[i])
		if err != nil {
			return state, err
		}
		name := v.name
		switch c.shape {
		case blocks:
			name = answer.Name(v.name, i)
		case count:
			instance["index_key"], err = json.Marshal(i / len(c.family.variants))
		case forEach:
			instance["index_key"], err = json.Marshal(answer.Name(v.name, i))
		}
		if err != nil {
			return state, err
		}
		if byName[name] == nil {
			byName[name] = &stateResource{Mode: "managed", Type: one.resource, Name: name, Provider: one.provider}
			order = append(order, name)
		}
		byName[name].Instances = append(byName[name].Instances, instance)
	}
	for _, name := range order {
		state.Resources = append(state.Resources, *byName[name])
	}
	return state, nil
}

// instanceOf returns the part of the prototype of the state file for other objects.
func (s stored) instanceOf(
	replacer *strings.Replacer, objects []created,
) (map[string]json.RawMessage, error) {
	replace := func(text []byte) []byte {
		out := replacer.Replace(string(text))
		for i, o := range s.objects {
			now := objects[i]
			// A creation records a version that its end changes, so any version of the object is replaced.
			out = regexp.MustCompile(regexp.QuoteMeta(o.uid)+"/[0-9]+").ReplaceAllLiteralString(out,
				now.uid+"/"+now.version)
			out = strings.ReplaceAll(out, o.uid, now.uid)
		}
		return []byte(out)
	}
	instance := map[string]json.RawMessage{}
	for name, value := range s.instance {
		instance[name] = replace(value)
	}
	if s.private == nil {
		return instance, nil
	}
	private := map[string][]byte{}
	for name, value := range s.private {
		private[name] = replace(value)
	}
	data, err := json.Marshal(private)
	if err != nil {
		return nil, err
	}
	instance["private"], err = json.Marshal(data)
	return instance, err
}
