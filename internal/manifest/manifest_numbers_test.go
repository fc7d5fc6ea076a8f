package manifest_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestNumbersOfTheManifestAreKeptUnlessAttributesSetThem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		manifest string
		asked    int64 // zero: nothing was
		want     map[string]any
	}{
		"none at all": {"{apiVersion: apps/v1, kind: Deployment}", 0,
			map[string]any{"/spec/replicas": nil, "/spec/strategy/type": nil}},
		"the manifest's": {"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}}", 0,
			map[string]any{"/spec/replicas": int64(3), "/spec/strategy/type": "Recreate"}},
		"the attribute's": {"{apiVersion: apps/v1, kind: Deployment}", 4,
			map[string]any{"/spec/replicas": int64(4), "/spec/strategy/type": "Recreate"}},
		"both alike": {"{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}}", 2,
			map[string]any{"/spec/replicas": int64(2), "/spec/strategy/type": nil}},
		"a job's": {"{apiVersion: batch/v1, kind: Job}", 2,
			map[string]any{"/spec/parallelism": int64(2), "/spec/completions": int64(2)}},
		"a job's completions": {"{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2}}", 2,
			map[string]any{"/spec/parallelism": int64(2), "/spec/completions": int64(2)}},
		"a Ray cluster's": {"{apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {}}}", 3,
			map[string]any{"/spec/workerGroupSpecs/0/replicas": int64(2),
				"/spec/workerGroupSpecs/0/groupName": "worker-group"}},
		"a Ray head's alone": {"{apiVersion: ray.io/v1, kind: RayCluster}", 1,
			map[string]any{"/spec/workerGroupSpecs/0/replicas": nil}},
		"a training job's": {"{apiVersion: kubeflow.org/v1, kind: XGBoostJob, spec: {xgbReplicaSpecs: {Master: {}}}}",
			3, map[string]any{"/spec/xgbReplicaSpecs/Worker/replicas": int64(2),
				"/spec/xgbReplicaSpecs/Master/replicas": nil}},
		"elastic workers'": {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Worker: " +
			"{}}}}", 3, map[string]any{"/spec/pytorchReplicaSpecs/Worker/replicas": int64(3)}},
		"a master's alone": {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Master: " +
			"{}, Worker: {}}}}", 1, map[string]any{"/spec/pytorchReplicaSpecs/Worker/replicas": int64(0)}},
		"of groups": {"{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 2}}", 6,
			map[string]any{"/spec/leaderWorkerTemplate/size": int64(3), "/spec/replicas": int64(2)}},
		"of groups of leaders": {"{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: " +
			"{leaderWorkerTemplate: {leaderTemplate: {}}}}", 4,
			map[string]any{"/spec/leaderWorkerTemplate/size": int64(4), "/spec/replicas": nil}},
		"of a JobSet's others": {"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: " +
			"[{name: a}, {name: b, replicas: 2}]}}", 5,
			map[string]any{"/spec/replicatedJobs/0/template/spec/parallelism": int64(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := render(t, minimal(func(c *manifest.Compute) {
				c.Manifest = fromYAML(t, tc.manifest)
				c.Replicas, c.ReplicasGiven = max(tc.asked, 1), tc.asked > 0
			}))[0]
			got := leaves(o.Object)
			for pointer, want := range tc.want {
				if got[pointer] != want {
					t.Errorf("%s is %v, want %v", pointer, got[pointer], want)
				}
			}
			if seen := manifest.Observe(o); tc.asked > 0 && seen.Replicas != tc.asked {
				t.Errorf("observed %d replicas, want %d", seen.Replicas, tc.asked)
			}
		})
	}
}

