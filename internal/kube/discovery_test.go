package kube

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func object(apiVersion, kind string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": "ml", "name": "trainer"},
	}}
}

// discovery serves the group example.com/v1, and counts the requests.
func discovery(t *testing.T, asked *atomic.Int32) *Cluster {
	t.Helper()
	return clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
		asked.Add(1)
		switch path {
		case "/apis/example.com/v1":
			return http.StatusOK, metav1.APIResourceList{GroupVersion: "example.com/v1",
				APIResources: []metav1.APIResource{
					{Name: "runs/status", Kind: "Run"}, {Name: "runs", Kind: "Run", Namespaced: true},
					{Name: "fleets", Kind: "Fleet"},
				}}
		case "/apis/down.example.com/v1":
			return kubetest.Failing(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		}
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
}

func TestUnlistedKindsAreDiscoveredOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		apiVersion, kind string
		resource         string
		namespace        string
		class            Class // of the error, Other for none
		questions        int32 // in two tries
	}{
		"a kind in the table":         {"apps/v1", "Deployment", "deployments", "ml", Other, 0},
		"a Service":                   {"v1", "Service", "services", "ml", Other, 0},
		"a Service of Knative":        {"serving.knative.dev/v1", "Service", "services", "ml", Other, 0},
		"a kind of an operator":       {"example.com/v1", "Run", "runs", "ml", Other, 1},
		"a cluster-scoped kind":       {"example.com/v1", "Fleet", "fleets", "", Other, 1},
		"a kind missing in its group": {"example.com/v1", "Walk", "", "", KindMissing, 1},
		"a group that is not served":  {"other.example.com/v1", "Run", "", "", KindMissing, 2},
		"a group without a response": {
			"down.example.com/v1", "Run", "", "", Unreachable, repeated,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			cluster := discovery(t, &asked)
			var ref Ref
			var err error
			for range 2 {
				ref, err = cluster.Discovery.RefOf(t.Context(), object(test.apiVersion, test.kind))
			}
			switch {
			case ClassOf(err) != test.class || (err == nil) != (test.class == Other):
				t.Errorf("%v, want class %d", err, test.class)
			case err == nil && (ref.Kind.Resource != test.resource || ref.Namespace != test.namespace ||
				ref.Kind.Kind != test.kind):
				t.Errorf("%+v, want %s in namespace %q", ref, test.resource, test.namespace)
			case asked.Load() != test.questions && (test.questions != repeated || asked.Load() < 2):
				t.Errorf("%d requests, want %d", asked.Load(), test.questions)
			}
		})
	}
}

// repeated means several requests, to a server that may still respond.
const repeated = -1

func TestInstalledRequestsDiscoveryOnce(t *testing.T) {
	t.Parallel()
	run := Kind{Resource: "runs"}
	run.Group, run.Version, run.Kind = "example.com", "v1", "Run"
	down := run
	down.Group = "down.example.com"
	for name, test := range map[string]struct {
		kind             Kind
		installed, known bool
		questions        int32
	}{
		"installed":     {run, true, true, 1},
		"not installed": {kind.KubetorchWorkload(), false, true, 2},
		"unknown":       {down, false, false, repeated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			cluster := discovery(t, &asked)
			for range 2 {
				installed, err := cluster.Discovery.Installed(t.Context(), test.kind)
				if installed != test.installed || (err == nil) != test.known {
					t.Errorf("installed %t, error %v", installed, err)
				}
			}
			if asked.Load() != test.questions && (test.questions != repeated || asked.Load() < 2) {
				t.Errorf("%d requests, want %d", asked.Load(), test.questions)
			}
		})
	}
}

