package kube

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// newNames is an API server without objects, on whose dry runs a creation succeeds. It counts its lists.
func newNames(t *testing.T, lists *int) (*Cluster, *clocktesting.FakeClock) {
	t.Helper()
	fake := clocktesting.NewFakeClock(time.Now())
	return clusterOf(t, kubetest.API{Answer: func(verb, _ string, _ *http.Request) (int, any) {
		if verb == "patch" {
			return http.StatusCreated, kubetest.Deployment("", 0)
		}
		*lists++
		return http.StatusOK, namesTable("other")
	}}).WithClock(fake), fake
}

func TestAbsenceIsKnownForFifteenSecondsAfterADryRun(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]int{0: 0, 15*time.Second - 1: 0, 15 * time.Second: 1} {
		lists := 0
		cluster, fake := newNames(t, &lists)
		if _, created, err := cluster.DryRunNew(t.Context(), kubetest.Deployment("", 0)); err != nil || !created {
			t.Fatalf("created %t, %v", created, err)
		}
		fake.Step(after)
		if live, err := cluster.Look(t.Context(), trainer()); err != nil || live != nil || lists != want {
			t.Errorf("after %v: %v, %v, %d lists, want %d", after, live, err, lists, want)
		}
	}
}

func TestObjectInTheSharedListIsReadAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	cluster := listing(t, deploymentsPath, &asked, kubetest.Deployment("5", 1).Object)
	if _, err := cluster.Store.List(t.Context(), kind.Deployment(), "ml", nil); err != nil {
		t.Fatal(err)
	}
	if live, err := cluster.Look(t.Context(), trainer()); live != nil || ClassOf(err) != KindMissing ||
		asked.Load() != 1 {
		t.Errorf("%v, %v after %d lists", live, err, asked.Load())
	}
}

func TestListOfNamesIsValidForFifteenSeconds(t *testing.T) {
	t.Parallel()
	lists := 0
	cluster, fake := newNames(t, &lists)
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {15*time.Second - 1, 1}, {1, 2}} {
		fake.Step(step.after)
		if live, err := cluster.Look(t.Context(), trainer()); err != nil || live != nil || lists != step.want {
			t.Errorf("%v, %v, %d lists, want %d", live, err, lists, step.want)
		}
	}
}

func TestNamesAreReadOnlyFromACompleteTable(t *testing.T) {
	t.Parallel()
	const columns = `"columnDefinitions":[{"name":"Name","format":"name"},{"name":"Age"}]`
	for name, test := range map[string]struct {
		data string
		want string // the names; "unknown" for none
	}{
		"names":             {`{"kind":"Table",` + columns + `,"rows":[{"cells":["a","1d"]},{"cells":["b"]}]}`, "a b"},
		"no objects":        {`{"kind":"Table"}`, ""},
		"one of many pages": {`{"kind":"Table","metadata":{"continue":"x"}}`, "unknown"},
		"a list":            {`{"kind":"PodList"}`, "unknown"},
		"text":              {`no`, "unknown"},
		"no column of names": {`{"kind":"Table","columnDefinitions":[{"name":"Age"}],"rows":[{"cells":["1d"]}]}`,
			"unknown"},
		"a row without cells": {`{"kind":"Table",` + columns + `,"rows":[{"cells":[]}]}`, "unknown"},
		"a row of numbers":    {`{"kind":"Table",` + columns + `,"rows":[{"cells":[1]}]}`, "unknown"},
	} {
		var got []string
		names := namesIn([]byte(test.data))
		for _, name := range []string{"a", "b", "1d"} {
			if names[name] {
				got = append(got, name)
			}
		}
		text := strings.Join(got, " ")
		if names == nil {
			text = "unknown"
		}
		if text != test.want {
			t.Errorf("%s: %q, want %q", name, text, test.want)
		}
	}
}

