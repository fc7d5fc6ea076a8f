package observe

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// shelf serves YAML documents by path, either lists of items or objects. It counts
// the requests by path.
type shelf struct {
	t     *testing.T
	docs  map[string]string
	mu    sync.Mutex
	asked map[string]int
}

// requests returns the number of requests by path.
func (s *shelf) requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.asked)
}

func (s *shelf) answer(verb, path string, request *http.Request) (int, any) {
	s.mu.Lock()
	s.asked[path]++
	doc, found := s.docs[path]
	s.mu.Unlock()
	var body map[string]any
	if err := yaml.Unmarshal([]byte(doc), &body); err != nil && doc != "forbidden" {
		s.t.Errorf("%s: %v", path, err)
	}
	last := path[strings.LastIndex(path, "/")+1:]
	switch {
	case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
		return kubetest.Reviewed(request, func(string) bool { return false })
	case doc == "forbidden":
		return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	case request.URL.Query().Get("sendInitialEvents") != "":
		return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid) // as a server that cannot
	case verb == "watch":
		<-request.Context().Done()
		return http.StatusOK, nil
	case !found && verb == "list":
		body = map[string]any{"items": []any{}}
	case !found:
		return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
			Details: &metav1.StatusDetails{Kind: "things", Group: "", Name: last}}
	}
	if _, list := body["items"]; list {
		body["apiVersion"], body["kind"], body["metadata"] = "v1", "List", map[string]any{"resourceVersion": "1"}
	}
	return http.StatusOK, body
}

func shelfOf(t *testing.T, docs ...map[string]string) (*kube.Cluster, *shelf) {
	t.Helper()
	s := &shelf{t: t, docs: map[string]string{}, asked: map[string]int{}}
	for _, more := range docs {
		maps.Copy(s.docs, more)
	}
	return clusterOf(t, kubetest.API{Answer: s.answer}), s
}

const (
	kueuePath    = "/apis/kueue.x-k8s.io"
	kueueV       = kueuePath + "/v1beta2"
	gpuQueuePath = kueueV + "/namespaces/ml/localqueues/gpu"
	trainingPath = "/apis/kubeflow.org/v1/namespaces/ml/pytorchjobs"
	localQueue   = `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue,
        metadata: {name: gpu, namespace: ml, resourceVersion: "1"}, spec: {clusterQueue: cq},
        status: {conditions: [{type: Active, status: "True"}]}}`
	clusterQueue = `{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: cq,
	  resourceVersion: "1"}, spec: {resourceGroups: [{flavors: [{name: f, resources: [{name: nvidia.com/gpu,
	    nominalQuota: 4}]}]}]},
  status: {conditions: [{type: Active, status: "True"}], flavorsReservation: [{name: f,
    resources: [{name: nvidia.com/gpu, total: 2}]}]}}`
	heldTraining = `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: trainer, namespace: ml, uid: u-1,
        resourceVersion: "1", labels: {kueue.x-k8s.io/queue-name: gpu}}, spec: {runPolicy: {suspend: true},
        pytorchReplicaSpecs: {Worker: {replicas: 3}}}}`
	heldWorkload = `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: pytorchjob-trainer-1,
	  namespace: ml, resourceVersion: "1", ownerReferences: [{apiVersion: kubeflow.org/v1, kind: PyTorchJob,
	    name: trainer, uid: u-1}]},
  spec: {queueName: gpu, podSets: [{name: worker, count: 3, template: {spec: {containers: [{name: c,
    resources: {requests: {nvidia.com/gpu: 2}}}]}}}]},
  status: {conditions: [{type: QuotaReserved, status: "False", reason: WaitingForQuota,
    message: "insufficient unused quota for nvidia.com/gpu in flavor f, 4 more needed"}]}}`
)