func TestPreferredVersionIsRequestedUntilItsGroupIsServed(t *testing.T) {
	t.Parallel()
	var installed atomic.Bool
	requests := 0
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
		if path == "/apis/example.com" {
			requests++
		}
		if path != "/apis/example.com" || !installed.Load() {
			return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
		}
		return http.StatusOK, metav1.APIGroup{PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v2"}}
	}})
	for i, want := range []string{"", "", "v2", "v2"} {
		installed.Store(want != "")
		if got, err := cluster.Discovery.Preferred(t.Context(), "example.com"); got != want || err != nil {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
	if requests != 3 {
		t.Errorf("%d requests, want 3", requests)
	}
	failing := serving(t, map[string]any{"/apis/example.com": metav1.StatusReasonInternalError})
	if got, err := failing.Discovery.Preferred(t.Context(), "example.com"); got != "" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDiscoveryDocumentsOfTheCoreGroupHaveAnotherPath(t *testing.T) {
	t.Parallel()
	for path, of := range map[string]Kind{
		"/api/v1": kind.ConfigMap(), "/apis/apps/v1": kind.Deployment(), "/apis/ray.io/v1": row("ray.io", "RayCluster"),
		"/apis/v.example.com/v1": {GroupVersionKind: schema.GroupVersionKind{Group: "v.example.com", Version: "v1",
			Kind: "Run"}},
	} {
		cluster := serving(t, map[string]any{path: serves(of)})
		if installed, err := cluster.Discovery.Installed(t.Context(), of); err != nil || !installed {
			t.Errorf("%s: %t, %v", path, installed, err)
		}
	}
	core := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
	installed, err := core.Discovery.Installed(t.Context(), kind.ConfigMap())
	if ClassOf(err) != Unreachable || installed {
		t.Errorf("every API server serves it: %t, %v", installed, err)
	}
}

func TestLiveReferencesNeedAServedVersion(t *testing.T) {
	t.Parallel()
	run := object("example.com/v1", "Run")
	old, next := Kind{GroupVersionKind: run.GroupVersionKind()}, Kind{GroupVersionKind: run.GroupVersionKind()}
	old.Resource, next.Resource, next.Version = "runs", "newruns", "v2"
	versions := func(all ...string) metav1.APIGroup {
		group := metav1.APIGroup{Name: "example.com"}
		for _, version := range all {
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{Version: version})
		}
		return group
	}
	fails := metav1.StatusReasonInternalError
	for name, test := range map[string]struct {
		at    map[string]any
		want  string // version/resource
		class Class  // of the error, Other for none
	}{
		"the same version": {map[string]any{"/apis/example.com/v1": serves(old)}, "v1/runs", Other},
		"another version": {map[string]any{"/apis/example.com": versions("v1", "v2"),
			"/apis/example.com/v2": serves(next)}, "v2/newruns", Other},
		"after one that fails": {map[string]any{"/apis/example.com": versions("v3", "v2"),
			"/apis/example.com/v3": fails, "/apis/example.com/v2": serves(next)}, "v2/newruns", Other},
		"no version":         {map[string]any{"/apis/example.com": versions("v1")}, "", KindMissing},
		"no group":           {nil, "", KindMissing},
		"a group that fails": {map[string]any{"/apis/example.com": fails}, "", KindMissing},
		"another document":   {map[string]any{"/apis/example.com/v1": []string{"x"}}, "", Unreachable},
		"a failure":          {map[string]any{"/apis/example.com/v1": fails}, "", Unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref, err := serving(t, test.at).Discovery.LiveRef(t.Context(), run)
			if ClassOf(err) != test.class || (err == nil) != (test.class == Other) {
				t.Fatalf("%v, want class %d", err, test.class)
			}
			if got := ref.Kind.Version + "/" + ref.Kind.Resource; err == nil && got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func TestCRDCreatedDuringTheRunIsFound(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]metav1.APIResourceList{
		"its group is not served":   {},
		"its group has other kinds": {APIResources: []metav1.APIResource{{Name: "runs", Kind: "Run"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var arrived atomic.Bool
			var asked atomic.Int32
			cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
				if path == "/apis/kubetorch.com/"+kind.KubetorchWorkload().Version {
					asked.Add(1)
					switch {
					case arrived.Load():
						return http.StatusOK,
							metav1.APIResourceList{APIResources: []metav1.APIResource{
								{Name: kind.KubetorchWorkload().Resource, Kind: kind.KubetorchWorkload().Kind}}}
					case before.APIResources != nil:
						return http.StatusOK, before
					}
				}
				return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
			}})
			expect := func(want bool, questions int32) {
				t.Helper()
				for range 1000 {
					installed, err := cluster.Discovery.Installed(t.Context(), kind.KubetorchWorkload())
					if err != nil ||
						installed != want {
						t.Fatalf("installed %t, error %v", installed, err)
					}
				}
				if asked.Load() != questions {
					t.Errorf("%d questions, want %d", asked.Load(), questions)
				}
			}
			fixed := clocktesting.NewFakeClock(cluster.API.clock.Now())
			cluster.API.clock = fixed
			expect(false, 1)
			cluster.Discovery.KeepMissing()
			fixed.Step(missingTime)
			expect(false, 1)
			cluster.Discovery.keepMissing.Store(false)
			arrived.Store(true)
			expect(true, 2)
			fixed.Step(time.Hour)
			expect(true, 2)
		})
	}
}

func TestMissingKindErrorNamesTheProductToInstall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind  Kind
		words []string
	}{
		{row("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
			[]string{"Install LeaderWorkerSet", "CRD leaderworkersets.leaderworkerset.x-k8s.io", "v1"}},
		{row("serving.knative.dev", "Service"), []string{"The cluster does not serve Knative Service",
			"Install Knative Serving", "CRD services.serving.knative.dev"}},
		{row("ray.io", "RayCluster"), []string{"RayCluster", "KubeRay", "CRD rayclusters.ray.io",
			"kubectl api-resources --api-group=ray.io"}},
		{row("kubeflow.org", "MXJob"), []string{"training operator", "CRD mxjobs.kubeflow.org"}},
		{row("jobset.x-k8s.io", "JobSet"), []string{"Install JobSet", "CRD jobsets.jobset.x-k8s.io", "v1alpha2"}},
		{kind.KubetorchWorkload(), []string{"Kubetorch's Helm chart", "CRD kubetorchworkloads.kubetorch.com"}},
		{kind.Deployment(), []string{"not the address of an API server",
			"kubectl api-resources --api-group=apps"}},
	} {
		err := Wrap("apply", Ref{Kind: test.kind, Namespace: "ml", Name: "a"},
			statusError(http.StatusNotFound, metav1.StatusReasonNotFound,
				"the server could not find the requested resource", &metav1.StatusDetails{}))
		var failure *Error
		if !errors.As(err, &failure) || failure.Class != KindMissing {
			t.Fatalf("%v", err)
		}
		summary, detail := explained(failure)
		for _, word := range test.words {
			if !strings.Contains(summary+"\n"+detail, word) {
				t.Errorf("%s: %q is not in\n%s\n%s", test.kind.Word(), word, summary, detail)
			}
		}
	}
}

