package kube

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// stored returns an object as the server returns it.
func stored(name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "ml", "name": name, "uid": "uid of " + name,
			"resourceVersion": version, "labels": map[string]any{kind.ManagedByLabel: kind.ManagedByValue}},
	}}
}

// told is a change of a collection, such as add a@5 or list @7 a@5 b@6.
type told string

func (s told) tell(t *testing.T, c *collection) {
	t.Helper()
	verb, rest, _ := strings.Cut(string(s), " ")
	var objects []any
	version := ""
	for word := range strings.FieldsSeq(rest) {
		name, at, _ := strings.Cut(word, "@")
		if name == "" {
			version = at
			continue
		}
		objects = append(objects, stored(name, at))
	}
	var err error
	switch verb {
	case "add":
		err = c.Add(objects[0])
	case "update":
		err = c.Update(objects[0])
	case "delete":
		err = c.Delete(objects[0])
	case "list":
		err = c.Replace(objects, version)
	case "wrote":
		var e *Entry
		if e, err = asEntry(objects[0]); err == nil {
			c.wrote(e)
		}
	default:
		t.Fatalf("unknown verb %q", verb)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A watch does not report later changes of such an object, so it is read individually.
func TestCollectionLacksWrittenObjectsThatItDoesNotSelect(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	told("list @9").tell(t, c)
	adopted := stored("a", "10")
	adopted.SetLabels(nil)
	e, err := asEntry(adopted)
	if err != nil {
		t.Fatal(err)
	}
	c.wrote(e)
	if _, there := c.get(types.NamespacedName{Namespace: "ml", Name: "a"}); there {
		t.Error("it contains an object that it does not select")
	}
}

func TestCollectionIsNeverOlderThanTheLastWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		told []told
		want string
	}{
		"a list":                                      {[]told{"list @9 a@5 b@6"}, "a@5 b@6"},
		"a newer list replaces":                       {[]told{"list @9 a@5 b@6", "list @12 a@11"}, "a@11"},
		"an older list keeps a written object":        {[]told{"wrote a@10", "list @9 a@5"}, "a@10"},
		"an older list keeps a created object":        {[]told{"wrote a@10", "list @9"}, "a@10"},
		"a newer list drops a deleted object":         {[]told{"wrote a@10", "list @11"}, ""},
		"a newer event":                               {[]told{"list @9 a@5", "update a@10"}, "a@10"},
		"a late event from before a write":            {[]told{"list @9 a@5", "wrote a@12", "update a@10"}, "a@12"},
		"the event of a write":                        {[]told{"list @9 a@5", "wrote a@12", "update a@12"}, "a@12"},
		"an event before the response to a write":     {[]told{"list @9 a@5", "update a@13", "wrote a@12"}, "a@13"},
		"versions are compared as numbers":            {[]told{"list @9 a@9", "wrote a@10", "update a@9"}, "a@10"},
		"a deletion":                                  {[]told{"list @9 a@5", "delete a@10"}, ""},
		"a late deletion of a recreated object":       {[]told{"list @9 a@5", "wrote a@12", "delete a@10"}, "a@12"},
		"a deletion before the response to a write":   {[]told{"list @9", "add a@12", "delete a@13", "wrote a@12"}, ""},
		"a list before the response to a write":       {[]told{"list @12", "wrote a@10"}, ""},
		"a write after a deletion":                    {[]told{"list @9 a@5", "delete a@10", "wrote a@12"}, "a@12"},
		"a deletion of an unknown object":             {[]told{"list @9 a@5", "delete b@10"}, "a@5"},
		"a late event of an object missing in a list": {[]told{"list @9 a@5", "list @12", "update a@10"}, ""},
		"a list that started before another":          {[]told{"list @12 b@11", "list @9 a@5"}, "b@11"},
		"a list older than a deletion":                {[]told{"list @9 a@5", "delete a@13", "list @11 a@5"}, ""},
		"events from before a deletion, after an older list": {
			[]told{"list @9 a@5", "update a@12", "delete a@13", "list @11 a@5", "update a@12"}, ""},
		"a list older than an event": {[]told{"list @9 a@5", "update a@13", "list @11 a@5 b@10"},
			"a@13 b@10"},
		"a list older than an event, after a deletion that the watch lost": {
			[]told{"list @9 a@5 b@6", "update a@13", "list @11 a@5"}, "a@13"},
		"a list older than a deletion, with the object again": {
			[]told{"list @9 a@5", "delete a@13", "add a@14", "list @11 a@5"}, "a@14"},
		"a list between two events": {[]told{"list @9 a@5", "update b@11", "delete a@13", "list @12 a@5 b@11"},
			"b@11"},
		"a list as new as a deletion":     {[]told{"list @9 a@5", "delete a@13", "list @13 b@12"}, "b@12"},
		"a write does not outdate a list": {[]told{"list @9 a@5", "wrote b@14", "list @11"}, "b@14"},
		"the first list, after an event":  {[]told{"add a@13", "list @11 b@4"}, "a@13 b@4"},
		"a write, and an older list":      {[]told{"list @12 b@11", "wrote a@14", "list @9"}, "a@14 b@11"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
			for _, s := range test.told {
				s.tell(t, c)
			}
			var have []string
			for _, e := range c.filter("ml", nil) {
				have = append(have, e.Name+"@"+e.ResourceVersion)
			}
			slices.Sort(have)
			if got := strings.Join(have, " "); got != test.want {
				t.Errorf("has %q, want %q", got, test.want)
			}
		})
	}
}