func TestFailedListOfNamesIsNotRequestedAgain(t *testing.T) {
	t.Parallel()
	lists := 0
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, _ *http.Request) (int, any) {
		if verb == "list" {
			lists++
		}
		return kubetest.Failing(http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}})
	for range 2 {
		if live, err := cluster.Look(t.Context(), trainer()); ClassOf(err) != Invalid {
			t.Errorf("%v, %v", live, err)
		}
	}
	if lists != 1 {
		t.Errorf("%d lists, want 1", lists)
	}
	if _, created, err := cluster.DryRunNew(t.Context(), kubetest.Deployment("", 0)); ClassOf(err) != Invalid ||
		created {
		t.Errorf("created %t, %v", created, err)
	}
}

// operations returns all operations on an object.
func operations(obj *unstructured.Unstructured, ref Ref) map[string]func(context.Context, *Cluster) error {
	all := map[string]func(context.Context, *Cluster) error{
		"apply":       func(ctx context.Context, c *Cluster) error { _, err := c.Apply(ctx, obj); return err },
		"dry run":     func(ctx context.Context, c *Cluster) error { _, err := c.DryRun(ctx, obj); return err },
		"dry run new": func(ctx context.Context, c *Cluster) error { _, _, err := c.DryRunNew(ctx, obj); return err },
		"apply new":   func(ctx context.Context, c *Cluster) error { _, err := c.ApplyNew(ctx, obj); return err },
		"compare": func(ctx context.Context, c *Cluster) error {
			_, err := c.ApplyChangesNothing(ctx,
				obj)
			return err
		},
		"look":       func(ctx context.Context, c *Cluster) error { _, err := c.Look(ctx, ref); return err },
		"read":       func(ctx context.Context, c *Cluster) error { _, err := c.Store.Get(ctx, ref); return err },
		"get":        func(ctx context.Context, c *Cluster) error { _, err := c.API.Get(ctx, ref); return err },
		"list":       func(ctx context.Context, c *Cluster) error { _, _, err := c.Store.list(ctx, ref); return err },
		"delete":     func(ctx context.Context, c *Cluster) error { return c.Delete(ctx, ref, "u") },
		"delete pod": func(ctx context.Context, c *Cluster) error { return c.DeleteInBackground(ctx, ref, "u") },
		"evict":      func(ctx context.Context, c *Cluster) error { return c.Evict(ctx, "ml", "trainer-0", "u") },
		"merge": func(ctx context.Context, c *Cluster) error {
			_, err := c.mergeOnce(ctx, ref, []byte("{}"))
			return err
		},
		"patch": func(ctx context.Context, c *Cluster) error { return c.API.patchJSON(ctx, ref, []patchOp{}, false) },
		"modify": func(ctx context.Context, c *Cluster) error {
			_, _, err := c.Modify(ctx, ref, func(*unstructured.Unstructured) error { return nil })
			return err
		},
		"remove an annotation": func(ctx context.Context, c *Cluster) error {
			return c.RemoveAnnotation(ctx, ref, MarkCreation(obj, "a"), CreationAnnotation)
		},
		"exists": func(ctx context.Context, c *Cluster) error { _, err := c.API.Exists(ctx, ref); return err },
		"delete a Secret": func(ctx context.Context, c *Cluster) error {
			return c.DeleteInBackground(ctx, SecretRef("ml", "token"), "u")
		},
		"metadata of a Secret": func(ctx context.Context, c *Cluster) error {
			_, err := c.API.SecretMetadata(ctx, SecretRef("ml", "token"))
			return err
		},
		"page": func(ctx context.Context, c *Cluster) error {
			return Each(ctx, c.API, ref, metav1.ListOptions{}, func(*metav1.PartialObjectMetadata) {})
		},
		"log": func(ctx context.Context, c *Cluster) error {
			_, err := c.API.StreamLogs(ctx, "ml", "trainer-0", corev1.PodLogOptions{})
			return err
		},
		"schema": func(ctx context.Context, c *Cluster) error {
			_, err := c.Discovery.HasField(ctx, ref.Kind.GroupVersionKind, "spec")
			return err
		},
		"kinds": func(ctx context.Context, c *Cluster) error { _, err := c.Discovery.CustomKinds(ctx); return err },
		"set records": func(ctx context.Context, c *Cluster) error {
			return c.SetRecords(ctx, ref, obj,
				recordsOfOthers)
		},
	}
	return all
}

