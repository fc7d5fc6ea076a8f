package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

const prototypeNamespace = "bench-prototypes"

type prototypeKey struct {
	variant  string
	replicas int
}

// prototype is a resource that the provider has applied.
type prototype struct {
	answer.Answer
	stored

	builtin stored // terraform_data with the same arguments
}

// stored is a resource in a state file, with its objects.
type stored struct {
	resource, provider string
	instance           map[string]json.RawMessage
	private            map[string][]byte
	objects            []prototypeObject // the one whose labels are those of the resource first
}

type prototypeObject struct {
	key      string // as in the attribute manifests
	resource schema.GroupVersionResource
	text     string // the fields that the provider has applied
	uid      string
}

// answers returns the path of the answers of the echo provider.
func (b *bench) answers() string { return filepath.Join(b.dir, "answers.json") }

// preparePrototypes applies one resource of each variant of a case.
func (b *bench) preparePrototypes(ctx context.Context, c config) error {
	if err := b.cluster.makeNamespace(ctx, prototypeNamespace); err != nil {
		return err
	}
	answers := map[string]answer.Answer{}
	for _, v := range c.family.variants {
		key := prototypeKey{v.name, c.replicas}
		if b.prototypes[key] == nil {
			made, err := b.makePrototype(ctx, c, v)
			if err != nil {
				return fmt.Errorf("prototype of %s: %w", v.name, err)
			}
			b.prototypes[key] = made
		}
		answers[v.name] = b.prototypes[key].Answer
	}
	return answer.Write(b.answers(), answers)
}

func (b *bench) makePrototype(ctx context.Context, c config, v variant) (*prototype, error) {
	t := &prototype{}
	t.Name, t.Namespace = fmt.Sprintf("t%d-%s-t", c.replicas, v.name), prototypeNamespace
	dir, err := b.writePrototype(c, v, t.Answer, kt)
	if err != nil {
		return nil, err
	}
	if _, err := b.run(ctx, command{dir: dir, subject: kt, args: []string{"plan", "-out=saved"}}); err != nil {
		return nil, err
	}
	if err := b.readUnknown(ctx, t, dir); err != nil {
		return nil, err
	}
	if _, err := b.run(ctx, command{dir: dir, subject: kt, args: []string{"apply", "saved"}}); err != nil {
		return nil, err
	}
	if err := b.readPrototype(ctx, t, dir); err != nil {
		return nil, err
	}
	for _, o := range t.objects {
		if err := b.cluster.await(ctx, o.resource, prototypeNamespace, settles); err != nil {
			return nil, err
		}
	}
	// the state of an object that was ready only after the apply
	refresh := []string{"apply", "-refresh-only", "-auto-approve"}
	if _, err := b.run(ctx, command{dir: dir, subject: kt, args: refresh}); err != nil {
		return nil, err
	}
	if err := b.readPrototype(ctx, t, dir); err != nil {
		return nil, err
	}
	c.builtin = true
	if dir, err = b.writePrototype(c, v, t.Answer, builtin); err != nil {
		return nil, err
	}
	apply := command{dir: dir, subject: builtin, args: []string{"apply", "-auto-approve"}}
	if _, err := b.run(ctx, apply); err != nil {
		return nil, err
	}
	t.builtin, err = readStored(dir)
	return t, err
}

// writePrototype writes the configuration of one resource into a directory, and returns its path.
func (b *bench) writePrototype(c config, v variant, a answer.Answer, s subject) (string, error) {
	var text strings.Builder
	if s != builtin {
		text.WriteString(providerBlock(c.kubeconfig))
	}
	c.block(&text, v, v.name, "", strconv.Quote(a.Name), strconv.Quote(a.Namespace))
	dir := filepath.Join(b.dir, a.Name, string(s))
	return dir, writeMain(dir, text.String())
}

// readStored reads the state of a directory with one resource.
func readStored(dir string) (stored, error) {
	state, err := readState(filepath.Join(dir, "terraform.tfstate"))
	if err != nil {
		return stored{}, err
	}
	if len(state.Resources) != 1 || len(state.Resources[0].Instances) != 1 {
		return stored{}, errors.New("the state does not contain one resource")
	}
	one := state.Resources[0]
	return stored{resource: one.Type, provider: one.Provider, instance: one.Instances[0]}, nil
}

// readUnknown reads which attributes are unknown in the saved plan.
func (b *bench) readUnknown(ctx context.Context, t *prototype, dir string) error {
	out, err := b.output(ctx, command{dir: dir, subject: kt, args: []string{"show", "-json", "saved"}})
	if err != nil {
		return err
	}
	var saved struct {
		Changes []struct {
			Change struct {
				Unknown map[string]any `json:"after_unknown"`
			} `json:"change"`
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal(out, &saved); err != nil {
		return err
	}
	for _, change := range saved.Changes {
		for name, value := range change.Change.Unknown {
			if value == true {
				t.Unknown = append(t.Unknown, name)
			}
		}
	}
	slices.Sort(t.Unknown)
	return nil
}

// readPrototype reads the state and the objects.
func (b *bench) readPrototype(ctx context.Context, t *prototype, dir string) error {
	var err error
	if t.stored, err = readStored(dir); err != nil {
		return err
	}
	t.Attributes = t.instance["attributes"]
	if err := json.Unmarshal(t.instance["private"], &t.Private); err != nil {
		return err
	}
	t.private = map[string][]byte{}
	if err := json.Unmarshal(t.Private, &t.private); err != nil {
		return err
	}
	var attributes struct {
		Manifests map[string]*string `json:"manifests"`
	}
	if err := json.Unmarshal(t.Attributes, &attributes); err != nil {
		return err
	}
	for key, text := range attributes.Manifests {
		if text == nil { // an object that the cluster does not support
			continue
		}
		object, err := b.cluster.read(ctx, key, *text)
		if err != nil {
			return err
		}
		t.objects = append(t.objects, object)
	}
	slices.SortFunc(t.objects, func(x, y prototypeObject) int { return cmp.Compare(x.rank(), y.rank()) })
	return nil
}

// rank is greater for the Services of a workload.
func (o prototypeObject) rank() int {
	if o.resource.GroupResource() == (schema.GroupResource{Resource: "services"}) {
		return 1
	}
	return 0
}

// read reads an object and reduces it to the fields that the provider owns.
func (c *cluster) read(ctx context.Context, key, text string) (prototypeObject, error) {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		return prototypeObject{}, err
	}
	gvk := obj.GroupVersionKind()
	known, ok := kind.Of(gvk.GroupKind())
	if !ok {
		return prototypeObject{}, fmt.Errorf("unknown kind %s", gvk)
	}
	of := gvk.GroupVersion().WithResource(known.Resource)
	live, err := c.client.Resource(of).Namespace(obj.GetNamespace()).Get(ctx, obj.GetName(), metav1.GetOptions{})
	if err != nil {
		return prototypeObject{}, err
	}
	owned, ok, err := kube.OwnedFields(live)
	if err != nil || !ok {
		return prototypeObject{}, fmt.Errorf("the provider does not own %s: %w", key, err)
	}
	applied, err := json.Marshal(fields.Project(live.Object, owned))
	return prototypeObject{key: key, resource: of, text: string(applied), uid: string(live.GetUID())}, err
}
