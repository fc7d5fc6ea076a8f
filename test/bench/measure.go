package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// work is a part of a case while it is measured: the plans of a prepared state, or one life of its resources.
type work struct {
	*bench
	config

	senders []sender
	results []*result
}

// sender is the bench itself as a subject, which sends requests without Terraform.
type sender struct {
	subject
	config // of its resources
}

// result is the usage of one run.
type result struct {
	usage

	of       benchCase
	scenario scenario
	subject  subject
}

// measure measures a case in namespaces with a prefix.
func (b *bench) measure(ctx context.Context, c benchCase, prefix string) error {
	with := config{benchCase: c, prefix: prefix + "-plan", generation: answer.First, kubeconfig: b.cluster.kubeconfig}
	if c.has(plan, drift) {
		if err := b.measurePart(ctx, &work{bench: b, config: with}, (*work).prepared); err != nil {
			return err
		}
	}
	if !c.has(create, replan, update, destroy) {
		return nil
	}
	with.replicas = 1
	for i := range b.runs {
		with.prefix = fmt.Sprintf("%s-life-%d", prefix, i)
		w := &work{bench: b, config: with}
		if c.has(create, update, destroy) && b.profiles == "" {
			for j, s := range []subject{bare, requests, inTurn} {
				w.senders = append(w.senders, sender{s, with})
				w.senders[j].prefix = fmt.Sprintf("%s-sender-%d", with.prefix, j)
			}
		}
		if err := b.measurePart(ctx, w, (*work).applied); err != nil {
			return err
		}
	}
	return nil
}

// measurePart measures the steps of a part, and counts its requests.
func (b *bench) measurePart(ctx context.Context, w *work, steps func(*work, context.Context) error) error {
	defer os.RemoveAll(w.dirOf(""))
	if err := b.preparePrototypes(ctx, w.config); err != nil {
		return err
	}
	if err := b.cluster.makeNamespaces(ctx, w.config); err != nil {
		return err
	}
	if w.hasPeer() {
		if err := b.cluster.makeNamespaces(ctx, w.ofPeer()); err != nil {
			return err
		}
	}
	if err := w.configure(); err != nil {
		return err
	}
	if err := steps(w, ctx); err != nil {
		return err
	}
	if err := b.audit.read(); err != nil {
		return err
	}
	for _, r := range w.results {
		r.requests = b.audit.between(r.subject, r.start, r.end())
	}
	b.report.results = append(b.report.results, w.results...)
	return nil
}

// subjects are those that run the CLI. The echo provider is the first, while nothing happens in the cluster. The
// provider is not the last, so that the API server has logged its watches when a case ends.
func (w *work) subjects() []subject {
	if w.profiles != "" {
		return []subject{kt}
	}
	if w.hasPeer() {
		return []subject{echo, kt, builtin, peer}
	}
	return []subject{echo, kt, builtin}
}

// hasPeer reports whether the peer is measured. Since the bench cannot write its state, it has to create the objects
// before it plans, which takes minutes for each 1,000 computes: this is only done for the lines of the plot.
func (w *work) hasPeer() bool {
	if !w.peer || w.profiles != "" {
		return false
	}
	applies := w.replicas > 0
	return applies || w.family.name == families()[0].name && w.shape == blocks && w.size <= maxApplied
}

func (w *work) dirOf(s subject) string { return filepath.Join(w.dir, w.prefix, string(s)) }

func (w *work) configure() error {
	for _, s := range w.subjects() {
		c, write := w.config, config.write
		switch s {
		case builtin:
			c.builtin = true
		case peer:
			c, write = w.ofPeer(), w.writePeer
		default:
		}
		if err := write(c, w.dirOf(s)); err != nil {
			return err
		}
	}
	return nil
}

// prepared measures plans for a state that the bench writes.
func (w *work) prepared(ctx context.Context) error {
	w.progress("  creating the objects")
	objects, err := w.prepareObjects(ctx, w.config)
	if err != nil {
		return err
	}
	for _, s := range w.subjects() {
		if s == peer { // the bench cannot write its state
			if err := w.applyPeer(ctx, create, "apply"); err != nil {
				return err
			}
			continue
		}
		c := w.config
		c.builtin = s == builtin
		if err := w.writeState(c, objects, w.dirOf(s)); err != nil {
			return err
		}
	}
	if err := w.plans(ctx, plan, w.runs); err != nil {
		return err
	}
	if err := w.driftAndPlan(ctx); err != nil {
		return err
	}
	if w.hasPeer() {
		if err := w.applyPeer(ctx, destroy, "destroy"); err != nil {
			return err
		}
	}
	return w.sendEach(ctx, w.config, func(ctx context.Context, r request) error {
		return w.cluster.remove(ctx, r.of, r.object)
	})
}

// applyPeer creates or deletes the peer's objects for its plans. This is not measured.
func (w *work) applyPeer(ctx context.Context, s scenario, command string) error {
	says := map[scenario]string{create: "Resources: %d added, 0 changed", destroy: "Resources: %d destroyed"}[s]
	w.progress("  %s with %s, to plan", s.title(), peer)
	_, err := w.run(ctx, w.command(peer, fmt.Sprintf(says, w.peerResources(w.config)), command, "-auto-approve"))
	return err
}

// applied measures one life of resources that the CLI creates.
func (w *work) applied(ctx context.Context) error {
	if err := w.changeAll(ctx, create, "Resources: %d added, 0 changed, 0 destroyed"); err != nil {
		return err
	}
	if err := w.shareState(); err != nil {
		return err
	}
	if err := w.plans(ctx, replan, 1); err != nil {
		return err
	}
	if w.has(update) {
		w.generation = answer.Second
		for i := range w.senders {
			w.senders[i].generation = answer.Second
		}
		if err := w.configure(); err != nil {
			return err
		}
		if err := w.changeAll(ctx, update, "Resources: 0 added, %d changed, 0 destroyed"); err != nil {
			return err
		}
		if err := w.shareState(); err != nil {
			return err
		}
	}
	return w.changeAll(ctx, destroy, "Resources: %d destroyed")
}

