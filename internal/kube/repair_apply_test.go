package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// rejectedField returns the rejection of a field of the Deployment.
func rejectedField(field string) kubetest.Fault {
	return func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
		kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
			return http.StatusUnprocessableEntity, metav1.Status{Reason: metav1.StatusReasonInvalid, Message: "invalid",
				Details: about("Deployment", "apps", "trainer",
					metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: field, Message: "forbidden"})}
		}}.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	}
}

// objects is part of the paths of the objects in these tests.
const objects = "/namespaces/ml/"

// faulty is a server whose responses to some requests are replaced. Keys are a verb and the number of the request with
// this verb: apply 1.
func faulty(t *testing.T, faults map[string]kubetest.Fault) *kubetest.Server {
	t.Helper()
	server := kubetest.NewServer(t)
	var mu sync.Mutex
	counts := map[string]int{}
	server.Intercept = func(verb, path string) kubetest.Fault {
		if !strings.Contains(path, objects) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		counts[verb]++
		return faults[fmt.Sprintf("%s %d", verb, counts[verb])]
	}
	return server
}

// verbsOf returns the verbs of the requests about objects.
func verbsOf(server *kubetest.Server) string {
	var out []string
	for _, request := range server.Requests("get", "apply", "dry-run", "patch") {
		if verb, path, _ := strings.Cut(request, " "); strings.Contains(path, objects) {
			out = append(out, verb)
		}
	}
	return strings.Join(out, ",")
}

// withStrategy returns the Deployment with an update strategy.
func withStrategy(strategy map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"spec": map[string]any{"strategy": strategy}}}
	obj.SetNamespace("ml")
	obj.SetName("trainer")
	return obj
}

func TestRejectedApplyIsRepairedOnce(t *testing.T) {
	t.Parallel()
	const rolling = "spec.strategy.rollingUpdate"
	status := kubetest.Status
	conflict := status(http.StatusConflict, metav1.StatusReasonConflict)
	missing := status(http.StatusNotFound, metav1.StatusReasonNotFound)
	bad := status(http.StatusBadRequest, metav1.StatusReasonBadRequest)
	for name, test := range map[string]struct {
		faults   map[string]kubetest.Fault
		requests string
		op       string // of the error; "" for none
		class    Class  // of the error
	}{
		"the struct of another client": {nil, "apply,get,patch,get,patch,apply", "", Other},
		"a conflict with another client": {map[string]kubetest.Fault{"patch 1": conflict},
			"apply,get,patch,get,patch,get,patch,apply", "", Other},
		"a conflict while the fields are taken": {map[string]kubetest.Fault{"patch 2": conflict},
			"apply,get,patch,get,patch,get,patch,apply", "", Other},
		"the repaired object is rejected again": {map[string]kubetest.Fault{"apply 2": rejectedField(rolling)},
			"apply,get,patch,get,patch,apply", "apply", Invalid},
		"a field without a repair": {map[string]kubetest.Fault{"apply 1": rejectedField("spec.strategy.type")},
			"apply,get", "apply", Invalid},
		"another failure":            {map[string]kubetest.Fault{"apply 1": missing}, "apply", "apply", NotFound},
		"an object that was deleted": {map[string]kubetest.Fault{"get 1": missing}, "apply,get", "apply", Invalid},
		"a failed read":              {map[string]kubetest.Fault{"get 1": bad}, "apply,get", "read", Invalid},
		"a failed repair": {map[string]kubetest.Fault{"patch 1": bad},
			"apply,get,patch", "repair", Invalid},
		"a failed read after it": {map[string]kubetest.Fault{"get 2": bad},
			"apply,get,patch,get", "read", Invalid},
		"fields that cannot be taken": {map[string]kubetest.Fault{"patch 2": bad},
			"apply,get,patch,get,patch", "repair", Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults := map[string]kubetest.Fault{"apply 1": rejectedField(rolling)}
			maps.Copy(faults, test.faults)
			server := faulty(t, faults)
			server.Apply(t, "kubectl", withStrategy(map[string]any{"type": "RollingUpdate",
				"rollingUpdate": map[string]any{"maxSurge": "1"}}))
			after, err := clusterAt(t, server.URL).Apply(t.Context(), withStrategy(map[string]any{"type": "Recreate"}))
			if got := verbsOf(server); got != test.requests {
				t.Errorf("requests %s, want %s", got, test.requests)
			}
			if failure, failed := errors.AsType[*Error](err); failed != (test.op != "") ||
				failed && (failure.Op != test.op || failure.Class != test.class) {
				t.Errorf("%v, want a failure to %q of class %d", err, test.op, test.class)
			}
			if test.op == "" {
				checkOnlyStrategy(t, after)
			}
		})
	}
}

