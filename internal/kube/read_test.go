package kube

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// listing returns the cluster of a server with one list, whose watches report nothing. It counts the lists.
func listing(t *testing.T, path string, lists *atomic.Int32, items ...any) *Cluster {
	t.Helper()
	return clusterOf(t, kubetest.API{Answer: func(verb, asked string, request *http.Request) (int, any) {
		switch {
		case verb == "watch" && request.URL.Query().Get("sendInitialEvents") == "true":
			return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		case verb == "watch":
			<-request.Context().Done() // its end is not a list
			return http.StatusOK, map[string]any{}
		case asked != path:
			return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
		}
		lists.Add(1)
		return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "List",
			"metadata": map[string]any{"resourceVersion": "9"}, "items": append([]any{}, items...)}
	}})
}

const deploymentsPath = "/apis/apps/v1/namespaces/ml/deployments"

func TestObjectsOfAClusterScopedKindHaveNoNamespace(t *testing.T) {
	t.Parallel()
	fast := map[string]any{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		"metadata": map[string]any{"name": "fast", "resourceVersion": "5", "uid": "u"}}
	cluster := listing(t, "/apis/storage.k8s.io/v1/storageclasses", new(atomic.Int32), fast)
	ref := Ref{Kind: kind.StorageClass(), Namespace: "ml", Name: "fast"}
	all, err := cluster.Store.List(t.Context(), ref.Kind, ref.Namespace, nil)
	if err != nil || len(all) != 1 || all[0].Name != "fast" {
		t.Errorf("%v, %v", all, err)
	}
	collection := cluster.Store.collection(ref.Kind, ref.Namespace)
	if collection.scope.Namespace != "" || collection != cluster.Store.collection(ref.Kind, "") {
		t.Errorf("the scope is %+v", collection.scope)
	}
}

func TestSharedListIsObserved(t *testing.T) {
	t.Parallel()
	var lists atomic.Int32
	cluster := listing(t, deploymentsPath, &lists, kubetest.Deployment("5", 1).Object)
	other := Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "other"}
	changed := make(chan struct{}, 1)
	cancel := cluster.Store.Subscribe(kind.Deployment(), "ml", nil, changed)
	entries, err := cluster.Store.List(t.Context(), kind.Deployment(), "ml",
		func(e *Entry) bool { return e.Mentions(`"replicas":1`) })
	if err != nil || len(entries) != 1 || len(changed) != 1 {
		t.Errorf("%d objects, %d notifications, %v", len(entries), len(changed), err)
	}
	if !cluster.Store.Watches(trainer()) || cluster.Store.Watches(other) {
		t.Errorf("watches trainer: %t, other: %t", cluster.Store.Watches(trainer()), cluster.Store.Watches(other))
	}
	first, err := cluster.Store.GetShared(t.Context(), trainer())
	again, _ := cluster.Store.GetShared(t.Context(), trainer())
	if err != nil || first != again || first.GetName() != "trainer" {
		t.Errorf("shared %v and %v, %v", first, again, err)
	}
	cancel()
	<-changed
	if err := cluster.Store.collection(kind.Deployment(), "ml").Delete(kubetest.Deployment("12", 1)); err != nil {
		t.Fatal(err)
	}
	if !cluster.Store.SawDeletion(trainer(), "u") || cluster.Store.SawDeletion(trainer(), "v") || len(changed) > 0 {
		t.Errorf("deleted: %t, another: %t, %d notifications", cluster.Store.SawDeletion(trainer(), "u"),
			cluster.Store.SawDeletion(trainer(), "v"), len(changed))
	}
}

func TestCollectionIsListedAgainAfterSomeTime(t *testing.T) {
	t.Parallel()
	denied := &Error{Class: Denied, Err: errors.New("forbidden")}
	for name, test := range map[string]struct {
		told    told
		failure error
		after   time.Duration
		lists   int
	}{
		"after the limit":          {"list @9 a@5", nil, RelistTime, 1},
		"before the limit":         {"list @9 a@5", nil, RelistTime - 1, 0},
		"before the first list":    {"", nil, RelistTime, 0},
		"without permission":       {"list @9 a@5", denied, RelistTime, 0},
		"after a failure":          {"list @9 a@5", errors.New("refused"), RelistTime, 1},
		"an event before any list": {"add a@5", nil, RelistTime, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
			clock := clocktesting.NewFakeClock(time.Now())
			c.clock = clock
			lists := 0
			c.list = func() ([]any, string, error) { lists++; return nil, "10", nil }
			if test.told != "" {
				test.told.tell(t, c)
			}
			if test.failure != nil {
				c.failed(test.failure)
			}
			clock.Step(test.after - 1)
			told("add other@20").tell(t, c) // it does not show that no event was lost
			clock.Step(1)
			if c.refreshOld(t.Context()); lists != test.lists {
				t.Errorf("%d lists, want %d", lists, test.lists)
			}
			clock.Step(RelistTime)
			if c.refreshOld(t.Context()); test.lists > 0 && lists != test.lists+1 {
				t.Errorf("%d lists after the same time, want %d", lists, test.lists+1)
			}
		})
	}
}