// TestFieldsAreExtractedFromWebhookMessages uses messages of JobSet 0.12, Kueue
// 0.19 and Kubernetes 1.36.
func TestFieldsAreExtractedFromWebhookMessages(t *testing.T) {
	t.Parallel()
	denied := func(text string) error {
		return statusError(http.StatusForbidden, metav1.StatusReasonForbidden,
			`admission webhook "v.example.com" denied the request: `+text, nil)
	}
	for name, test := range map[string]struct {
		kind   Kind
		err    error
		class  Class
		fields []string
	}{
		"the jobs of a JobSet": {row("jobset.x-k8s.io", "JobSet"),
			denied(`spec.replicatedJobs: Invalid value: []v1alpha2.ReplicatedJob{v1alpha2.ReplicatedJob{Name:"a"}}: ` +
				`field is immutable`), Immutable, []string{"spec.replicatedJobs"}},
		"the size of subgroups": {
			row("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
			denied(`spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize: Invalid value: 4: field is immutable`),
			Immutable, []string{"spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize"},
		},
		"two fields": {row("jobset.x-k8s.io", "JobSet"), denied(`[spec.suspend: Forbidden: no,
			spec.managedBy: Invalid value: "x": field is immutable]`),
			Immutable, []string{"spec.suspend", "spec.managedBy"}},
		"the queue of Kueue": {kind.Deployment(), denied(`metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: ` +
			`"b": field is immutable`), Immutable, []string{"metadata.labels[kueue.x-k8s.io/queue-name]"}},
		"an item of the jobs": {row("jobset.x-k8s.io", "JobSet"),
			denied(`spec.replicatedJobs[0].name: Invalid value: "A": must be lower case`), Refused,
			[]string{"spec.replicatedJobs[0].name"}},
		"a required field": {row("batch", "Job"), denied(`spec.completions: Required value: when completion mode is ` +
			`Indexed`), Refused, []string{"spec.completions"}},
		"no field": {row("jobset.x-k8s.io", "JobSet"), denied(`the label team is required`), Refused, nil},
		"not from a webhook": {row("jobset.x-k8s.io", "JobSet"),
			statusError(http.StatusForbidden, metav1.StatusReasonForbidden,
				`exceeded quota: spec.replicatedJobs: Invalid value: x`, nil), Refused, nil},
		"a StatefulSet": {kind.StatefulSet(),
			statusError(422, metav1.StatusReasonInvalid, "updates to statefulset spec",
				about("StatefulSet", "apps", "a",
					metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: "spec",
						Message: "Forbidden: updates to statefulset spec"})), Immutable, []string{"spec"}},
		"an invalid field of a StatefulSet": {kind.StatefulSet(),
			statusError(422, metav1.StatusReasonInvalid, "x", about("StatefulSet", "apps", "a",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.replicas",
					Message: "x"})), Invalid, []string{"spec.replicas"}},
		"a Job without completions": {row("batch", "Job"),
			statusError(422, metav1.StatusReasonInvalid, "x", about("Job", "batch", "a",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "spec.completions",
					Message: "x"})), Invalid, []string{"spec.completions"}},
		"the template of a Job": {row("batch", "Job"), statusError(422, metav1.StatusReasonInvalid, "x",
			about("Job", "batch", "a",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.template",
					Message: "field is immutable"})), Immutable, []string{"spec.template"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class, causes := classify(Ref{Kind: test.kind}, test.err)
			var fields []string
			for _, cause := range causes {
				fields = append(fields, cause.Field)
			}
			if class != test.class || !slices.Equal(fields, test.fields) {
				t.Errorf("class %d, fields %q; want %d, %q", class, fields, test.class, test.fields)
			}
		})
	}
}