func kueue() map[string]string {
	return map[string]string{
		kueuePath: `{kind: APIGroup, name: kueue.x-k8s.io,
		  preferredVersion: {version: v1beta2}}`,
		gpuQueuePath:                          localQueue,
		kueueV + "/namespaces/ml/localqueues": "items: [" + localQueue + "]",
		kueueV + "/clusterqueues":             "items: [" + clusterQueue + "]",
		kueueV + "/clusterqueues/cq":          clusterQueue,
		kueueV + "/namespaces/ml/workloads":   "items: [" + heldWorkload + "]",
		trainingPath:                          "items: [" + heldTraining + "]",
	}
}

func TestQueuedTrainingIsExplainedByItsQueue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change map[string]string
		reason string
		says   string
	}{
		"insufficient quota": {nil, ready.ReasonQueued, "6 nvidia.com/gpu requested, cq has 4, 2 in use"},
		"the workload is found by UID": {map[string]string{kueueV + "/namespaces/ml/workloads": "items: [" +
			strings.Replace(heldWorkload, "ownerReferences", "labels: {kueue.x-k8s.io/job-uid: u-1}, o", 1) +
			"]"}, ready.ReasonQueued, "4 more needed"},
		"the Workload of another object": {map[string]string{kueueV + "/namespaces/ml/workloads": "items: [" +
			strings.Replace(heldWorkload, "uid: u-1", "uid: u-12", 1) +
			"]"}, ready.ReasonQueued, "has not admitted PyTorchJob ml/trainer yet (queue gpu)."},
		"the queue is missing": {map[string]string{kueueV + "/namespaces/ml/localqueues": "items: [" +
			strings.Replace(localQueue, "name: gpu", "name: cpu", 1) +
			"]"}, ready.ReasonQueueMissing, "existing queues: cpu"},
		"no permission to read queues": {map[string]string{kueueV + "/namespaces/ml/localqueues": "forbidden",
			kueueV + "/namespaces/ml/workloads": "forbidden"}, ready.ReasonQueued, "has not admitted PyTorchJob " +
			"ml/trainer yet (queue gpu)."},
		"no permission to read ClusterQueues": {map[string]string{kueueV + "/clusterqueues": "forbidden"},
			ready.ReasonQueued, "4 more needed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, _ := shelfOf(t, kueue(), test.change)
			verdict, err := assess(t.Context(), cluster, kube.Ref{Kind: row("kubeflow.org", "PyTorchJob"),
				Namespace: "ml", Name: "trainer"}, map[string]string{kind.ServiceLabel: "trainer"})
			if err != nil {
				t.Fatal(err)
			}
			if verdict.Settled() || verdict.Cause == nil || verdict.Cause.Reason != test.reason ||
				!strings.Contains(verdict.Cause.Summary, test.says) {
				t.Errorf("%+v %+v", verdict, verdict.Cause)
			}
		})
	}
}

