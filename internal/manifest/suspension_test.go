package manifest_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func workloadOf(mode string) *kind.Workload { return kind.OfMode(mode) }

func labelled(spec, labels map[string]any) map[string]any {
	metadata := map[string]any{}
	if labels != nil {
		metadata["labels"] = labels
	}
	return map[string]any{"metadata": metadata, "spec": spec}
}

func TestResumeRestoresWhatSuspendRecorded(t *testing.T) {
	t.Parallel()
	queued := map[string]any{kind.KueueQueueLabel: "team"}
	annotations := func(values map[string]any) map[string]any {
		return map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": values}}}
	}
	for name, test := range map[string]struct {
		mode   string
		object map[string]any
	}{
		"replicas":        {"deployment", labelled(map[string]any{"replicas": int64(3)}, nil)},
		"absent replicas": {"statefulset", labelled(map[string]any{}, nil)},
		"groups":          {"leaderworkerset", labelled(map[string]any{"replicas": int64(2)}, nil)},
		"a field":         {"raycluster", labelled(map[string]any{"suspend": false}, nil)},
		"a nested field":  {"pytorchjob", labelled(map[string]any{"runPolicy": map[string]any{"suspend": false}}, nil)},
		"scale to zero": {"knative",
			labelled(annotations(map[string]any{kind.MinScaleAnnotation: "2", "other": "x"}), nil)},
		"held by a queue": {"job", labelled(map[string]any{"suspend": true}, queued)},
		"a later setting": {"cronjob", labelled(map[string]any{"suspend": false, "schedule": "x"}, nil)},
		"a queue of pods": {"deployment", labelled(map[string]any{"replicas": int64(1)}, queued)},
		"a node selector": {"daemonset", labelled(map[string]any{"template": map[string]any{"spec": map[string]any{
			"nodeSelector": map[string]any{"a": "b"}}}}, nil)},
		"a tensor server":  {"compute", labelled(map[string]any{"suspend": false}, nil)},
		"no replicas left": {"replicaset", labelled(map[string]any{"replicas": int64(7)}, nil)},
	} {
		of := workloadOf(test.mode)
		before, _ := kind.Copy(test.object).(map[string]any)
		manifest.Suspend(test.object, of)
		if !manifest.IsSuspended(test.object, of) || manifest.QueueOf(test.object, of) != "" {
			t.Errorf("%s: not suspended: %v", name, test.object)
		}
		if err := manifest.Resume(test.object, of, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		kind.SetAt(before, []string{"metadata", "annotations"}, map[string]any{})
		if !reflect.DeepEqual(test.object, before) {
			t.Errorf("%s: resumed %v, want %v", name, test.object, before)
		}
	}
}

// KubeRay starts a suspended RayCluster again only if the field is false, and not if it is absent.
func TestResumeSetsAFieldThatWasAbsentToFalse(t *testing.T) {
	t.Parallel()
	ray := labelled(map[string]any{}, nil)
	manifest.Suspend(ray, workloadOf("raycluster"))
	if err := manifest.Resume(ray, workloadOf("raycluster"), 0); err != nil {
		t.Fatal(err)
	}
	if value, _ := kind.Find(ray, []string{"spec", "suspend"}); value != false {
		t.Errorf("spec.suspend is %v; want false", value)
	}
}

func TestResumedWorkloadOfAQueueIsStartedByTheQueue(t *testing.T) {
	t.Parallel()
	job := labelled(map[string]any{"suspend": false}, map[string]any{kind.KueueQueueLabel: "team"})
	manifest.Suspend(job, workloadOf("job"))
	if err := manifest.Resume(job, workloadOf("job"), 0); err != nil {
		t.Fatal(err)
	}
	if suspended, _ := kind.Find(job, []string{"spec", "suspend"}); suspended != true {
		t.Error("a queued Job is resumed without its queue")
	}
	if queue := manifest.QueueOf(job, workloadOf("job")); queue != "team" {
		t.Errorf("the queue after kt_resume is %q", queue)
	}
}

func TestResumeWithoutARecord(t *testing.T) {
	t.Parallel()
	deployment := labelled(map[string]any{"replicas": int64(0)}, nil)
	if err := manifest.Resume(deployment, workloadOf("deployment"), 0); !errors.Is(err, manifest.ErrReplicasUnknown) {
		t.Errorf("the error is %v, want ErrReplicasUnknown", err)
	}
	if err := manifest.Resume(deployment, workloadOf("deployment"), 4); err != nil {
		t.Error(err)
	}
	if n, _ := kind.NumberAt(deployment, []string{"spec", "replicas"}); n != 4 {
		t.Errorf("%d replicas, want 4", n)
	}
	cluster := labelled(map[string]any{"suspend": true}, nil)
	if err := manifest.Resume(cluster, workloadOf("raycluster"), 0); err != nil || manifest.IsSuspended(cluster,
		workloadOf("raycluster")) {
		t.Errorf("not resumed: %v %v", err, cluster)
	}
}

func TestResumeIgnoresRecordsOfOtherFields(t *testing.T) {
	t.Parallel()
	deployment := labelled(map[string]any{"replicas": int64(0)}, nil)
	kind.SetAt(deployment, []string{"metadata", "annotations", kind.SuspendedAnnotation},
		`[{"Path":["spec","template"],"Value":{}},{"Path":["spec","replicas"],"Value":2}]`)
	if err := manifest.Resume(deployment, workloadOf("deployment"), 0); err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"replicas": int64(2)}; !reflect.DeepEqual(deployment["spec"], want) {
		t.Errorf("the spec is %v, want %v", deployment["spec"], want)
	}
	kind.SetAt(deployment, []string{"metadata", "annotations", kind.SuspendedAnnotation}, "no JSON")
	if err := manifest.Resume(deployment, workloadOf("deployment"), 0); err == nil {
		t.Error("an invalid record is no error")
	}
}