func TestKindsAreListedOnceWithTheirGroup(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, of := range append(kind.Workloads(),
		kind.KubetorchWorkload(), kind.Service(), kind.PersistentVolumeClaim(), kind.Secret(), kind.ConfigMap()) {
		if seen[of.String()] || of.Resource == "" || of.Version == "" || of.LabelSelector == "" {
			t.Errorf("%+v", of)
		}
		seen[of.String()] = true
	}
	core, knative := Ref{Kind: kind.Service(), Namespace: "ml", Name: "a"},
		Ref{Kind: row("serving.knative.dev", "Service"), Namespace: "ml", Name: "a"}
	if core.String() == knative.String() || core.Kind.Argument() == knative.Kind.Argument() {
		t.Errorf("the two kinds of Service are both %s, %s", core, core.Kind.Argument())
	}
}

func TestKindInstalledDuringTheRunIsRead(t *testing.T) {
	t.Parallel()
	var installed atomic.Bool
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, _ *http.Request) (int, any) {
		if !installed.Load() || verb != "get" { // the list is tried again later than this test takes
			return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
				Details: &metav1.StatusDetails{}}
		}
		return http.StatusOK, object("ray.io/v1", "RayCluster").Object
	}})
	ref := Ref{Kind: row("ray.io", "RayCluster"), Namespace: "ml", Name: "trainer"}
	if _, err := cluster.Store.Get(t.Context(), ref); ClassOf(err) != KindMissing {
		t.Fatalf("%v", err)
	}
	installed.Store(true)
	if _, err := cluster.Store.Get(t.Context(), ref); err != nil {
		t.Errorf("%v", err)
	}
}
