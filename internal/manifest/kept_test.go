package manifest_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestRunningPodsAreKeptIfOnlyNewPodsUseTheTemplate(t *testing.T) {
	t.Parallel()
	const ray = `{"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {%s "headGroupSpec": {"template": %s},
		"workerGroupSpecs": [%s]}}`
	const job = `{"apiVersion": "kubeflow.org/v1", "kind": "TFJob",
		"spec": {"tfReplicaSpecs": {"Chief": {"template": %s}, "Worker": {"replicas": %d, "template": %s}}}}`
	const one, two = `{"spec": {"containers": [{"name": "a", "image": "one:1"}]}}`,
		`{"spec": {"containers": [{"name": "a", "image": "two:2"}]}}`
	group := func(template string) string { return fmt.Sprintf(`{"replicas": 1, "template": %s}`, template) }
	named := func(name, template string) string {
		return fmt.Sprintf(`{"groupName": %q, "template": %s}`, name, template)
	}
	plain := func(kind, template string) string {
		return fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": %q, "spec": {"template": %s}}`, kind, template)
	}
	for name, c := range map[string]struct {
		before, after string
		keeps         bool
	}{
		"a worker of a training job": {fmt.Sprintf(job, one, 1, one), fmt.Sprintf(job, one, 1, two), true},
		"more workers":               {fmt.Sprintf(job, one, 1, one), fmt.Sprintf(job, one, 2, one), false},
		"the head of a RayCluster": {fmt.Sprintf(ray, "", one, group(one)), fmt.Sprintf(ray, "", two, group(one)),
			true},
		"a group that is new": {fmt.Sprintf(ray, "", one, group(one)),
			fmt.Sprintf(ray, "", one, group(one)+","+group(two)), false},
		"a group that moves": {fmt.Sprintf(ray, "", one, named("a", one)+","+named("b", two)),
			fmt.Sprintf(ray, "", one, named("b", two)+","+named("a", one)), false},
		"a group before another": {fmt.Sprintf(ray, "", one, named("a", one)),
			fmt.Sprintf(ray, "", one, named("b", two)+","+named("a", one)), false},
		"a group with another template that moves": {fmt.Sprintf(ray, "", one, named("a", one)),
			fmt.Sprintf(ray, "", one, named("b", two)+","+named("a", two)), true},
		"a group with another name": {fmt.Sprintf(ray, "", one, named("a", one)),
			fmt.Sprintf(ray, "", one, named("b", two)), false},
		"a RayCluster that is told to": {fmt.Sprintf(ray, "", one, ""),
			fmt.Sprintf(ray, `"upgradeStrategy": {"type": "Recreate"},`, two, ""), false},
		"a ReplicaSet": {plain("ReplicaSet", one), plain("ReplicaSet", two), true},
		"a Deployment": {plain("Deployment", one), plain("Deployment", two), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var before, after unstructured.Unstructured
			if err := errors.Join(before.UnmarshalJSON([]byte(c.before)),
				after.UnmarshalJSON([]byte(c.after))); err != nil {
				t.Fatal(err)
			}
			if keeps := manifest.KeepsPods(&before, &after); keeps != c.keeps {
				t.Errorf("keeps its pods: %t, want %t", keeps, c.keeps)
			}
		})
	}
}