func TestKindIsListedAgainAfterSomeTime(t *testing.T) {
	t.Parallel()
	var lists atomic.Int32
	cluster := listing(t, deploymentsPath, &lists, kubetest.Deployment("5", 1).Object)
	for _, want := range []int32{1, 2} {
		all, err := cluster.Store.List(t.Context(), kind.Deployment(), "ml", nil)
		if err != nil || len(all) != 1 || lists.Load() != want {
			t.Errorf("%d objects, %d lists, want %d; %v", len(all), lists.Load(), want, err)
		}
		cluster.API.clock.(*kubetest.Clock).Skip(RelistTime)
		cluster.Store.RefreshOld(t.Context(), kind.Deployment(), "ml")
	}
}

func TestListsRequestTheCurrentState(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"0": "", "": "", "7": "7"} {
		of := Kind{LabelSelector: "a=b", FieldSelector: "c=d"}
		got := selected(of, metav1.ListOptions{ResourceVersion: version, Limit: 3})
		expected := metav1.ListOptions{ResourceVersion: want, Limit: 3, LabelSelector: "a=b", FieldSelector: "c=d"}
		if got != expected {
			t.Errorf("version %q: %+v", version, got)
		}
	}
}

func TestObjectsAreReadAsATypeOrNotAtAll(t *testing.T) {
	t.Parallel()
	named := func(name string) any {
		obj := kubetest.Deployment("1", 1)
		obj.SetName(name)
		return obj.Object
	}
	other := kubetest.Deployment("1", 1)
	other.Object["spec"] = map[string]any{"replicas": "many"}
	for name, test := range map[string]struct {
		cluster *Cluster
		want    int // objects, -1 for an error
	}{
		"objects":   {listing(t, deploymentsPath, new(atomic.Int32), named("a"), named("b")), 2},
		"none":      {listing(t, deploymentsPath, new(atomic.Int32)), 0},
		"a failure": {serving(t, nil), -1},
		"an object of another type": {
			listing(t, deploymentsPath, new(atomic.Int32), named("a"), other.Object), -1,
		},
	} {
		found, err := ListAs[appsv1.Deployment](t.Context(), test.cluster.Store, kind.Deployment(), "ml", nil)
		if (err != nil) != (test.want < 0) || len(found) != max(test.want, 0) || (found == nil) != (err != nil) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

func TestReadsOfManyObjectsFailWithTheirList(t *testing.T) {
	t.Parallel()
	cluster := serving(t, nil)
	if all, err := cluster.Store.List(t.Context(), kind.Deployment(), "ml", nil); all != nil || ClassOf(err) != Denied {
		t.Errorf("%v, %v", all, err)
	}
}

func TestExistenceIsKnownOnlyFromTheServer(t *testing.T) {
	t.Parallel()
	path := map[string]any{kubetest.TrainerPath: kubetest.Deployment("1", 1)}
	failing := map[string]any{kubetest.TrainerPath: metav1.StatusReasonInternalError}
	for name, test := range map[string]struct {
		cluster       *Cluster
		exists, fails bool
	}{
		"it exists": {serving(t, path), true, false}, "it is missing": {serving(t, nil), false, false},
		"a failure": {serving(t, failing), false, true},
	} {
		exists, err := test.cluster.API.Exists(t.Context(), trainer())
		if exists != test.exists || (err != nil) != test.fails {
			t.Errorf("%s: %t, %v", name, exists, err)
		}
	}
}

func TestListedSecretHasOnlyMetadata(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/namespaces/ml/secrets"
	item := map[string]any{"metadata": map[string]any{"namespace": "ml", "name": "token", "uid": "u",
		"resourceVersion": "7"}}
	for name, test := range map[string]struct {
		cluster *Cluster
		want    types.UID // "" for none
		fails   bool
	}{
		"listed":             {listing(t, path, new(atomic.Int32), item), "u", false},
		"not listed":         {listing(t, path, new(atomic.Int32)), "", false},
		"without permission": {serving(t, nil), "", false},
		"without a response": {clusterAt(t, "http://"+kubetest.UnusedAddress(t)), "", true},
	} {
		live, err := test.cluster.Store.SecretMetadata(t.Context(), SecretRef("ml", "token"))
		var uid types.UID
		if live != nil {
			uid = live.GetUID()
		}
		if uid != test.want || (err != nil) != test.fails {
			t.Errorf("%s: %v, %v", name, live, err)
		}
	}
}

func TestObjectIsConvertedToItsType(t *testing.T) {
	t.Parallel()
	deployment, err := As[appsv1.Deployment](kubetest.Deployment("1", 1), nil)
	if err != nil || deployment.Name != "trainer" {
		t.Errorf("%+v, %v", deployment, err)
	}
	other := &unstructured.Unstructured{Object: map[string]any{"spec": "text"}}
	if _, err := As[appsv1.Deployment](other, nil); err == nil {
		t.Error("a text was converted")
	}
	unread := errors.New("unread")
	if nothing, err := As[appsv1.Deployment](nil, unread); nothing != nil || !errors.Is(err, unread) {
		t.Errorf("%v, %v", nothing, err)
	}
}