func TestCollectionFindsObjectsByTheNamesThatTheyBelongTo(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Event(), Namespace: "ml"})
	find := func(names ...string) string {
		var found []string
		for _, e := range c.filter("ml", nil, names...) {
			found = append(found, e.Name+"@"+e.ResourceVersion)
		}
		slices.Sort(found)
		return strings.Join(found, " ")
	}
	told("list @9 train@1 train-7d@2 train-7d-x.17f@3 trainer@4 head.17f@5 x-1@5").tell(t, c)
	pod := stored("head-xyz", "10")
	pod.SetLabels(map[string]string{kind.ServiceLabel: "train"})
	_ = c.Add(pod)
	for _, step := range []struct {
		told  told
		names []string
		want  string
	}{
		{"", []string{"train"}, "head-xyz@10 train-7d-x.17f@3 train-7d@2 train@1"},
		{"", []string{"train-7d"}, "train-7d-x.17f@3 train-7d@2"},
		{"", []string{"trainer"}, "trainer@4"},
		{"", []string{"x"}, "x-1@5"},
		{"", []string{"head"}, "head-xyz@10 head.17f@5"},
		{"", []string{"head", "head-xyz", "trainer"}, "head-xyz@10 head.17f@5 trainer@4"},
		{"", []string{"trai", "17f", "-", ""}, ""},
		{"add train-8@11", []string{"train"}, "head-xyz@10 train-7d-x.17f@3 train-7d@2 train-8@11 train@1"},
		{"update head-xyz@12", []string{"train"}, "train-7d-x.17f@3 train-7d@2 train-8@11 train@1"},
		{"delete train-7d@13", []string{"train-7d"}, "train-7d-x.17f@3"},
		{"list @20 train-9@13 head@14", []string{"train", "head"}, "head@14 train-9@13"},
		{"", nil, "head@14 train-9@13"},
	} {
		if step.told != "" {
			step.told.tell(t, c)
		}
		if got := find(step.names...); got != step.want {
			t.Errorf("after %q, %v: %q, want %q", step.told, step.names, got, step.want)
		}
	}
}

func TestCollectionNotifiesWaitersOfAChange(t *testing.T) {
	t.Parallel()
	for _, s := range []told{"add a@5", "update a@6", "delete a@7", "list @8 a@5", "wrote a@9"} {
		c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
		changed := make(chan struct{}, 1)
		c.subscribe(nil, changed)
		s.tell(t, c)
		select {
		case <-changed:
		default:
			t.Errorf("%q notified no waiter", s)
		}
	}
}