func TestWaitInAQueueNoticesEveryChangeOfTheQueue(t *testing.T) {
	t.Parallel()
	cluster, _ := shelfOf(t, kueue())
	_, concerned, err := observe(t.Context(), cluster, kube.Ref{Kind: row("kubeflow.org", "PyTorchJob"),
		Namespace: "ml", Name: "trainer"}, map[string]string{kind.ServiceLabel: "trainer"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []kube.Kind{kind.LocalQueue("v1beta2"), kind.KueueWorkload("v1beta2"),
		kind.ClusterQueue("v1beta2")} {
		if !(&Objects{Of: concerned}).covers(AllOf(want)) {
			t.Errorf("changes of %s do not wake the wait", want.GroupVersionKind)
		}
	}
}

func TestKueueIsDiscoveredAgainIfItWasNotInstalled(t *testing.T) {
	t.Parallel()
	cluster, shelf := shelfOf(t, kueue(), map[string]string{})
	group := shelf.docs[kueuePath]
	delete(shelf.docs, kueuePath)
	ref := kube.Ref{Kind: row("kubeflow.org", "PyTorchJob"), Namespace: "ml", Name: "trainer"}
	verdict, err := assess(t.Context(), cluster, ref, map[string]string{kind.ServiceLabel: "trainer"})
	if err != nil || verdict.Cause == nil || verdict.Cause.Reason != ready.ReasonQueueMissing ||
		!strings.Contains(verdict.Cause.Summary, "Kueue is not installed") {
		t.Fatalf("%+v %v", verdict.Cause, err)
	}
	shelf.mu.Lock()
	shelf.docs[kueuePath] = group
	shelf.mu.Unlock()
	if verdict, err = assess(t.Context(), cluster, ref, map[string]string{kind.ServiceLabel: "trainer"}); err != nil ||
		verdict.Cause.Reason != ready.ReasonQueued {
		t.Errorf("%+v %v", verdict.Cause, err)
	}
}

func TestQueueIsNotReadForRunningWorkloads(t *testing.T) {
	t.Parallel()
	running := strings.Replace(heldTraining, "suspend: true", "suspend: false", 1)
	cluster, shelf := shelfOf(t, kueue(), map[string]string{trainingPath: "items: [" + running + "]"})
	if _, err := assess(t.Context(), cluster, kube.Ref{Kind: row("kubeflow.org", "PyTorchJob"), Namespace: "ml",
		Name: "trainer"}, map[string]string{kind.ServiceLabel: "trainer"}); err != nil {
		t.Fatal(err)
	}
	for path := range shelf.requests() {
		if strings.HasPrefix(path, kueuePath) {
			t.Errorf("requested %s", path)
		}
	}
}

func TestForecastReadsEachQueueOnce(t *testing.T) {
	t.Parallel()
	sixGPUs := ready.Demand{Pods: 3, Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("6")}}
	for name, test := range map[string]struct {
		change map[string]string
		gone   []string
		want   string // the reason, or ""
		asked  []string
	}{
		"more than the maximum quota": {want: ready.ReasonQueueShort,
			asked: []string{kueuePath, gpuQueuePath, kueueV + "/clusterqueues/cq"}},
		"a missing queue": {gone: []string{gpuQueuePath, kueueV + "/namespaces/ml/localqueues"},
			want: ready.ReasonQueueMissing, asked: []string{kueuePath, gpuQueuePath,
				kueueV + "/namespaces/ml/localqueues"}},
		"no permission to read the ClusterQueue": {
			change: map[string]string{kueueV + "/clusterqueues/cq": "forbidden"},
			asked:  []string{kueuePath, gpuQueuePath, kueueV + "/clusterqueues/cq"},
		},
		"no permission to read the LocalQueue": {
			change: map[string]string{gpuQueuePath: "forbidden"},
			asked:  []string{kueuePath, gpuQueuePath},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, shelf := shelfOf(t, kueue(), test.change)
			for _, path := range test.gone {
				delete(shelf.docs, path)
			}
			for range 3 {
				cause, err := QueueForecast(t.Context(), cluster, "", "ml", "gpu", sixGPUs, "PyTorchJob ml/trainer")
				reason := ""
				if cause != nil {
					reason = cause.Reason
				}
				if err != nil || reason != test.want {
					t.Fatalf("%q %v, want %q", reason, err, test.want)
				}
			}
			slices.Sort(test.asked)
			asked := shelf.requests()
			for path, times := range asked {
				want := 1
				if test.change[path] == "forbidden" {
					want = 2 // a rejection is final if the server was ready before
				}
				if times != want || !slices.Contains(test.asked, path) {
					t.Errorf("%s was requested %d times", path, times)
				}
			}
			if len(asked) != len(test.asked) {
				t.Errorf("requested %v, want %v", slices.Sorted(maps.Keys(asked)), test.asked)
			}
		})
	}
}