func TestOperationsWithoutAClusterFail(t *testing.T) {
	t.Parallel()
	all := operations(metAt(false, false).Live, trainer())
	for name, do := range verbs() {
		all["the verb "+name] = do
	}
	certificate := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	for problem, settings := range map[string]config.Config{
		"no cluster":          {},
		"invalid certificate": {Host: "https://h", ClusterCACertificate: certificate},
	} {
		cluster := NewCluster(t.Context(), settings)
		for name, do := range all {
			if err := do(t.Context(), cluster); ClassOf(err) != Misconfigured {
				t.Errorf("%s, %s: %v is of class %d", problem, name, err, ClassOf(err))
			}
		}
		if lines, err := cluster.API.Logs(t.Context(), "ml", "trainer-0", "c", false, 1); err == nil {
			t.Errorf("%s: the log is %q", problem, lines)
		}
	}
}

func TestOperationsOnAKindThatIsNotInstalledFail(t *testing.T) {
	t.Parallel()
	run := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Run",
		"metadata": map[string]any{"namespace": "ml", "name": "train"}}}
	cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
	all := operations(run, Ref{Kind: Kind{GroupVersionKind: run.GroupVersionKind()}})
	for _, name := range []string{"apply", "dry run", "dry run new", "apply new", "compare"} {
		if err := all[name](t.Context(), cluster); ClassOf(err) != KindMissing {
			t.Errorf("%s: %v is of class %d", name, err, ClassOf(err))
		}
	}
}

func TestWritesAreReadFromTheSharedListAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		write func(context.Context, *Cluster) error
		want  string // the version of the next read
	}{
		"an apply":      {operations(kubetest.Deployment("", 0), trainer())["apply"], "9"},
		"a creation":    {operations(kubetest.Deployment("", 0), trainer())["apply new"], "9"},
		"an annotation": {operations(kubetest.Deployment("", 0), trainer())["remove an annotation"], "9"},
		"a merge":       {operations(kubetest.Deployment("", 0), trainer())["merge"], "9"},
		"a dry run":     {operations(kubetest.Deployment("", 0), trainer())["dry run"], "3"},
		"a failed merge": {operations(kubetest.Deployment("", 0), Ref{Kind: kind.Deployment(), Namespace: "ml",
			Name: "x"})["merge"], "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
				switch {
				case verb == "list":
					return http.StatusOK, map[string]any{"apiVersion": "apps/v1", "kind": "DeploymentList",
						"metadata": map[string]any{"resourceVersion": "4"},
						"items":    []any{kubetest.Deployment("3", 1).Object}}
				case verb == "watch" && request.URL.Query().Get("sendInitialEvents") == "true":
					return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
				case verb == "watch":
					<-request.Context().Done()
				case strings.HasSuffix(path, "/x"):
					return kubetest.Failing(http.StatusBadRequest, metav1.StatusReasonBadRequest)
				}
				return http.StatusCreated, kubetest.Deployment("9", 1)
			}})
			if _, err := cluster.Store.Get(t.Context(), trainer()); err != nil {
				t.Fatal(err)
			}
			err := test.write(t.Context(), cluster)
			obj, readErr := cluster.Store.Get(t.Context(), trainer())
			if readErr != nil || obj.GetResourceVersion() != test.want || (err != nil) != strings.Contains(name,
				"failed") {
				t.Errorf("version %s, %v, %v", obj.GetResourceVersion(), err, readErr)
			}
		})
	}
}