// An apply or another client resumes the workload, and something suspends it later.
func TestOnlyTheRecordOfTheCurrentSuspensionCounts(t *testing.T) {
	t.Parallel()
	queued := map[string]any{kind.KueueQueueLabel: "team"}
	for name, test := range map[string]struct {
		mode         string
		object       map[string]any
		setByAnother string
		stale        bool
	}{
		"no replicas since kt_suspend": {mode: "deployment",
			object: labelled(map[string]any{"replicas": int64(5)}, nil)},
		"no replicas from another client": {mode: "deployment", setByAnother: "replicas", stale: true,
			object: labelled(map[string]any{"replicas": int64(5)}, nil)},
		"absent replicas before": {mode: "statefulset", setByAnother: "replicas", stale: true,
			object: labelled(map[string]any{}, nil)},
		"a field from another client": {mode: "raycluster", setByAnother: "suspend", stale: true,
			object: labelled(map[string]any{"suspend": false}, nil)},
		// kt_suspend has only removed the label.
		"held by a queue before": {mode: "job", setByAnother: "suspend",
			object: labelled(map[string]any{"suspend": true}, queued)},
		"fields that kt_suspend has removed": {mode: "knative", setByAnother: kind.InitialScaleAnnotation,
			object: labelled(map[string]any{"template": map[string]any{"metadata": map[string]any{
				"annotations": map[string]any{kind.InitialScaleAnnotation: "2"}}}}, nil)},
	} {
		of := workloadOf(test.mode)
		manifest.Suspend(test.object, of)
		manifest.ForgetStaleSuspension(&unstructured.Unstructured{Object: test.object}, of,
			func(_ *unstructured.Unstructured, path []string) bool { return path[len(path)-1] != test.setByAnother })
		record := kind.TextAt(test.object, "metadata", "annotations", kind.SuspendedAnnotation)
		if stale := record == ""; stale != test.stale {
			t.Errorf("%s: stale is %t, want %t", name, stale, test.stale)
		}
		var want error
		if test.stale && test.mode != "raycluster" {
			want = manifest.ErrReplicasUnknown
		}
		if err := manifest.Resume(test.object, of, 0); !errors.Is(err, want) {
			t.Errorf("%s: the error of Resume is %v, want %v", name, err, want)
		}
	}
}

func TestScaleSetsTheGroupWhoseNumberCanBeSet(t *testing.T) {
	t.Parallel()
	groups := func(number, size int64) map[string]any {
		return labelled(map[string]any{"replicas": number, "leaderWorkerTemplate": map[string]any{"size": size}}, nil)
	}
	ray := func(replicas, most int64) map[string]any {
		return labelled(map[string]any{"headGroupSpec": map[string]any{}, "workerGroupSpecs": []any{
			map[string]any{"groupName": "w", "replicas": replicas, "maxReplicas": most, "numOfHosts": int64(2)}}}, nil)
	}
	for name, test := range map[string]struct {
		mode         string
		before, want map[string]any
		pods         int64
	}{
		"Deployment": {"deployment", labelled(map[string]any{"replicas": int64(1)}, nil),
			labelled(map[string]any{"replicas": int64(0)}, nil), 0},
		"workers of a RayCluster, of two hosts each": {"raycluster", ray(1, 1), ray(3, 3), 7},
		"a limit that suffices":                      {"raycluster", ray(1, 5), ray(3, 5), 7},
		"Job with completions": {"job",
			labelled(map[string]any{"parallelism": int64(1), "completions": int64(1)}, nil),
			labelled(map[string]any{"parallelism": int64(2), "completions": int64(2)}, nil), 2},
		"Job": {"job", labelled(map[string]any{}, nil), labelled(map[string]any{"parallelism": int64(2)}, nil), 2},
		"a LeaderWorkerSet without groups": {"leaderworkerset",
			groups(0, 2), groups(1, 4), 4},
	} {
		if err := manifest.Scale(test.before, workloadOf(test.mode), test.pods); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(test.before, test.want) {
			t.Errorf("%s: %v, want %v", name, test.before, test.want)
		}
	}
	set := groups(2, 2)
	manifest.Suspend(set, workloadOf("leaderworkerset"))
	err := manifest.Scale(set, workloadOf("leaderworkerset"), 6)
	number, _ := kind.Find(set, []string{"spec", "replicas"})
	size, _ := kind.Find(set, []string{"spec", "leaderWorkerTemplate", "size"})
	if err != nil || number != int64(2) || size != int64(3) {
		t.Errorf("a suspended LeaderWorkerSet has %v groups of %v: %v", number, size, err)
	}
	var impossible *manifest.ScaleError
	if err := manifest.Scale(ray(1, 1), workloadOf("raycluster"), 4); !errors.As(err, &impossible) ||
		impossible.Each != 2 || impossible.Fixed != 1 {
		t.Errorf("the error is %v, want a ScaleError", err)
	}
	onlyHead := labelled(map[string]any{"headGroupSpec": map[string]any{}}, nil)
	if err := manifest.Scale(onlyHead, workloadOf("raycluster"), 4); !errors.As(err, &impossible) {
		t.Errorf("the error is %v, want a ScaleError", err)
	}
}

