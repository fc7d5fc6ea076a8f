package ready

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if text == "" {
		return nil
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, []json.RawMessage{data})[0]
}

func quantities(list map[corev1.ResourceName]string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, text := range list {
		out[name] = resource.MustParse(text)
	}
	return out
}

const (
	activeLocal = `{kind: LocalQueue, metadata: {name: gpu, namespace: ml}, spec: {clusterQueue: cq},
        status: {conditions: [{type: Active, status: "True"}]}}`
	fourGPUs = `{name: nvidia.com/gpu, nominalQuota: 4}`
)

// cluster returns a ClusterQueue with one flavor of these quotas, with two GPUs
// in use. more contains other fields of the spec.
func cluster(quotas, more string) string {
	return `{kind: ClusterQueue, metadata: {name: cq}, spec: {` + more + ` resourceGroups: [{flavors: [{name: f,
	  resources: [` + quotas + `]}]}]},
  status: {conditions: [{type: Active, status: "True"}], flavorsReservation: [{name: f,
    resources: [{name: nvidia.com/gpu, total: 2}]}]}}`
}

func TestForecastInAQueue(t *testing.T) {
	t.Parallel()
	const kueue, kai = kind.QueueSchedulerKueue, kind.QueueSchedulerKAI
	gpus := func(n string) map[corev1.ResourceName]string {
		return map[corev1.ResourceName]string{kind.GPUResource: n}
	}
	for name, test := range map[string]struct {
		scheduler string
		missing   bool   // the scheduler is not installed
		queue     string // "" if it does not exist
		unknown   bool   // no permission to read queues
		cluster   string
		requests  map[corev1.ResourceName]string
		reason    string // "" if nothing is reported
		texts     []string
	}{
		"it fits now": {scheduler: kueue, queue: activeLocal, cluster: cluster(fourGPUs, ""),
			requests: gpus("2")},
		"it fits later": {scheduler: kueue, queue: activeLocal, cluster: cluster(fourGPUs, ""),
			requests: gpus("4"), reason: ReasonQueued,
			texts: []string{"4 nvidia.com/gpu requested, it has 4, 2 in use"}},
		"it never fits": {scheduler: kueue, queue: activeLocal, cluster: cluster(fourGPUs, ""),
			requests: gpus("6"), reason: ReasonQueueShort,
			texts: []string{"6 nvidia.com/gpu requested", "never admit more than 4"}},
		"it may borrow enough": {scheduler: kueue, queue: activeLocal,
			cluster:  cluster(`{name: nvidia.com/gpu, nominalQuota: 4, borrowingLimit: 4}`, "cohort: team,"),
			requests: gpus("8"), reason: ReasonQueueShared,
			texts: []string{"8 nvidia.com/gpu requested, it has 4, 2 in use",
				"until cohort team lends the rest, or other"}},
		"it may not borrow enough": {scheduler: kueue, queue: activeLocal,
			cluster:  cluster(`{name: nvidia.com/gpu, nominalQuota: 4, borrowingLimit: 4}`, "cohortName: team,"),
			requests: gpus("9"),
			reason:   ReasonQueueShort, texts: []string{"never admit more than 8"}},
		"it may borrow without a limit": {scheduler: kueue, queue: activeLocal,
			cluster: cluster(fourGPUs, "cohortName: team,"), requests: gpus("99"), reason: ReasonQueueShared},
		"it may preempt in the queue": {scheduler: kueue, queue: activeLocal,
			cluster:  cluster(fourGPUs, "preemption: {withinClusterQueue: LowerPriority},"),
			requests: gpus("4"), reason: ReasonQueueShared,
			texts: []string{"until Kueue preempts other workloads, or other workloads finish"}},
		"it may reclaim quota that it lent": {scheduler: kueue, queue: activeLocal,
			cluster:  cluster(fourGPUs, "cohortName: team, preemption: {reclaimWithinCohort: Any},"),
			requests: gpus("4"), reason: ReasonQueueShared,
			texts: []string{"until cohort team lends the rest, Kueue preempts other workloads, or other"}},
		"it never preempts": {scheduler: kueue, queue: activeLocal,
			cluster:  cluster(fourGPUs, "preemption: {withinClusterQueue: Never, reclaimWithinCohort: Never},"),
			requests: gpus("4"), reason: ReasonQueued, texts: []string{"It waits in the queue until other workloads"}},
		"a resource without quota": {scheduler: kueue, queue: activeLocal, cluster: cluster(fourGPUs, ""),
			requests: map[corev1.ResourceName]string{corev1.ResourceCPU: "1"}, reason: ReasonQueueShort,
			texts: []string{"no quota for cpu"}},
		"more than four resources without quota": {scheduler: kueue, queue: activeLocal, cluster: cluster(fourGPUs, ""),
			requests: map[corev1.ResourceName]string{"a": "1", "b": "1", "c": "1", "d": "1", "e": "1"},
			reason:   ReasonQueueShort, texts: []string{"no quota for d and 1 more", "Next step: Request less"}},
		"more than four resources in use": {scheduler: kueue, queue: activeLocal, cluster: strings.ReplaceAll(
			cluster(`{name: a, nominalQuota: 1}, {name: b, nominalQuota: 1}, {name: c, nominalQuota: 1},
			  {name: d, nominalQuota: 1}, {name: e, nominalQuota: 1}`, ""),
			"resources: [{name: nvidia.com/gpu, total: 2}]",
			`resources: [{name: a, total: 1}, {name: b, total: 1}, {name: c, total: 1}, {name: d, total: 1},
			  {name: e, total: 1}]`),
			requests: map[corev1.ResourceName]string{"a": "1", "b": "1", "c": "1", "d": "1", "e": "1"},
			reason:   ReasonQueued, texts: []string{"1 d requested, it has 1, 1 in use and 1 more."}},
		"more than four resources to borrow": {scheduler: kueue, queue: activeLocal,
			cluster: cluster(`{name: a, nominalQuota: 1}, {name: b, nominalQuota: 1}, {name: c, nominalQuota: 1},
			  {name: d, nominalQuota: 1}, {name: e, nominalQuota: 1}`, "cohortName: team,"),
			requests: map[corev1.ResourceName]string{"a": "2", "b": "2", "c": "2", "d": "2", "e": "2"},
			reason:   ReasonQueueShared, texts: []string{"2 d requested, it has 1, 0 in use and 1 more."}},
		"it reclaims nothing without a cohort": {scheduler: kueue, queue: activeLocal,
			cluster:  cluster(fourGPUs, "preemption: {reclaimWithinCohort: Any},"),
			requests: gpus("4"), reason: ReasonQueued},
		"a request of zero": {scheduler: kueue, queue: activeLocal, cluster: cluster(fourGPUs, ""),
			requests: map[corev1.ResourceName]string{corev1.ResourceCPU: "0"}},
		"a quota for pods": {scheduler: kueue, queue: activeLocal,
			cluster: cluster(fourGPUs+`, {name: pods, nominalQuota: 2}`, ""), requests: gpus("1"),
			reason: ReasonQueueShort,
			texts:  []string{"3 pods"}},
		"the ClusterQueue is unknown": {scheduler: kueue, queue: activeLocal, requests: gpus("99")},
		"the LocalQueue is unknown":   {scheduler: kueue, unknown: true, requests: gpus("99")},
		"the LocalQueue is missing": {scheduler: kueue, requests: gpus("1"), reason: ReasonQueueMissing,
			texts: []string{`LocalQueue "gpu" does not exist in namespace ml`, "Object: LocalQueue ml/gpu\n"}},
		"Kueue is not installed": {scheduler: kueue, missing: true, reason: ReasonQueueMissing,
			texts: []string{"PyTorchJob ml/a", "Kueue is not installed"}},
		"the LocalQueue is stopped": {scheduler: kueue,
			queue: strings.Replace(activeLocal, `status: "True"`,
				`status: "False", reason: Stopped, message: LocalQueue is stopped`, 1), reason: ReasonQueueInactive,
			texts: []string{"LocalQueue gpu currently admits no workloads (Stopped)"}},
		"the ClusterQueue is inactive": {scheduler: kueue, queue: activeLocal,
			cluster: strings.Replace(cluster(fourGPUs, ""), `status: "True"`, `status: "False", reason: FlavorNotFound`,
				1),
			requests: gpus("1"), reason: ReasonQueueInactive,
			texts: []string{"ClusterQueue cq currently admits no workloads (FlavorNotFound)"}},
		"the KAI queue is missing": {scheduler: kai, reason: ReasonQueueMissing,
			texts: []string{`Queue "gpu" does not exist in the cluster`, "Object: Queue gpu\n"}},
		"the KAI queue is unknown": {scheduler: kai, unknown: true, requests: gpus("99")},
		"a KAI queue of another version": {scheduler: kai, queue: `{kind: Queue, metadata: {name: gpu}, spec: none}`,
			requests: gpus("99")},
		"KAI is not installed": {scheduler: kai, missing: true, reason: ReasonQueueMissing,
			texts: []string{"the KAI scheduler is not installed"}},
		"a KAI queue without limits": {scheduler: kai,
			queue:    `{kind: Queue, metadata: {name: gpu}, spec: {resources: {gpu: {quota: 4, limit: -1}}}}`,
			requests: gpus("9")},
		"a KAI queue without resources": {scheduler: kai, queue: `{kind: Queue, metadata: {name: gpu}, spec: {}}`,
			requests: gpus("9")},
		"more GPUs than the KAI limit": {scheduler: kai,
			queue:    `{kind: Queue, metadata: {name: gpu}, spec: {resources: {gpu: {quota: 4, limit: 4}}}}`,
			requests: gpus("6"),
			reason:   ReasonQueueShort, texts: []string{"6 nvidia.com/gpu requested, and its limit is 4",
				"Next step: Request less"}},
		"more of everything than the KAI limits": {scheduler: kai,
			queue: `{kind: Queue, metadata: {name: gpu}, spec: {resources: {gpu: {limit: 4}, cpu: {limit: 1000},
			  memory: {limit: 1000}}}}`,
			requests: map[corev1.ResourceName]string{kind.GPUResource: "6", corev1.ResourceCPU: "2",
				corev1.ResourceMemory: "1Gi"},
			reason: ReasonQueueShort, texts: []string{"limit is 4, 2 cpu requested", "1Gi memory requested"}},
		"as many GPUs as the KAI limit": {scheduler: kai,
			queue:    `{kind: Queue, metadata: {name: gpu}, spec: {resources: {gpu: {quota: 4, limit: 4}}}}`,
			requests: gpus("4")},
		"more memory than the KAI limit": {scheduler: kai,
			queue:    `{kind: Queue, metadata: {name: gpu}, spec: {resources: {memory: {limit: 1000}}}}`,
			requests: map[corev1.ResourceName]string{corev1.ResourceMemory: "1Gi"}, reason: ReasonQueueShort,
			texts: []string{"1Gi memory"}},
		"more CPUs than the KAI limit": {scheduler: kai,
			queue:    `{kind: Queue, metadata: {name: gpu}, spec: {resources: {cpu: {limit: 1500}}}}`,
			requests: map[corev1.ResourceName]string{corev1.ResourceCPU: "2"}, reason: ReasonQueueShort,
			texts: []string{"2 cpu"}},
		"fewer CPUs than the KAI limit": {scheduler: kai,
			queue:    `{kind: Queue, metadata: {name: gpu}, spec: {resources: {cpu: {limit: 2500.5}}}}`,
			requests: map[corev1.ResourceName]string{corev1.ResourceCPU: "2"}},
		"only another KAI queue exists": {scheduler: kai, queue: `{kind: Queue, metadata: {name: other}}`,
			reason: ReasonQueueMissing, texts: []string{"existing queues: other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := &Queue{Scheduler: test.scheduler, Namespace: "ml", Name: "gpu", NotInstalled: test.missing,
				ClusterQueue: parsed(t, test.cluster)}
			if !test.unknown {
				q.Queues = []*unstructured.Unstructured{}
			}
			if test.queue != "" {
				q.Queues = append(q.Queues, parsed(t, test.queue))
			}
			cause := Forecast(q, Demand{Pods: 3, Requests: quantities(test.requests)}, "PyTorchJob ml/a")
			if test.reason == "" {
				if cause != nil {
					t.Errorf("%s: %s", cause.Reason, cause.Summary)
				}
				return
			}
			if cause == nil || cause.Reason != test.reason || !isAction(cause.Hint.In()) {
				t.Fatalf("%+v, want %s", cause, test.reason)
			}
			for _, text := range append(test.texts, "Cause:", "Object:", "kubectl ") {
				if !strings.Contains(Explain(cause, nil), text) {
					t.Errorf("%q is not in:\n%s", text, Explain(cause, nil))
				}
			}
		})
	}
	if Forecast(nil, Demand{}, "") != nil {
		t.Error("a forecast without a queue")
	}
}

