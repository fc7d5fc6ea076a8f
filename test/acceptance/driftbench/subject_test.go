package driftbench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	k8s "k8s.io/client-go/dynamic"
	builtin "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/test/acctest/paths"
)

// A subject is one resource in the state.
type subject struct {
	specimen

	name    string // unlike that of the specimen, with the number of the copy
	copy    int
	address string
	more    string // attributes that a later round adds
	objects []*object
	golden  golden
	todo    []task
}

// An object is one of the objects that a resource applies.
type object struct {
	title  string // the name in warnings
	kind   string
	client k8s.ResourceInterface
	name   string
	custom bool
	sent   map[string]any // what the provider applied
}

// A task is one mutation of one object.
type task struct {
	object *object
	mutation
}

// subjects returns the copies of all specimens.
func subjects() []*subject {
	var all []*subject
	for _, s := range specimens() {
		if s.resource == "" {
			s.resource = "kt_compute"
		}
		for i := range max(1, s.copies) {
			one := &subject{specimen: s, name: fmt.Sprintf("%s-%d", s.name, i), copy: i}
			one.address = s.resource + "." + one.name
			all = append(all, one)
		}
	}
	return all
}

// clients creates API clients for the objects of a cluster.
type clients struct {
	dynamic k8s.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newClients(t *testing.T, kubeconfig string) clients {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst, config.WarningHandler = 500, 1000, rest.NoWarnings{}
	client, err := k8s.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients{dynamic: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))}
}

// object returns the object for one text of the attribute manifests.
func (c clients) object(t *testing.T, text string) *object {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	gvk := obj.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		t.Fatal(err)
	}
	return &object{
		title: gvk.Kind + " " + strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/"), kind: gvk.Kind,
		client: c.dynamic.Resource(mapping.Resource).Namespace(obj.GetNamespace()), name: obj.GetName(),
		custom: isCustom(gvk),
		sent:   obj.Object,
	}
}

// isCustom reports whether a CRD defines the kind.
func isCustom(gvk schema.GroupVersionKind) bool { return !builtin.Scheme.Recognizes(gvk) }

func (o *object) get(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	obj, err := o.client.Get(t.Context(), o.name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("%s: %v", o.title, err)
	}
	return obj
}

// owned returns what the provider owns of the objects.
func (s *subject) owned(t *testing.T) golden {
	t.Helper()
	out := golden{}
	for _, o := range s.objects {
		set, err := liveFields(o.get(t), o.sent)
		if err != nil {
			t.Fatalf("%s: %v", o.title, err)
		}
		out[s.objectTitle(o)] = set
	}
	return out
}

// learn fills todo with the mutations of the objects that are assigned to this copy.
func (s *subject) learn(t *testing.T, random *rand.Rand, seed uint64) {
	t.Helper()
	n := 0
	for _, o := range s.objects {
		owned := s.golden[s.objectTitle(o)]
		within := func(path fieldpath.Path, where []any) bool {
			text, err := pathText(path)
			return err == nil && slices.Contains(owned[text], stepsText(where))
		}
		for _, m := range mutations(o.get(t).Object, owned.paths(t), within, o.custom, seed) {
			if n++; n%max(1, s.copies) == s.copy {
				s.todo = append(s.todo, task{o, m})
			}
		}
	}
	random.Shuffle(len(s.todo), func(i, j int) { s.todo[i], s.todo[j] = s.todo[j], s.todo[i] })
}

// An act is a mutation that was carried out.
type act struct {
	task

	subject *subject
	manager string
	how     string
	before  *unstructured.Unstructured
	after   *unstructured.Unstructured // nil unless the mutation was an update
}

func (a act) String() string {
	text := fmt.Sprintf("%s, %s: %s: %s (%s by %s)", a.subject.address, a.object.title, a.class, a.what, a.how,
		a.manager)
	if a.after != nil {
		text += "\n      " + shortened(difference(content(a.before), content(a.after)), 300)
	}
	return text
}