func TestLiveNumbersOfPodsArePreserved(t *testing.T) {
	t.Parallel()
	const jobSet = "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [%s]}}"
	for name, test := range map[string]struct {
		rendered, prior string
		suspended       bool
		resumed         int64
		want            map[string]any
	}{
		"of a Deployment": {
			rendered: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}}",
			prior:    "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 5}}",
			want:     map[string]any{"/spec/replicas": int64(5)},
		},
		"that nobody manages": {
			rendered: "{apiVersion: apps/v1, kind: Deployment}", prior: "{apiVersion: apps/v1, kind: Deployment}",
			want: map[string]any{"/spec/replicas": nil},
		},
		"of a Deployment without pods": {
			rendered: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}}",
			prior:    "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}}",
			want:     map[string]any{"/spec/replicas": int64(0)},
		},
		"not if the workload is suspended": {
			rendered:  "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}}",
			prior:     "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 5}}",
			suspended: true, want: map[string]any{"/spec/replicas": int64(0)},
		},
		"before the suspension": {
			rendered:  "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}}",
			prior:     "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}}",
			suspended: true, resumed: 5, want: map[string]any{"/spec/replicas": int64(5)},
		},
		"not if the one before the suspension is unknown": {
			rendered:  "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}}",
			prior:     "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}}",
			suspended: true, want: map[string]any{"/spec/replicas": int64(2)},
		},
		"of a suspended Job": {
			rendered:  "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2, completions: 2, suspend: true}}",
			prior:     "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 3, completions: 3}}",
			suspended: true,
			want:      map[string]any{"/spec/parallelism": int64(3), "/spec/completions": int64(3)},
		},
		"of a Job whose completions only the manifest has": {
			rendered: "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2, completions: 8}}",
			prior:    "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 3, completions: 8}}",
			want:     map[string]any{"/spec/parallelism": int64(3), "/spec/completions": int64(8)},
		},
		"of groups": {
			rendered: "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 1, " +
				"leaderWorkerTemplate: {size: 2}}}",
			prior: "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 3, " +
				"leaderWorkerTemplate: {size: 2}}}",
			want: map[string]any{"/spec/replicas": int64(3), "/spec/leaderWorkerTemplate/size": int64(2)},
		},
		"of no groups": {
			rendered: "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 1, " +
				"leaderWorkerTemplate: {leaderTemplate: {}, size: 2}}}",
			prior: "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 0, " +
				"leaderWorkerTemplate: {leaderTemplate: {}, size: 4}}}",
			want: map[string]any{"/spec/replicas": int64(0), "/spec/leaderWorkerTemplate/size": int64(4)},
		},
		"of the job with the same name": {
			rendered: fmt.Sprintf(jobSet, "{name: new, replicas: 7}, {name: a, replicas: 1, template: {spec: "+
				"{parallelism: 2}}}"),
			prior: fmt.Sprintf(jobSet, "{name: a, replicas: 3, template: {spec: {parallelism: 4}}}"),
			want: map[string]any{"/spec/replicatedJobs/0/replicas": int64(7),
				"/spec/replicatedJobs/1/replicas":                  int64(3),
				"/spec/replicatedJobs/1/template/spec/parallelism": int64(4)},
		},
		"of the workers of a training job": {
			rendered: "{apiVersion: kubeflow.org/v1, kind: TFJob, spec: {tfReplicaSpecs: {Chief: {}, " +
				"Worker: {replicas: 1}}}}",
			prior: "{apiVersion: kubeflow.org/v1, kind: TFJob, spec: {tfReplicaSpecs: {Chief: {}, " +
				"Worker: {replicas: 4}}}}",
			want: map[string]any{"/spec/tfReplicaSpecs/Worker/replicas": int64(4)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := func(text string) *unstructured.Unstructured {
				return &unstructured.Unstructured{Object: fromYAML(t, text)}
			}
			rendered := object(test.rendered)
			manifest.PreserveReplicas(rendered, object(test.prior), test.suspended, test.resumed)
			got := leaves(rendered.Object)
			for pointer, want := range test.want {
				if kind.Number(got[pointer]) != want {
					t.Errorf("%s is %v, want %v", pointer, got[pointer], want)
				}
			}
		})
	}
}

func TestHeadlessServiceOfAControllerIsNotRendered(t *testing.T) {
	t.Parallel()
	jobSet := func(network string) string {
		return "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, " +
			"spec: {network: " + network + ", replicatedJobs: [{name: a}]}}"
	}
	rayCluster := func(groups string) string {
		return "{apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {}, " +
			"workerGroupSpecs: [" + groups + "]}}"
	}
	for name, test := range map[string]struct {
		workload string
		want     []string
	}{
		"by default":             {jobSet("{}"), []string{"x"}},
		"with another name":      {jobSet("{subdomain: other}"), []string{"x", "x-headless"}},
		"that the user disabled": {jobSet("{enableDNSHostnames: false}"), []string{"x", "x-headless"}},
		"of a RayCluster with workers on several hosts": {
			rayCluster("{groupName: a}, {groupName: b, numOfHosts: 2}"), []string{"x"}},
		"of a RayCluster with one host for each worker": {
			rayCluster("{groupName: a}, {groupName: b, numOfHosts: 1}"), []string{"x", "x-headless"}},
		"of a RayCluster without workers": {rayCluster(""), []string{"x", "x-headless"}},
	} {
		var services []string
		for _, o := range render(t, minimal(func(c *manifest.Compute) {
			c.Name, c.Manifest = "x", fromYAML(t, test.workload)
			if c.Manifest["kind"] == "JobSet" {
				c.Distribute = &manifest.Distribute{Type: "pytorch"}
			}
		})) {
			if o.GetKind() == "Service" {
				services = append(services, o.GetName())
			}
		}
		if !slices.Equal(services, test.want) {
			t.Errorf("%s: the Services are %v, want %v", name, services, test.want)
		}
	}
}

