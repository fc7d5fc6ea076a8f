package kinds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	k8s "k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// A fakeController writes the status of objects whose real controllers are not
// available in the tests.
type fakeController struct {
	gvr    schema.GroupVersionResource
	status func(*unstructured.Unstructured) map[string]any
	// pods returns the number of pods for the template at each path. Nil means no pods.
	pods func(*unstructured.Unstructured) map[string]int64
	// service returns the spec of the Service that the controller creates, with the name of the object. Nil means none.
	service func(*unstructured.Unstructured) map[string]any
}

func mxJobs() fakeController {
	return fakeController{
		gvr: schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: "mxjobs"},
		status: func(obj *unstructured.Unstructured) map[string]any {
			if suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "runPolicy", "suspend"); suspended {
				return map[string]any{"conditions": conditions("Created", "Suspended"), "replicaStatuses": nil}
			}
			active := map[string]any{}
			for role, number := range mxRoles(obj) {
				active[role] = map[string]any{"active": number}
			}
			return map[string]any{"conditions": conditions("Created", "Running"), "replicaStatuses": active}
		},
		pods: func(obj *unstructured.Unstructured) map[string]int64 {
			all := map[string]int64{}
			if suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "runPolicy", "suspend"); !suspended {
				for role, number := range mxRoles(obj) {
					all["spec.mxReplicaSpecs."+role+".template"] = number
				}
			}
			return all
		},
	}
}

// mxRoles returns the number of pods of each role of an MXJob.
func mxRoles(job *unstructured.Unstructured) map[string]int64 {
	roles, _, _ := unstructured.NestedMap(job.Object, "spec", "mxReplicaSpecs")
	all := map[string]int64{}
	for role := range roles {
		all[role], _, _ = unstructured.NestedInt64(job.Object, "spec", "mxReplicaSpecs", role, "replicas")
	}
	return all
}

// run replaces the pods of an object.
func (s fakeController) run(ctx context.Context, client k8s.Interface, obj *unstructured.Unstructured) {
	pods := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(obj.GetNamespace())
	now := int64(0)
	_ = pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now},
		metav1.ListOptions{LabelSelector: "kubetorch.com/service=" + obj.GetName()})
	for path, number := range s.pods(obj) {
		template, _, _ := unstructured.NestedMap(obj.Object, strings.Split(path, ".")...)
		for range number {
			pod := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(template)}
			pod.SetAPIVersion("v1")
			pod.SetKind("Pod")
			pod.SetGenerateName(obj.GetName() + "-")
			pod.SetOwnerReferences(controlledBy(obj))
			_, _ = pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: "controller"})
		}
	}
}

func controlledBy(obj *unstructured.Unstructured) []metav1.OwnerReference {
	controller := true
	return []metav1.OwnerReference{{
		APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName(), UID: obj.GetUID(),
		Controller: &controller, BlockOwnerDeletion: &controller,
	}}
}

// serve creates the Service of an object.
func (s fakeController) serve(ctx context.Context, client k8s.Interface, obj *unstructured.Unstructured) {
	service := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service",
		"spec": s.service(obj)}}
	service.SetName(obj.GetName())
	service.SetOwnerReferences(controlledBy(obj))
	_, _ = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).
		Namespace(obj.GetNamespace()).Create(ctx, service, metav1.CreateOptions{FieldManager: "controller"})
}

func fleets() fakeController {
	return fakeController{
		gvr: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "fleets"},
		status: func(obj *unstructured.Unstructured) map[string]any {
			return map[string]any{"observedGeneration": obj.GetGeneration(), "conditions": conditions("Ready")}
		},
	}
}

func conditions(kinds ...string) []any {
	var all []any
	for _, kind := range kinds {
		all = append(all,
			map[string]any{"type": kind, "status": "True", "reason": kind,
				"lastTransitionTime": "2026-01-01T00:00:00Z"})
	}
	return all
}

// controllerDelay is the time until the controller notices a change, and then that until it has reached the new state.
// Until the first, the status is that of the state before.
const controllerDelay = 200 * time.Millisecond

// undecided returns a status whose conditions are all unknown, as controllers write it before they know the outcome.
func undecided(status map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(status)
	all, _ := out["conditions"].([]any)
	for _, condition := range all {
		if condition, ok := condition.(map[string]any); ok {
			condition["status"] = "Unknown"
		}
	}
	return out
}

// play updates the status after every change in a namespace until the test ends.
func (s fakeController) play(t *testing.T, on *acctest.Cluster, ns string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", on.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := k8s.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	objects := client.Resource(s.gvr).Namespace(ns)
	changes, err := objects.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		seen := map[types.UID]int64{}
		for change := range changes.ResultChan() {
			obj, ok := change.Object.(*unstructured.Unstructured)
			if !ok || obj.GetDeletionTimestamp() != nil || seen[obj.GetUID()] == obj.GetGeneration() {
				continue
			}
			seen[obj.GetUID()] = obj.GetGeneration()
			if s.pods != nil {
				s.run(ctx, client, obj)
			}
			if s.service != nil {
				s.serve(ctx, client, obj)
			}
			status := s.status(obj)
			for _, current := range []map[string]any{undecided(status), status} {
				time.Sleep(controllerDelay)
				patch, err := json.Marshal(map[string]any{"status": current})
				if err == nil {
					_, _ = objects.Patch(ctx, obj.GetName(), types.MergePatchType, patch,
						metav1.PatchOptions{FieldManager: "controller"}, "status")
				}
			}
		}
	}()
	t.Cleanup(func() {
		changes.Stop()
		cancel()
		<-done
	})
}