// What a compute uses itself is free for it when it is admitted again.
func TestForecastOfAnAdmittedCompute(t *testing.T) {
	t.Parallel()
	workload := func(queue, condition string) *unstructured.Unstructured {
		return parsed(t, `{kind: Workload, metadata: {name: a}, status: {conditions: [`+condition+`],
			admission: {clusterQueue: `+queue+`, podSetAssignments: [{resourceUsage: {nvidia.com/gpu: "1"}},
			{resourceUsage: {nvidia.com/gpu: "1"}}]}}}`)
	}
	waiting := parsed(t, `{kind: Workload, metadata: {name: a}, status: {}}`)
	for name, c := range map[string]struct {
		own  *unstructured.Unstructured
		used string // "" if there is enough quota
	}{
		"its own":                   {workload("cq", ""), ""},
		"waiting":                   {waiting, "2 in use"},
		"finished":                  {workload("cq", `{type: Finished, status: "True"}`), "2 in use"},
		"admitted by another queue": {workload("other", ""), "2 in use"},
	} {
		q := &Queue{Scheduler: kind.QueueSchedulerKueue, Namespace: "ml", Name: "gpu",
			Queues:       []*unstructured.Unstructured{parsed(t, activeLocal)},
			ClusterQueue: parsed(t, cluster(fourGPUs, ""))}
		cause := Forecast(q, Demand{Requests: quantities(map[corev1.ResourceName]string{kind.GPUResource: "4"}),
			Own: []*unstructured.Unstructured{c.own}}, "PyTorchJob ml/a")
		if (cause == nil) != (c.used == "") || cause != nil && !strings.Contains(cause.Summary, c.used) {
			t.Errorf("%s: %+v", name, cause)
		}
	}
}