func TestCollectionNotifiesWaitersOnlyOfTheirObjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		told told
		want bool
	}{
		{"add a@5", true}, {"update b@6", false}, {"delete b@7", false}, {"delete a@8", true}, {"wrote a@9", true},
		{"add b@10", false}, {"list @11 b@10", true},
	} {
		col := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
		changed, ended := make(chan struct{}, 1), make(chan struct{}, 1)
		named := func(e *Entry) bool { return e.Name == "a" }
		col.subscribe(named, ended)()
		col.subscribe(named, changed)
		for range 2 { // the second one finds a full channel, and must not block
			c.told.tell(t, col)
		}
		if got := len(changed) == 1; got != c.want || len(ended) > 0 {
			t.Errorf("%q: notified %t, want %t; notified after the end: %t", c.told, got, c.want, len(ended) > 0)
		}
	}
}

// A wait that selects by labels has to learn that an object no longer has them.
func TestCollectionNotifiesWaitersOfTheFormerLabels(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Pod(), Namespace: "ml"})
	object := stored("a", "5")
	object.SetLabels(map[string]string{"app": "trainer"})
	_ = c.Add(object)
	changed := make(chan struct{}, 1)
	c.subscribe(func(e *Entry) bool { return e.Labels["app"] == "trainer" }, changed)
	if _ = c.Add(stored("a", "6")); len(changed) != 1 {
		t.Error("not notified")
	}
}

func TestFailureOfAWatchNotifiesAllWaiters(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	changed := make(chan struct{}, 1)
	c.subscribe(func(*Entry) bool { return false }, changed)
	if c.failed(errors.New("connection refused")); len(changed) != 1 {
		t.Error("not notified of the failure")
	}
	<-changed
	if told("add a@5").tell(t, c); len(changed) != 1 {
		t.Error("not notified of the recovery")
	}
}

func TestCollectionIsReadyAfterItsFirstList(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.ready(ended); ClassOf(err) != Canceled {
		t.Errorf("before the first list: got %v, want the end of the context", err)
	}
	outage := errors.New("connection refused")
	c.failed(outage)
	if err := c.ready(t.Context()); !errors.Is(err, outage) {
		t.Errorf("during an outage: got %v", err)
	}
	if told("delete b@10").tell(t, c); c.err != nil {
		t.Errorf("after an event: %v", c.err)
	}
	told("list @9 a@5").tell(t, c)
	if err := c.ready(ended); err != nil {
		t.Errorf("after the first list: %v", err)
	}
}

func TestOldListEndsAnOutageAndNotifiesWaiters(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	told("list @9 a@5").tell(t, c)
	told("delete a@13").tell(t, c)
	c.failed(errors.New("connection refused"))
	changed := make(chan struct{}, 1)
	c.subscribe(func(*Entry) bool { return false }, changed)
	told("list @11 a@5").tell(t, c)
	select {
	case <-changed:
	default:
		t.Error("no waiter was notified")
	}
	if err := c.ready(t.Context()); err != nil || c.listed != "11" || c.latest != "13" {
		t.Errorf("listed %s, latest %s, error %v", c.listed, c.latest, err)
	}
}

func TestListThatCompletesAfterAccessWasRevokedIsDiscarded(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	denied := &Error{Class: Denied, Err: errors.New("forbidden")}
	told("list @9 a@5").tell(t, c)
	c.list = func() ([]any, string, error) {
		c.failed(denied)
		return []any{stored("a", "5")}, "11", nil
	}
	c.refresh(t.Context())
	if err := c.ready(t.Context()); !errors.Is(err, denied) || len(c.filter("", nil)) > 0 {
		t.Errorf("%d objects, and the error %v", len(c.filter("", nil)), err)
	}
}