func TestAccLifeCycleOfAnMXJob(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	mxJobs().play(t, on, ns)
	job := func(workers int) string {
		return acctest.Manifest(fmt.Sprintf(`
apiVersion: kubeflow.org/v1
kind: MXJob
spec:
  jobMode: MXTrain
  mxReplicaSpecs:
    Scheduler: {replicas: 1, template: {spec: {containers: [{name: mxnet, image: "mine:1"}]}}}
    Server: {replicas: 1, template: {spec: {containers: [{name: mxnet, image: "mine:1"}]}}}
    Worker: {replicas: %d, template: {spec: {containers: [{name: mxnet, image: "mine:1"}]}}}`, workers))
	}
	acctest.LifeCycle{
		Mode: "mxjob", Created: job(2), Changed: job(3),
		Kubectl: []string{"patch", "mxjob/trainer", "--type=merge", "-p",
			`{"spec": {"mxReplicaSpecs": {"Worker": {"replicas": 5}}}}`},
		Drifts: []string{"replicas"},
	}.Run(t, on, ns)
}

// withFleets returns the cluster with the kind Fleet, which the provider does not know.
func withFleets(t *testing.T) *acctest.Cluster {
	t.Helper()
	withCRDs.Apply(t, acctest.FleetCRD)
	withCRDs.Established(t, "fleets.example.com")
	return withCRDs
}

// fleetOf returns the attributes of a compute that is a Fleet of two pods.
func fleetOf(image string) string {
	return acctest.Manifest(fmt.Sprintf(`
apiVersion: example.com/v1
kind: Fleet
spec: {size: 2, pods: {template: {spec: {containers: [{name: kubetorch, image: %q}]}}}}`, image)) + `
  pod_template_path = "spec.pods.template"`
}

func TestAccKindWithAPodTemplatePathIsAppliedAndDestroyed(t *testing.T) {
	t.Parallel()
	on := withFleets(t)
	ns := on.Namespace(t)
	fleets().play(t, on, ns)
	config := func(image string) string { return on.Config(ns, acctest.BareCompute(fleetOf(image))) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: config("mine:1"),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(acctest.Trainer, "mode", "fleet"),
					resource.TestCheckResourceAttr(acctest.Trainer, "image", "mine:1"),
					resource.TestCheckResourceAttr(acctest.Trainer, "ready", "true"),
				),
			},
			{
				Config: config("mine:2"),
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction(acctest.Trainer,
					plancheck.ResourceActionUpdate)),
				Check: resource.TestCheckResourceAttr(acctest.Trainer, "image", "mine:2"),
			},
		},
	})
	if left := on.Kubectl(t, "get", "fleets,services", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

// A status with only a phase, and with a generation as text, does not show whether
// the object is ready.
func TestAccKindWithoutAReadyConditionIsReadyIfItsPodsAre(t *testing.T) {
	t.Parallel()
	on := withFleets(t)
	ns := on.Namespace(t)
	fleet := fleets()
	fleet.status = func(obj *unstructured.Unstructured) map[string]any {
		return map[string]any{"phase": "Running", "observedGeneration": fmt.Sprint(obj.GetGeneration())}
	}
	fleet.pods = func(*unstructured.Unstructured) map[string]int64 { return map[string]int64{"spec.pods.template": 2} }
	fleet.play(t, on, ns)
	config := func(image, limit string) string {
		return on.Config(ns, acctest.ComputeWithTimeout(limit, fleetOf(image)))
	}
	ready := func(is string) resource.TestCheckFunc {
		return resource.TestCheckResourceAttr(acctest.Trainer, "ready", is)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config("broken.invalid/never:1", acctest.ShortTimeout), Check: ready("false"),
				ExpectNonEmptyPlan: true},
			{Config: config("mine:1", "2m"), Check: ready("true")},
			{RefreshState: true, Check: ready("true")},
		},
	})
}

// Server-side apply makes null of a map whose last entry it removes, which the schema of KubeRay rejects.
func TestAccLastEntryOfAMapOfACustomResourceIsRemoved(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	computes := withCRDs.Resources(t, "kt_compute", ns, "")
	body := func(params string) map[string]string {
		return map[string]string{"ray": "name = \"ray\"\non_not_ready = \"ignore\"\n" + acctest.Manifest(
			"apiVersion: ray.io/v1\nkind: RayCluster\nspec: {headGroupSpec: {rayStartParams: "+params+
				", template: {spec: {containers: [{name: kubetorch, image: 'ray:1'}]}}}}")}
	}
	read := func(field string) string {
		return withCRDs.Kubectl(t, "get", "raycluster/ray", "-n", ns, "-o", "jsonpath={"+field+"}")
	}
	computes.Change(t, body("{num-cpus: '1', port: '6380'}"))
	uid := read(".metadata.uid")
	for _, params := range []string{"{}", "{num-cpus: '2'}", "{}"} {
		computes.Change(t, body(params))
		computes.ExpectNoChange(t, body(params))
	}
	if got, now := read(".spec.headGroupSpec.rayStartParams"), read(".metadata.uid"); got != "{}" || now != uid {
		t.Errorf("rayStartParams is %s, and the UID %s, before %s", got, now, uid)
	}
}
