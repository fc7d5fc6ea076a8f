package histories_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// history is a history of one object.
type history struct {
	subject subject
	ns      string
	client  dynamic.ResourceInterface
	started time.Time

	mu       sync.Mutex
	recorded []porcupine.Operation
	running  int
	paused   int
	changed  chan struct{} // closed with each response, and when a client ends
}

// Operations of each client.
const (
	runsOfState  = 7
	stepsOfOther = 24
)

// run runs two states and another client, which also observes the object.
func (h *history) run(t *testing.T, seed int64) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	clients := []func() error{}
	for i, name := range []string{"a", "b"} {
		s, err := newState(h, name, rand.New(rand.NewPCG(uint64(seed), uint64(i))))
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, func() error { return s.run(ctx, runsOfState) })
	}
	other := &otherClient{history: h, random: rand.New(rand.NewPCG(uint64(seed), 2))}
	clients = append(clients, func() error {
		for i := range stepsOfOther {
			if err := other.step(ctx, i); err != nil {
				return err
			}
			h.pause(ctx)
		}
		return nil
	})
	h.running = len(clients)
	for _, client := range clients {
		group.Go(func() error {
			defer h.ended()
			return client()
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := other.observe(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// invoke records an invocation. The result records the response.
func (h *history) invoke(in input) (end func(output)) {
	in.object, in.call = h.subject.typ, h.now()
	return func(out output) {
		in.end = h.now()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.recorded = append(h.recorded, porcupine.Operation{Input: in, Output: out, Call: in.call, Return: in.end})
		h.wakeLocked()
	}
}

func (h *history) now() int64 { return int64(time.Since(h.started)) }

func (h *history) operations() []porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recorded
}

func (h *history) wakeLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *history) ended() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	h.wakeLocked()
}

// pause waits for the response to an operation of another client, unless all others wait as well.
func (h *history) pause(ctx context.Context) {
	h.mu.Lock()
	h.paused++
	if h.paused >= h.running {
		h.wakeLocked()
	}
	changed, last := h.changed, h.paused >= h.running
	h.mu.Unlock()
	if !last {
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.paused--
}

// live returns the live object, or nil.
func (h *history) live(ctx context.Context) (*unstructured.Unstructured, error) {
	live, err := h.client.Get(ctx, h.subject.object, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// observe records what the server has. An object that is being deleted is not recorded: its deletion takes effect at
// its end.
func (h *history) observe(ctx context.Context) error {
	end := h.invoke(input{op: observe})
	live, err := h.live(ctx)
	switch {
	case err != nil:
		return err
	case live == nil:
		end(output{result: succeeded})
	case live.GetDeletionTimestamp() == nil:
		end(output{result: succeeded, uid: string(live.GetUID()), value: live.GetLabels()[valueLabel]})
	}
	return nil
}

// change writes the value into an object, unless it was replaced.
func (h *history) change(ctx context.Context, live *unstructured.Unstructured, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": live.GetUID(),
		"labels": map[string]any{valueLabel: value}}})
	if err != nil {
		return err
	}
	end := h.invoke(input{op: foreignChange, held: string(live.GetUID()), value: value})
	_, err = h.client.Patch(ctx, h.subject.object, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "other"})
	end(resultOf(err))
	return nil
}

// remove deletes an object, unless it was replaced, and waits until it is gone.
func (h *history) remove(ctx context.Context, live *unstructured.Unstructured) error {
	uid := live.GetUID()
	end := h.invoke(input{op: foreignDelete, held: string(uid)})
	err := h.client.Delete(ctx, h.subject.object, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	for err == nil {
		var now *unstructured.Unstructured
		now, err = h.live(ctx)
		if err == nil && (now == nil || now.GetUID() != uid) {
			break
		}
	}
	end(resultOf(err))
	return nil
}

func resultOf(err error) output {
	if err != nil {
		return output{result: failed, text: err.Error()}
	}
	return output{result: succeeded}
}