func TestUpdatesAfterWhichKueueAdmitsAWorkloadAgain(t *testing.T) {
	t.Parallel()
	const queue, elastic = `"labels": {"kueue.x-k8s.io/queue-name": "gpu"}`,
		`"labels": {"kueue.x-k8s.io/queue-name": "gpu"}, "annotations": {"kueue.x-k8s.io/elastic-job": "true"}`
	const image, other = `"containers": [{"name": "a", "image": "one:1"}]`,
		`"containers": [{"name": "a", "image": "two:2"}]`
	const inits, tolerations = `, "initContainers": [{"name": "b"}]`, `, "tolerations": [{"key": "a"}]`
	job := func(metadata, spec string, workers int) *unstructured.Unstructured {
		var out unstructured.Unstructured
		if err := out.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
			"metadata": {%s}, "spec": {"pytorchReplicaSpecs": {"Master": {"template": {"spec": {%s}}},
			"Worker": {"replicas": %d, "template": {"metadata": {"labels": {"n": "%[3]d"}}}}}}}`, metadata, spec,
			workers)); err != nil {
			t.Fatal(err)
		}
		return &out
	}
	relabelled := job(queue, image, 2)
	unstructured.RemoveNestedField(relabelled.Object, "spec", "pytorchReplicaSpecs", "Worker", "template", "metadata")
	for name, c := range map[string]struct {
		before, after *unstructured.Unstructured
		want          bool
	}{
		"an image":                             {job(queue, image, 2), job(queue, other, 2), true},
		"init containers":                      {job(queue, image, 2), job(queue, image+inits, 2), true},
		"fewer pods":                           {job(queue, image, 2), job(queue, image, 1), true},
		"labels of pods":                       {job(queue, image, 2), relabelled, false},
		"a toleration":                         {job(queue, image, 2), job(queue, image+tolerations, 2), false},
		"without a queue":                      {job("", image, 2), job("", other, 2), false},
		"the number of pods of an elastic job": {job(elastic, image, 2), job(elastic, image, 1), false},
		"an image of an elastic job":           {job(elastic, image, 2), job(elastic, other, 2), true},
	} {
		if got := manifest.Requeues(c.before, c.after); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestPodsOfRemovedGroupsAreKept(t *testing.T) {
	t.Parallel()
	ray := func(strategy string, groups ...string) *unstructured.Unstructured {
		workers := ""
		for _, name := range groups {
			workers += "{groupName: " + name + ", template: {}}, "
		}
		return &unstructured.Unstructured{Object: fromYAML(t, "{apiVersion: ray.io/v1, kind: RayCluster, spec: {"+
			strategy+" headGroupSpec: {template: {}}, workerGroupSpecs: ["+workers+"]}}")}
	}
	job := func(roles string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: fromYAML(t, "{apiVersion: kubeflow.org/v1, kind: PyTorchJob, "+
			"spec: {pytorchReplicaSpecs: {"+roles+"}}}")}
	}
	plain := func(kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: fromYAML(t, "{apiVersion: apps/v1, kind: "+kind+"}")}
	}
	for name, c := range map[string]struct {
		before, after *unstructured.Unstructured
		want          []string
	}{
		"removed":             {ray("", "a", "b", "c"), ray("", "b"), []string{"ray.io/group=a", "ray.io/group=c"}},
		"renamed":             {ray("", "a"), ray("", "b"), []string{"ray.io/group=a"}},
		"moved":               {ray("", "a", "b"), ray("", "c", "b", "a"), nil},
		"with all other pods": {ray("", "a"), ray("upgradeStrategy: {type: Recreate},"), nil},
		"a role": {job("Master: {}, Worker: {}"), job("Master: {}"),
			[]string{"training.kubeflow.org/replica-type=worker"}},
		"a Deployment": {plain("Deployment"), plain("Deployment"), nil},
		"a ReplicaSet": {plain("ReplicaSet"), plain("ReplicaSet"), nil},
	} {
		groups := func() string {
			of := kind.WorkloadOf(c.before.GroupVersionKind().GroupKind())
			return fmt.Sprintf("%#v", of.Groups(c.before.Object))
		}
		var got []string
		table := groups()
		for _, group := range manifest.KeptGroups(c.before, c.after) {
			got = append(got, group.Label)
		}
		if now := groups(); now != table {
			t.Errorf("%s: the groups of the kind are %s instead of %s", name, now, table)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the pods of the groups %q are kept, want %q", name, got, c.want)
		}
	}
}

func TestUpdatesThatFailAWorkloadBecauseTheyRemovePods(t *testing.T) {
	t.Parallel()
	job := func(kind, specs, more string, workers int) *unstructured.Unstructured {
		var out unstructured.Unstructured
		if err := out.UnmarshalJSON(fmt.Appendf(nil, `{"apiVersion": "kubeflow.org/v1", "kind": %q, "spec": {%s
			%q: {"Master": {}, "Worker": {"replicas": %d}}}}`, kind, more, specs, workers)); err != nil {
			t.Fatal(err)
		}
		return &out
	}
	const workers = "spec.tfReplicaSpecs.Worker.replicas"
	suspended := `"runPolicy": {"suspend": true},`
	tf := func(more string, workers int) *unstructured.Unstructured {
		return job("TFJob", "tfReplicaSpecs", more, workers)
	}
	for name, c := range map[string]struct {
		before, after *unstructured.Unstructured
		want          string
	}{
		"fewer":              {tf("", 2), tf("", 1), workers},
		"none":               {tf("", 1), tf("", 0), workers},
		"as many":            {tf("", 2), tf("", 2), ""},
		"more":               {tf("", 1), tf("", 2), ""},
		"of a suspended job": {tf(suspended, 2), tf("", 1), ""},
		"and suspended":      {tf("", 2), tf(suspended, 1), ""},
		"of dynamic workers": {tf(`"enableDynamicWorker": true,`, 2), tf(`"enableDynamicWorker": true,`, 1), ""},
		"that no longer are": {tf("", 2), tf(`"enableDynamicWorker": true,`, 1), workers},
		"of a kind that shrinks": {job("PyTorchJob", "pytorchReplicaSpecs", "", 2),
			job("PyTorchJob", "pytorchReplicaSpecs", "", 1), ""},
	} {
		if got := manifest.FailsSmaller(c.before, c.after); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestKindsWithImmutablePods(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	immutable := map[string]bool{}
	for _, file := range files {
		object := &unstructured.Unstructured{Object: manifestFile(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))}
		immutable[object.GetKind()] = manifest.HasImmutablePods(object)
	}
	for k, is := range immutable {
		if want := slices.Contains([]string{"Job", "JobSet", "Pod", "RayJob"}, k); is != want {
			t.Errorf("the pods of a %s are immutable: %t, want %t", k, is, want)
		}
	}
	if len(immutable) < 15 {
		t.Errorf("only %d kinds are tested", len(immutable))
	}
}