// shareState gives the state of the provider to the echo provider.
func (w *work) shareState() error {
	if w.profiles != "" {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(w.dirOf(kt), "terraform.tfstate"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dirOf(echo), "terraform.tfstate"), data, 0o600)
}

// changeAll runs a scenario that changes all resources.
func (w *work) changeAll(ctx context.Context, s scenario, says string) error {
	args := []string{"apply", "-auto-approve"}
	if s == destroy {
		args = []string{"destroy", "-auto-approve"}
	}
	for _, of := range w.subjects() {
		if of == echo && !w.has(s) { // it has the state of the provider
			continue
		}
		w.progress("  %s with %s", s.title(), of)
		resources := w.size
		if of == peer {
			resources = w.peerResources(w.config)
		}
		used, err := w.run(ctx, w.command(of, fmt.Sprintf(says, resources), args...))
		if err != nil {
			return err
		}
		w.record(s, of, used)
	}
	if s == destroy && w.hasPeer() {
		if err := w.awaitPeersPods(ctx); err != nil {
			return err
		}
	}
	for _, one := range w.senders {
		w.progress("  %s with %s", s.title(), one.subject)
		start := time.Now()
		if err := w.send(ctx, one, s); err != nil {
			return err
		}
		if s != destroy || one.subject == requests { // the others delete likewise
			w.record(s, one.subject, usage{start: start, wall: time.Since(start)})
		}
	}
	return nil
}

// awaitPeersPods waits until the pods of the peer are deleted. The peer itself does not, and they would slow down what
// follows.
func (w *work) awaitPeersPods(ctx context.Context) error {
	always := func(*unstructured.Unstructured) bool { return true }
	return w.cluster.await(ctx, corev1.SchemeGroupVersion.WithResource("pods"), w.ofPeer().prefix+"-", always)
}

// send sends the requests of a scenario, and waits like the provider.
func (w *work) send(ctx context.Context, from sender, s scenario) error {
	if s == create {
		if err := w.cluster.makeNamespaces(ctx, from.config); err != nil {
			return err
		}
	}
	if s != destroy {
		return w.sendApplies(ctx, from, s)
	}
	err := w.sendEach(ctx, from.config, func(ctx context.Context, r request) error {
		return w.cluster.remove(ctx, r.of, r.object)
	})
	if err != nil {
		return err
	}
	return w.awaitAll(ctx, from.config, exists)
}

// sendApplies sends the requests of an apply: a dry run of each object for the plan, and its apply. A creation marks
// the first object of each resource, and removes the annotation again. The bare applies are without these.
func (w *work) sendApplies(ctx context.Context, from sender, s scenario) error {
	if from.subject != bare {
		err := w.sendEach(ctx, from.config, func(ctx context.Context, r request) error {
			_, err := w.cluster.apply(ctx, r.of, r.object, metav1.DryRunAll)
			return err
		})
		if err != nil {
			return err
		}
	}
	err := w.sendEach(ctx, from.config, func(ctx context.Context, r request) error {
		marks := s == create && r.first && from.subject != bare
		if marks {
			r.object = kube.MarkCreation(r.object, "bench")
		}
		live, err := w.cluster.apply(ctx, r.of, r.object)
		if err == nil && marks {
			err = w.cluster.unmarkCreation(ctx, r.of, r.object)
		}
		if err == nil && from.subject == inTurn { // as Terraform does before it starts with another resource
			err = w.cluster.awaitApplied(ctx, r.of, live, settles)
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.awaitAll(ctx, from.config, settles)
}

// driftAndPlan changes some objects and measures plans.
func (w *work) driftAndPlan(ctx context.Context) error {
	if !w.has(drift) {
		return nil
	}
	for i := 0; i < w.size; i += driftEvery {
		t, replacer := w.prototypeOf(w.config, i)
		object := t.objects[0]
		if err := w.cluster.label(ctx, object.resource, replacer.Replace(object.key), answer.Drifted); err != nil {
			return err
		}
	}
	return w.plans(ctx, drift, w.runs)
}

// plans measures plans with each subject, alternately.
func (w *work) plans(ctx context.Context, s scenario, runs int) error {
	if !w.has(s) {
		return nil
	}
	for i := range runs {
		w.progress("  %s, %d of %d", s.title(), i+1, runs)
		for _, of := range w.subjects() {
			if s == drift && of == peer { // its objects do not drift
				continue
			}
			says, env := "No changes.", []string(nil)
			if s == drift && of != builtin {
				says = fmt.Sprintf("Plan: 0 to add, %d to change, 0 to destroy.", w.drifted())
				env = []string{fmt.Sprintf("%s=%d", answer.DriftEvery, driftEvery)}
			}
			c := w.command(of, says, "plan", "-detailed-exitcode")
			c.env = append(c.env, env...)
			used, err := w.run(ctx, c)
			if err != nil {
				return err
			}
			w.record(s, of, used)
		}
	}
	return nil
}

func (w *work) command(s subject, says string, args ...string) command {
	c := command{dir: w.dirOf(s), subject: s, says: says, args: args}
	if w.profiles != "" {
		c.env = []string{"KT_BENCH_PROFILE=" + w.profiles}
	}
	return c
}

func (w *work) record(s scenario, of subject, u usage) {
	if w.has(s) {
		w.results = append(w.results, &result{u, w.benchCase, s, of})
	}
}