// An empty collection without an error means that all objects were deleted.
func TestObjectsAreDroppedTogetherWithTheReason(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	denied := &Error{Class: Denied, Err: errors.New("forbidden")}
	told("list @9 a@5").tell(t, c)
	c.failed(denied)
	_, there := c.get(types.NamespacedName{Namespace: "ml", Name: "a"})
	if there || !c.denied || !errors.Is(c.err, denied) {
		t.Errorf("the object is kept: %t, denied: %t, error: %v", there, c.denied, c.err)
	}
	c.failed(errors.New("connection refused"))
	if err := c.ready(t.Context()); !errors.Is(err, denied) {
		t.Errorf("after an outage: %v", err)
	}
}

func TestEntriesContainTheCompleteObject(t *testing.T) {
	t.Parallel()
	obj := stored("a", "5")
	obj.SetLabels(map[string]string{"team": "ml"})
	e, err := asEntry(obj)
	if err != nil {
		t.Fatal(err)
	}
	back, err := e.Object()
	if err != nil {
		t.Fatal(err)
	}
	if back.GetName() != "a" || back.GetLabels()["team"] != "ml" || e.Labels["team"] != "ml" ||
		back.GetResourceVersion() != "5" {
		t.Errorf("got %v from %v", back, e)
	}
	if again, err := asEntry(e); err != nil || again != e || e.DeepCopyObject() != e {
		t.Errorf("an entry is %v, %v", again, err)
	}
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	if err := c.Add(obj); err != nil || !reflect.DeepEqual(c.entries.List(), []any{e}) {
		t.Errorf("the collection stores %v, %v", c.entries.List(), err)
	}
	c = newCollection(c.scope)
	noJSON := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "x", "spec": func() {}}}
	for _, other := range []any{"a string", noJSON} {
		if _, err := asEntry(other); err == nil {
			t.Errorf("%T was accepted as an object", other)
		}
		if c.Add(other) == nil || c.Update(other) == nil || c.Delete(other) == nil ||
			c.Replace([]any{other}, "9") == nil || c.synced {
			t.Errorf("a collection accepted a %T", other)
		}
	}
	if _, err := namesOf("a string"); err == nil {
		t.Error("a string belongs to names")
	}
	if _, err := (&Entry{json: []byte("[]")}).Object(); err == nil {
		t.Error("a list was decoded as an object")
	}
}

func TestEntriesAreDecodedOnce(t *testing.T) {
	t.Parallel()
	e, err := asEntry(stored("a", "5"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := decodeAs[appsv1.Deployment](e)
	if err != nil || first.Name != "a" {
		t.Fatal(first, err)
	}
	if again, err := decodeAs[appsv1.Deployment](e); err != nil || again != first {
		t.Errorf("decoded again: %v", err)
	}
	if other, err := decodeAs[metav1.PartialObjectMetadata](e); err != nil || other.Name != "a" {
		t.Errorf("as another type: %v, %v", other, err)
	}
}

func TestDeletionSeenByTheWatchAppliesToThatObjectOnly(t *testing.T) {
	t.Parallel()
	col := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	if err := col.Replace([]any{kubetest.Deployment("1", 0)}, "1"); err != nil {
		t.Fatal(err)
	}
	expect := func(when string, uid types.UID, want bool) {
		t.Helper()
		if got := col.sawDeletion(types.NamespacedName{Namespace: "ml", Name: "trainer"}, uid); got != want {
			t.Errorf("%s: %s is deleted: %t, want %t", when, uid, got, want)
		}
	}
	expect("while it is there", "u", false)
	if err := col.Delete(kubetest.Deployment("2", 0)); err != nil {
		t.Fatal(err)
	}
	expect("after its deletion", "u", true)
	expect("after the deletion of another", "v", false)
	next := kubetest.Deployment("3", 0)
	next.SetUID("v")
	if err := col.Add(next); err != nil {
		t.Fatal(err)
	}
	expect("while there is another of its name", "u", false)
}