func TestWaitForPodsOfASelector(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/namespaces/ml/pods"
	pod := func(ready string) string {
		return `items: [{metadata: {name: a, namespace: ml, resourceVersion: "1", labels: {app: trainer}}, status: ` +
			`{phase: Running, conditions: [{type: Ready, status: "` + ready + `"}]}}]`
	}
	selector := map[string]string{"app": "trainer"}
	ready1, _ := shelfOf(t, map[string]string{path: pod("True")})
	if _, err := waitPods(t.Context(), ready1, "ml", selector); err != nil {
		t.Errorf("%v", err)
	}
	for name, test := range map[string]struct {
		docs   map[string]string
		reason string
		class  kube.Class
	}{
		"no pod":                     {nil, ready.ReasonPodsMissing, kube.Other},
		"one starting":               {map[string]string{path: pod("False")}, ready.ReasonPodsStarting, kube.Other},
		"no permission to read pods": {map[string]string{path: "forbidden"}, "", kube.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster, _ := shelfOf(t, test.docs)
			verdict, err := assessPods(t.Context(), cluster, "ml", selector)
			if kube.ClassOf(err) != test.class {
				t.Fatalf("%v", err)
			}
			if test.reason != "" && (verdict.Cause == nil || verdict.Cause.Reason != test.reason) {
				t.Errorf("%+v", verdict)
			}
			ctx, cancel := context.WithDeadline(t.Context(), time.Now())
			defer cancel()
			if _, err := waitPods(ctx, cluster, "ml", selector); err == nil {
				t.Error("the wait ended without an error")
			}
		})
	}
}

func assess(ctx context.Context, c *kube.Cluster, ref kube.Ref, podLabels map[string]string) (ready.Verdict, error) {
	return Follow{Workload: &ref, Namespace: ref.Namespace, PodLabels: podLabels}.Assess(ctx, c)
}

func waitPods(ctx context.Context, c *kube.Cluster, namespace string, labels map[string]string) (ready.Verdict, error) {
	return Follow{Namespace: namespace, PodLabels: labels}.Wait(ctx, c)
}

func assessPods(
	ctx context.Context, c *kube.Cluster, namespace string, labels map[string]string,
) (ready.Verdict, error) {
	return Follow{Namespace: namespace, PodLabels: labels}.Assess(ctx, c)
}

// The watch may not have reported the deletion of a child queue yet, which KAI's webhook does not know either.
func TestDeletionOfAParentQueueWaitsForChildrenThatTheRunDeletes(t *testing.T) {
	t.Parallel()
	queue := func(name string, children ...any) map[string]any {
		return map[string]any{"apiVersion": "scheduling.run.ai/v2", "kind": "Queue",
			"metadata": map[string]any{"name": name, "uid": name, "resourceVersion": "5"},
			"status":   map[string]any{"childQueues": children}}
	}
	var lists atomic.Int32
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, request *http.Request) (int, any) {
		switch {
		case verb == "delete":
			return http.StatusOK, metav1.Status{Status: metav1.StatusSuccess}
		case verb == "watch" && request.URL.Query().Get("sendInitialEvents") == "true":
			return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		case verb == "watch":
			return kubetest.Failing(http.StatusGone, metav1.StatusReasonExpired) // which leads to the next list
		}
		items := []any{queue("research", "vision"), queue("vision")}
		if lists.Add(1) > 1 {
			items = []any{queue("research")}
		}
		return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "List",
			"metadata": map[string]any{"resourceVersion": "9"}, "items": items}
	}})
	parent := kube.Ref{Kind: kind.KAIQueue(), Name: "research"}
	child := kube.Ref{Kind: kind.KAIQueue(), Name: "vision"}
	if err := cluster.Delete(t.Context(), child, "vision"); err != nil {
		t.Fatal(err)
	}
	if err := WaitKAIChildren(t.Context(), cluster, parent); err != nil || lists.Load() < 2 {
		t.Errorf("ended after %d lists with %v, but the first one names a child queue", lists.Load(), err)
	}
}