func shortened(text string, most int) string {
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// next executes the next mutation that the server accepts and that changes the
// object. ok is false if none is left.
func (s *subject) next(t *testing.T, random *rand.Rand, wanted func(mutation) bool) (done act, ok bool) {
	t.Helper()
	var later []task
	defer func() { s.todo = append(later, s.todo...) }()
	for len(s.todo) > 0 {
		task := s.todo[0]
		s.todo = s.todo[1:]
		if !wanted(task.mutation) {
			later = append(later, task)
			continue
		}
		a := act{task: task, subject: s, before: task.object.get(t)}
		if a.try(t, random) {
			return a, true
		}
	}
	return act{}, false
}

// try makes the change by deletion, server-side apply or update, and reports whether the server accepts it.
func (a *act) try(t *testing.T, random *rand.Rand) bool {
	t.Helper()
	ctx, client, name := t.Context(), a.object.client, a.object.name
	switch {
	case a.deletes:
		a.manager, a.how = "nobody", "delete"
		err := client.Delete(ctx, name, metav1.DeleteOptions{})
		return err == nil
	case a.status:
		a.manager, a.how = "controller", "status"
		_, err := client.Patch(ctx, name, types.MergePatchType, []byte(`{"status": {"observedGeneration": 77}}`),
			metav1.PatchOptions{FieldManager: a.manager}, "status")
		return err == nil
	case len(a.parts) > 0 && (random.IntN(3) == 0 || !a.must) && a.apply(t):
		return true
	}
	return a.update(t, random)
}

// apply writes only the first part that the server accepts, by server-side apply.
func (a *act) apply(t *testing.T) bool {
	t.Helper()
	a.manager, a.how = "argocd-controller", "apply"
	for _, part := range a.parts {
		data, err := json.Marshal(part())
		if err != nil {
			t.Fatal(err)
		}
		force := true
		now, err := a.object.client.Patch(t.Context(), a.object.name, types.ApplyPatchType, data,
			metav1.PatchOptions{FieldManager: a.manager, Force: &force})
		if err == nil && (!a.must || !fields.SameContent(now, a.before)) {
			return true
		}
	}
	return false
}

// update writes the first variant that the server accepts.
func (a *act) update(t *testing.T, random *rand.Rand) bool {
	t.Helper()
	a.manager, a.how = []string{"kubectl-edit", "kubectl-set", "helm"}[random.IntN(3)], "update"
	for _, variant := range a.variants {
		written := variant()
		if written == nil {
			continue
		}
		now, err := a.object.client.Update(t.Context(), withContent(written, a.before),
			metav1.UpdateOptions{FieldManager: a.manager})
		// A variant has the annotations that controllers had written when it was made. Writing these is no mutation.
		if err != nil || difference(content(now), content(a.before)) == "" {
			continue
		}
		if _, defaulted := paths.At(now.Object, a.removes); a.removes != nil && defaulted {
			a.shows = []string{changed(a.removes)}
		}
		a.after = now
		return true
	}
	return false
}

// withContent returns a live object with its content replaced.
func withContent(content map[string]any, live *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	out.SetResourceVersion(live.GetResourceVersion())
	out.SetManagedFields(live.GetManagedFields())
	out.SetUID(live.GetUID())
	out.SetCreationTimestamp(live.GetCreationTimestamp())
	if status, ok := live.Object["status"]; ok {
		out.Object["status"] = status
	}
	return out
}

// undo reverts a foreign change.
func (a act) undo(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if a.how == "apply" {
		meta := map[string]any{"name": a.before.GetName(), "namespace": a.before.GetNamespace()}
		data, _ := json.Marshal(map[string]any{"apiVersion": a.before.GetAPIVersion(), "kind": a.before.GetKind(),
			"metadata": meta})
		if _, err := a.object.client.Patch(ctx, a.object.name, types.ApplyPatchType, data,
			metav1.PatchOptions{FieldManager: a.manager}); err != nil {
			t.Errorf("cannot revert %s: %v", a, err)
		}
	}
	if !fields.SameContent(a.object.get(t), a.before) {
		// A controller may write the status between the two requests.
		if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			_, err := a.object.client.Update(ctx, withContent(a.before.Object, a.object.get(t)),
				metav1.UpdateOptions{FieldManager: "undo"})
			return err
		}); err != nil {
			t.Errorf("cannot revert %s: %v", a, err)
		}
	}
}

// unrepaired describes the differences from the object before the change.
func (a act) unrepaired(t *testing.T) string {
	t.Helper()
	now, err := a.object.client.Get(t.Context(), a.object.name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	if a.deletes {
		return ""
	}
	if a.leavesItem {
		set, _, err := fields.Owned(a.before)
		if err != nil {
			t.Fatal(err)
		}
		return difference(fields.Project(a.before.Object, set), fields.Project(now.Object, set))
	}
	return difference(content(a.before), content(now))
}

// content returns the object without the fields that servers and controllers write,
// and without the annotations of the creation: every repair restores one, and on a busy
// machine, a later run removes the other.
func content(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	annotations := out.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return key == kube.CreationAnnotation || key == kube.UnfinishedAnnotation ||
			strings.HasPrefix(key, "deployment.kubernetes.io/") ||
			strings.HasPrefix(key, "deprecated.daemonset.template.")
	})
	labels := out.GetLabels()
	out.Object["metadata"] = map[string]any{}
	if len(labels) > 0 {
		out.SetLabels(labels)
	}
	if len(annotations) > 0 {
		out.SetAnnotations(annotations)
	}
	delete(out.Object, "status")
	return out.Object
}

func difference(a, b any) string {
	var out []string
	differ(a, b, "", &out)
	return strings.Join(out, "; ")
}

func differ(a, b any, at string, out *[]string) {
	am, isMap := a.(map[string]any)
	bm, both := b.(map[string]any)
	if isMap && both {
		for _, key := range slices.Sorted(maps.Keys(mergedKeys(am, bm))) {
			differ(am[key], bm[key], at+"."+key, out)
		}
		return
	}
	al, isList := a.([]any)
	bl, both := b.([]any)
	if isList && both && len(al) == len(bl) {
		for i := range al {
			differ(al[i], bl[i], fmt.Sprintf("%s[%d]", at, i), out)
		}
		return
	}
	if ja, jb := fmt.Sprint(a), fmt.Sprint(b); ja != jb {
		*out = append(*out, fmt.Sprintf("%s was %s, is %s", at, ja, jb))
	}
}

func mergedKeys(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, b)
	return out
}