func TestQueueIsFoundByLabels(t *testing.T) {
	t.Parallel()
	workload := func(labels map[string]string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetLabels(labels)
		return u
	}
	pod := &corev1.Pod{}
	pod.Labels = map[string]string{kind.KAIQueueLabel: "research"}
	for _, test := range []struct {
		workload        *unstructured.Unstructured
		pods            []*corev1.Pod
		scheduler, name string
	}{
		{workload(nil), nil, "", ""},
		{workload(map[string]string{kind.KueueQueueLabel: "gpu"}), []*corev1.Pod{pod}, kind.QueueSchedulerKueue, "gpu"},
		{workload(map[string]string{kind.KAIQueueLabel: "a"}), nil, kind.QueueSchedulerKAI, "a"},
		{workload(nil), []*corev1.Pod{pod}, kind.QueueSchedulerKAI, "research"},
	} {
		if scheduler, name := QueueOf(test.workload, test.pods); scheduler != test.scheduler || name != test.name {
			t.Errorf("%q %q, want %q %q", scheduler, name, test.scheduler, test.name)
		}
	}
}

func TestClusterQueueOfALocalQueue(t *testing.T) {
	t.Parallel()
	q := &Queue{Scheduler: kind.QueueSchedulerKueue, Namespace: "ml", Name: "gpu",
		Queues: []*unstructured.Unstructured{parsed(t, activeLocal)}}
	if got := q.ClusterQueueOf(); got != "cq" {
		t.Errorf("got %q, want cq", got)
	}
	if q.Name = "other"; q.ClusterQueueOf() != "" {
		t.Error("an unknown queue has a ClusterQueue")
	}
}