func TestOnlyWorkloadsThatKueueResumesAreHeld(t *testing.T) {
	t.Parallel()
	held := func(file string, change func(*manifest.Compute)) any {
		c := minimal(change)
		c.Manifest, c.HeldByQueue = manifestFile(t, file), true
		o := render(t, c)[0]
		for _, path := range manifest.LeftAfterCreation(o.GroupVersionKind()) {
			if value, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...); ok {
				return value
			}
		}
		return nil
	}
	kueue := func(c *manifest.Compute) { c.QueueName = "q" }
	if got := held("pytorchjob", kueue); got != true {
		t.Errorf("a PyTorchJob in a queue of Kueue is held: %v", got)
	}
	if got := held("pytorchjob", func(c *manifest.Compute) { c.QueueName, c.QueueScheduler = "q", "kai" }); got != nil {
		t.Errorf("a PyTorchJob in a queue of KAI is held: %v", got)
	}
	if got := held("pytorchjob", func(*manifest.Compute) {}); got != nil {
		t.Errorf("a PyTorchJob without a queue is held: %v", got)
	}
	if got := held("job", kueue); got != true {
		t.Errorf("a Job in a queue of Kueue is held: %v", got)
	}
	if got := held("deployment", kueue); got != nil {
		t.Errorf("a Deployment, whose pods Kueue gates, is held: %v", got)
	}
}

func TestJobsOfACronJobAreQueued(t *testing.T) {
	t.Parallel()
	c := minimal(func(c *manifest.Compute) { c.QueueName = "q" })
	c.Manifest = manifestFile(t, "cronjob")
	got, _, _ := unstructured.NestedString(render(t, c)[0].Object, "spec", "jobTemplate", "metadata", "labels",
		kind.KueueQueueLabel)
	if got != "q" {
		t.Errorf("the queue of its Jobs is %q", got)
	}
}

func TestWorkersSetTheNumberOfPodsOfAManifest(t *testing.T) {
	t.Parallel()
	quorum := int64(2)
	c := minimal(func(c *manifest.Compute) {
		c.Distribute = &manifest.Distribute{Type: "pytorch", QuorumWorkers: &quorum}
	})
	c.Manifest = map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet",
		"spec": map[string]any{"replicas": int64(2)}}
	if _, err := manifest.Render(c); err != nil {
		t.Error(err)
	}
}

func TestResumedWorkloadsAreExplicitlyNotSuspended(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]any{"raycluster": false, "pytorchjob": false, "deployment": nil} {
		c := minimal(func(c *manifest.Compute) { c.Resumed = true })
		c.Manifest = manifestFile(t, file)
		o := render(t, c)[0]
		var got any
		for _, path := range [][]string{{"spec", "suspend"}, {"spec", "runPolicy", "suspend"}} {
			if value, ok, _ := unstructured.NestedFieldNoCopy(o.Object, path...); ok {
				got = value
			}
		}
		if got != want {
			t.Errorf("%s: suspend is %v, want %v", file, got, want)
		}
	}
}

func TestSuspensionOfAManifestIsKeptUntilAQueueAdmitsTheWorkload(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		queue         string
		held, resumed bool
		only          bool
		want          any
	}{
		"created":                      {"", false, false, false, true},
		"updated":                      {"", false, true, false, true},
		"updated as it is":             {"", false, true, true, true},
		"created in a queue":           {"q", true, false, false, true},
		"held by the queue":            {"q", true, true, false, true},
		"admitted by the queue":        {"q", false, false, false, nil},
		"admitted by the queue, as is": {"q", false, false, true, nil},
	} {
		c := minimal(func(c *manifest.Compute) {
			c.HeldByQueue, c.Resumed, c.ManifestOnly = test.held, test.resumed, test.only
		})
		c.Manifest = manifestFile(t, "job")
		kind.SetAt(c.Manifest, []string{"spec", "suspend"}, true)
		if test.queue != "" {
			kind.SetAt(c.Manifest, []string{"metadata", "labels", kind.KueueQueueLabel}, test.queue)
		}
		if got, _ := kind.Find(render(t, c)[0].Object, []string{"spec", "suspend"}); got != test.want {
			t.Errorf("%s: suspend is %v, want %v", name, got, test.want)
		}
	}
}

func TestSuspendedWorkloadsLeaveTheirQueue(t *testing.T) {
	t.Parallel()
	for file, stays := range map[string]bool{"job": false, "pytorchjob": false, "deployment": true} {
		c := minimal(func(c *manifest.Compute) { c.QueueName, c.Suspend = "q", true })
		c.Manifest = manifestFile(t, file)
		if _, in := render(t, c)[0].GetLabels()[kind.KueueQueueLabel]; in != stays {
			t.Errorf("a suspended %s is in its queue: %v", file, in)
		}
	}
}
