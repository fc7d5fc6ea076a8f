package histories_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// valueLabel contains the value that a history writes into an object.
const valueLabel = "example.com/value"

// subject is a resource whose main object a history is about.
type subject struct {
	typ      string
	body     string // of the block, without labels
	resource schema.GroupVersionResource
	object   string // name of the object
	foreign  map[string]any
}

func subjects() []subject {
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	return []subject{
		{typ: "kt_secret", body: "name = \"x\"\nvalues = { A = \"1\" }\n", resource: core("secrets"), object: "x",
			foreign: map[string]any{"apiVersion": "v1", "kind": "Secret"}},
		{typ: "kt_image", body: "name = \"x\"\nimage_id = \"debian:12\"\n", resource: core("configmaps"),
			object:  "kt-image-x",
			foreign: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"A": "1"}}},
		{typ: "kt_volume", body: "name = \"x\"\nsize = \"1Gi\"\n", resource: core("persistentvolumeclaims"),
			object: "x",
			foreign: map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": map[string]any{
				"accessModes": []any{"ReadWriteMany"},
				"resources":   map[string]any{"requests": map[string]any{"storage": "1Gi"}}}}},
		{typ: "kt_compute", body: "name = \"x\"\nimage = \"debian:12\"\nsuspend = true\n",
			resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, object: "x",
			foreign: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{
				"replicas": int64(0), "selector": map[string]any{"matchLabels": map[string]any{"app": "f"}},
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "f"}},
					"spec": map[string]any{"containers": []any{map[string]any{"name": "f", "image": "f"}}}},
			}}},
	}
}

// sample is how many histories of each resource a test runs, and together how many run at the same time.
const sample, parallel = 2, 6

// enough is the number of histories of a resource in which at least one apply succeeds. Most fail, because two states
// and another client use one name.
const enough = 25

// TestAccHistories runs KT_HISTORIES histories of each resource, from the seed KT_HISTORIES_SEED on.
func TestAccHistories(t *testing.T) {
	t.Parallel()
	cluster.Started(t)
	count, err := strconv.Atoi(os.Getenv("KT_HISTORIES"))
	if err != nil {
		count = sample
	}
	seed, err := strconv.ParseInt(os.Getenv("KT_HISTORIES_SEED"), 10, 64)
	if err != nil {
		seed = rand.Int64N(1_000_000)
	}
	t.Logf("seed %d: make histories N=%d SEED=%d", seed, count, seed)
	var operations atomic.Int64
	applied := map[string]*atomic.Int64{} // applies that succeeded, by type
	slots := make(chan struct{}, parallel)
	for _, s := range subjects() {
		applied[s.typ] = &atomic.Int64{}
		for i := range int64(count) {
			t.Run(fmt.Sprintf("%s %d", s.typ, seed+i), func(t *testing.T) {
				t.Parallel()
				slots <- struct{}{}
				defer func() { <-slots }()
				recorded := runHistory(t, s, seed+i)
				operations.Add(int64(len(recorded)))
				applied[s.typ].Add(successes(recorded))
			})
		}
	}
	t.Cleanup(func() {
		t.Logf("%d histories with %d operations", count*len(subjects()), operations.Load())
		for typ, n := range applied {
			t.Logf("%s: %d applies succeeded", typ, n.Load())
			if n.Load() == 0 && count >= enough { // the model accepts the error of every apply
				t.Errorf("no apply of a %s succeeded", typ)
			}
		}
	})
}

// successes counts the applies in a history that succeeded.
func successes(history []porcupine.Operation) (n int64) {
	for _, operation := range history {
		in, _ := operation.Input.(input)
		out, _ := operation.Output.(output)
		if in.op == apply && out.result == succeeded {
			n++
		}
	}
	return n
}

// runHistory runs a history, and checks it. It returns its operations.
func runHistory(t *testing.T, s subject, seed int64) []porcupine.Operation {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.RESTConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	ns := cluster.Namespace(t)
	h := &history{subject: s, ns: ns, client: client.Resource(s.resource).Namespace(ns), started: time.Now(),
		changed: make(chan struct{})}
	h.run(t, seed)
	recorded := h.operations()
	result, info := porcupine.CheckOperationsVerbose(model(), recorded, time.Minute)
	switch result {
	case porcupine.Ok:
	case porcupine.Unknown:
		t.Errorf("the history of %s with seed %d was not checked within a minute", s.typ, seed)
	default:
		t.Errorf("the history of %s with seed %d breaks a promise:\n%s\nlongest possible part:\n%s", s.typ, seed,
			explain(recorded), longest(recorded, info))
	}
	return recorded
}

// longest returns the longest part of the history that is possible.
func longest(history []porcupine.Operation, info porcupine.LinearizationInfo) string {
	text := ""
	for _, partial := range info.PartialLinearizationsOperations() {
		best := []porcupine.Operation{}
		for _, linearization := range partial {
			if len(linearization) > len(best) {
				best = linearization
			}
		}
		for _, op := range best {
			in, _ := op.Input.(input)
			out, _ := op.Output.(output)
			text += describe(in, out) + "\n"
		}
		text += fmt.Sprintf("%d of %d operations\n", len(best), len(history))
	}
	return text
}

// otherClient is a client that is not Terraform.
type otherClient struct {
	*history

	random *rand.Rand
}

// step does one random operation.
func (c *otherClient) step(ctx context.Context, number int) error {
	live, err := c.live(ctx)
	if err != nil {
		return err
	}
	value := fmt.Sprintf("f%d", number)
	switch choice := c.random.IntN(10); {
	case choice < 3:
		return c.observe(ctx)
	case live == nil:
		return c.create(ctx, value)
	case choice < 6:
		return c.change(ctx, live, value)
	default:
		return c.remove(ctx, live)
	}
}

// replace deletes the object, if there is one, and creates another one.
func (h *history) replace(ctx context.Context, value string) error {
	live, err := h.live(ctx)
	if err != nil {
		return err
	}
	if live != nil {
		if err := h.remove(ctx, live); err != nil {
			return err
		}
	}
	return h.create(ctx, value)
}

func (h *history) create(ctx context.Context, value string) error {
	obj := (&unstructured.Unstructured{Object: h.subject.foreign}).DeepCopy()
	obj.SetName(h.subject.object)
	obj.SetLabels(map[string]string{valueLabel: value})
	end := h.invoke(input{op: foreignCreate, value: value})
	created, err := h.client.Create(ctx, obj, metav1.CreateOptions{FieldManager: "other"})
	if err != nil {
		end(output{result: failed, text: err.Error()})
		return nil //nolint:nilerr // it is part of the history
	}
	end(output{result: succeeded, uid: string(created.GetUID())})
	return nil
}