// checkOnlyStrategy checks that nothing but the applied strategy is left, and that the provider owns it by apply only.
func checkOnlyStrategy(t *testing.T, after *unstructured.Unstructured) {
	t.Helper()
	strategy, _, _ := unstructured.NestedMap(after.Object, "spec", "strategy")
	if len(strategy) != 1 || strategy["type"] != "Recreate" {
		t.Errorf("the strategy is %v", strategy)
	}
	updates := slices.ContainsFunc(after.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationUpdate
	})
	if set, ours, err := fields.Owned(after); err != nil || !ours || updates || set.Empty() {
		t.Errorf("managed fields %v, %v", after.GetManagedFields(), err)
	}
}

func TestRejectedDryRunChecksTheRepairOnly(t *testing.T) {
	t.Parallel()
	server := faulty(t, map[string]kubetest.Fault{"dry-run 1": rejectedField("spec.strategy.rollingUpdate"),
		"dry-run 2": rejectedField("spec.strategy.rollingUpdate")})
	server.Apply(t, "kubectl", withStrategy(map[string]any{"rollingUpdate": map[string]any{"maxSurge": "1"}}))
	dryRuns := 0
	cluster := clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPatch && request.URL.Query().Get("dryRun") == metav1.DryRunAll {
			dryRuns++
		}
		server.ServeHTTP(w, request)
	}))
	sent := withStrategy(map[string]any{"type": "Recreate"})
	after, err := cluster.DryRun(t.Context(), sent)
	if got := verbsOf(server); err != nil || got != "dry-run,get,patch" || dryRuns != 2 {
		t.Errorf("requests %s, %d of them dry runs, %v", got, dryRuns, err)
	}
	if after != sent {
		t.Errorf("the result is %v, but a dry run cannot build on another one", after)
	}
}

func TestMembersOfAnotherClientAreRemovedFromACustomResource(t *testing.T) {
	t.Parallel()
	const path = "/apis/ray.io/v1/namespaces/ml/rayclusters/trainer"
	probe := func(members ...string) *unstructured.Unstructured {
		of := map[string]any{}
		for _, member := range members {
			of[member] = map[string]any{"port": "1"}
		}
		obj := row("ray.io", "RayCluster").Named("ml", "trainer")
		obj.Object["spec"] = map[string]any{"livenessProbe": of}
		return obj
	}
	bad := kubetest.Status(http.StatusBadRequest, metav1.StatusReasonBadRequest)
	for name, test := range map[string]struct {
		live     *unstructured.Unstructured // nil for none
		faults   map[string]kubetest.Fault
		requests string
		fails    string // the operation
	}{
		"another member":     {probe("exec"), nil, "get,get,patch,get,patch,apply", ""},
		"the same member":    {probe("httpGet"), nil, "get,apply", ""},
		"a new object":       {nil, nil, "get,apply", ""},
		"a failed read":      {probe("exec"), map[string]kubetest.Fault{"get 1": bad}, "get,apply", ""},
		"a failed repair":    {probe("exec"), map[string]kubetest.Fault{"patch 1": bad}, "get,get,patch", "repair"},
		"removed since then": {probe("exec"), map[string]kubetest.Fault{"get 2": withoutSpec}, "get,get,apply", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := faulty(t, test.faults)
			if test.live != nil {
				server.Apply(t, "kubectl", test.live)
			}
			_, err := clusterAt(t, server.URL).Apply(t.Context(), probe("httpGet"))
			if got := verbsOf(server); got != test.requests {
				t.Errorf("requests %s, want %s", got, test.requests)
			}
			failure, failed := errors.AsType[*Error](err)
			if failed != (test.fails != "") || failed && failure.Op != test.fails {
				t.Errorf("%v, want a failure to %q", err, test.fails)
			}
			after, _, _ := unstructured.NestedMap(server.Object(path).Object, "spec", "livenessProbe")
			if strings.HasSuffix(test.requests, "patch,apply") && (after["httpGet"] == nil || len(after) != 1) {
				t.Errorf("the probe is %v", after)
			}
		})
	}
}

// withoutSpec responds as if another client had removed the member.
func withoutSpec(w http.ResponseWriter, execute func() *httptest.ResponseRecorder) {
	var obj map[string]any
	_ = json.Unmarshal(execute().Body.Bytes(), &obj)
	delete(obj, "spec")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(obj)
}