func TestPodGroupOfAPodIsInItsAnnotations(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{}
	if pod.Annotations = map[string]string{"pod-group-name": "pg-svc"}; PodGroupOf(pod) != "pg-svc" {
		t.Errorf("got %q, want pg-svc", PodGroupOf(pod))
	}
}

func TestUsageOfAKAIQueue(t *testing.T) {
	t.Parallel()
	got := KAIUsage(parsed(t, `{kind: Queue, metadata: {name: gpu}, status: {allocated: {nvidia.com/gpu: 2},
	  requested: {}}}`))
	if gpus := got["allocated"]["nvidia.com/gpu"]; gpus.Value() != 2 || len(got) != 1 {
		t.Errorf("got %v", got)
	}
	if got := KAIUsage(nil); got != nil {
		t.Errorf("without a Queue: %v", got)
	}
}

// KAI refuses to delete a Queue whose status names a child queue.
func TestDeletedChildrenOfAKAIQueueAreRecognized(t *testing.T) {
	t.Parallel()
	exists := func(queue string) bool { return queue == "b" }
	for status, want := range map[string]bool{
		`{childQueues: [a]}`: true, `{childQueues: [a, b]}`: false, `{childQueues: []}`: false, `{}`: false,
	} {
		queue := parsed(t, `{kind: Queue, metadata: {name: gpu}, status: `+status+`}`)
		if got := NamesDeletedChildren(queue, exists); got != want {
			t.Errorf("%s: got %t", status, got)
		}
	}
	if NamesDeletedChildren(nil, exists) {
		t.Error("a missing Queue has children")
	}
}