func TestScaleRefusesFewerPodsThanTheControllerKeeps(t *testing.T) {
	t.Parallel()
	ray := map[string]any{"workerGroupSpecs": []any{map[string]any{"replicas": int64(3), "minReplicas": int64(2),
		"maxReplicas": int64(3), "numOfHosts": int64(2)}}}
	groups := map[string]any{"replicas": int64(3), "leaderWorkerTemplate": map[string]any{"size": int64(2)}}
	led := map[string]any{"leaderWorkerTemplate": map[string]any{"size": int64(3), "leaderTemplate": map[string]any{}}}
	workers := map[string]any{"pytorchReplicaSpecs": map[string]any{"Worker": map[string]any{"replicas": int64(2)}}}
	training := func(specs, policy string) map[string]any {
		return map[string]any{specs: map[string]any{"Worker": map[string]any{"replicas": int64(2),
			"restartPolicy": policy}}}
	}
	const one = "it has at least 1 pod"
	const fails = "its controller would count the removed pods as failed, and the job with them"
	for name, test := range map[string]struct {
		mode string
		spec map[string]any
		pods int64
		want string // "" for none
	}{
		"the limit of a RayCluster": {"raycluster", ray, 5, ""},
		"below the limit of a RayCluster": {"raycluster", ray, 3,
			"it has at least 5 pods (`spec.workerGroupSpecs.0.minReplicas`)"},
		"groups of one pod":   {"leaderworkerset", groups, 3, ""},
		"groups without pods": {"leaderworkerset", groups, 0, "it has at least 3 pods"},
		"only leaders":        {"leaderworkerset", led, 1, ""},
		"not even leaders":    {"leaderworkerset", led, 0, one},
		"one worker":          {"pytorchjob", workers, 1, ""},
		"a job without pods":  {"pytorchjob", workers, 0, one},
		"the master of a job": {"pytorchjob", withMaster(), 1, ""},
		"not even the master": {"pytorchjob", withMaster(), 0, one},
		"a Job of no pods":    {"job", map[string]any{"parallelism": int64(2), "completions": int64(2)}, 0, one},
		"a job that fails":    {"tfjob", training("tfReplicaSpecs", "OnFailure"), 1, fails},
		"a job that grows":    {"tfjob", training("tfReplicaSpecs", "OnFailure"), 3, ""},
		"a job that restarts": {"xgboostjob", training("xgbReplicaSpecs", "ExitCode"), 1, ""},
		"no retries":          {"xgboostjob", training("xgbReplicaSpecs", "OnFailure"), 1, fails},
		"not a number of pods": {"raycluster", ray, 6,
			"it has 1 pod whose number cannot be set, and the others are added 2 at a time"},
		"no group that scales": {"raycluster", map[string]any{}, 2, "it only has 1 pod whose number cannot be set"},
	} {
		workload, _ := kind.Copy(labelled(test.spec, nil)).(map[string]any)
		before := kind.Copy(workload)
		err := manifest.Scale(workload, workloadOf(test.mode), test.pods)
		if got := fmt.Sprint(err); err == nil && test.want != "" || err != nil && got != test.want {
			t.Errorf("%s: the error is %v, want %q", name, err, test.want)
		}
		if err != nil && !reflect.DeepEqual(workload, before) {
			t.Errorf("%s: changed to %v", name, workload)
		}
	}
}

func withMaster() map[string]any {
	return map[string]any{"pytorchReplicaSpecs": map[string]any{"Master": map[string]any{},
		"Worker": map[string]any{"replicas": int64(2)}}}
}
