package actions_test

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const (
	template = `template: {metadata: {labels: {kubetorch.com/service: trainer}}, ` +
		`spec: {containers: [{name: kubetorch, image: "a:1"}]}}`
	jobTemplate = `template: {metadata: {labels: {kubetorch.com/service: trainer}}, ` +
		`spec: {restartPolicy: Never, containers: [{name: kubetorch, image: "a:1"}]}}`
	selected   = `selector: {matchLabels: {kubetorch.com/service: trainer}}, `
	rayCluster = `{headGroupSpec: {rayStartParams: {}, ` + template + `}, workerGroupSpecs: [{groupName: w, ` +
		`replicas: 1, minReplicas: 0, maxReplicas: 1, rayStartParams: {}, ` + template + `}]}`
	roles = `{Master: {replicas: 1, restartPolicy: OnFailure, ` + jobTemplate + `}, ` +
		`Worker: {replicas: 1, restartPolicy: OnFailure, ` + jobTemplate + `}}`
)

// specs returns the spec of a workload with two pods, by kind.
func specs() map[string]string {
	return map[string]string{
		"Deployment":      `{replicas: 2, ` + selected + template + `}`,
		"StatefulSet":     `{replicas: 2, serviceName: trainer, ` + selected + template + `}`,
		"DaemonSet":       `{` + selected + template + `}`,
		"ReplicaSet":      `{replicas: 2, ` + selected + template + `}`,
		"Pod":             `{containers: [{name: kubetorch, image: "a:1"}]}`,
		"Job":             `{parallelism: 2, ` + strings.Replace(jobTemplate, "a:1", "broken.invalid/pull:1", 1) + `}`,
		"CronJob":         `{schedule: "0 3 1 1 *", jobTemplate: {spec: {` + jobTemplate + `}}}`,
		"Knative Service": `{` + template + `}`,
		"JobSet": `{replicatedJobs: [{name: w, replicas: 1, template: {spec: {parallelism: 2, ` +
			jobTemplate + `}}}]}`,
		"LeaderWorkerSet": `{replicas: 1, leaderWorkerTemplate: {size: 2, workerT` + template[1:] + `}}`,
		"RayCluster":      rayCluster,
		"RayJob":          `{entrypoint: a, shutdownAfterJobFinishes: true, rayClusterSpec: ` + rayCluster + `}`,
		"PyTorchJob":      `{pytorchReplicaSpecs: ` + roles + `}`,
		"TFJob":           `{tfReplicaSpecs: ` + roles + `}`,
		"XGBoostJob":      `{xgbReplicaSpecs: ` + roles + `}`,
		"MXJob": `{jobMode: Train, mxReplicaSpecs: ` +
			strings.Replace(roles, "Master", "Scheduler", 1) + `}`,
		kind.RuntimeSkyTorch: `{image: "a:1", labels: {kubetorch.com/service: trainer}}`,
		kind.RuntimeKPU:      `{image: "a:1", labels: {kubetorch.com/service: trainer}}`,
	}
}

func specOf(k kind.Kind) string {
	if k.Server != nil {
		return specs()[k.Server.Runtime]
	}
	return specs()[k.Word()]
}

// TestAccActionsOfEveryKindWorkOrAreRefusedByName invokes each action on each kind of workload. No controllers act on
// the kinds of other projects, so the pods of these are created here, and the actions do not wait.
func TestAccActionsOfEveryKindWorkOrAreRefusedByName(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t).WithComputes(t)
	for _, k := range kind.Workloads() {
		t.Run(k.Mode+"."+k.Group, func(t *testing.T) {
			t.Parallel()
			if specOf(k) == "" {
				t.Fatalf("no spec of a %s", k.Word())
			}
			w := &workload{t: t, kind: k, ns: withCRDs.Namespace(t)}
			w.create()
			for _, check := range []func(){w.restart, w.scale, w.suspendAndResume, w.evacuate} {
				check()
			}
		})
	}
}

// workload is a workload with the name trainer.
type workload struct {
	t    *testing.T
	kind kind.Kind
	ns   string
}

func (w *workload) create() {
	w.t.Helper()
	withCRDs.Apply(w.t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: trainer, labels: "+
		"{kubetorch.com/service: trainer}}\nspec: %s\n", w.kind.GroupVersion(), w.kind.Kind, specOf(w.kind)),
		"-n", w.ns)
	w.createPods()
}

// createPods creates the pods that no controller creates, and waits until a pod has a node.
func (w *workload) createPods() {
	w.t.Helper()
	if w.kind.Custom() {
		owner := w.live()
		for i := range 2 {
			withCRDs.Apply(w.t, fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: trainer-%d\n  labels: "+
				"{kubetorch.com/service: trainer}\n  ownerReferences: [{apiVersion: %s, kind: %s, name: trainer, "+
				"uid: %s, controller: true}]\nspec: {containers: [{name: a, image: \"a:1\"}]}", i,
				owner.GetAPIVersion(), owner.GetKind(), owner.GetUID()), "-n", w.ns)
		}
	}
	if w.kind.Mode != "cronjob" {
		withCRDs.WaitForOutput(w.t, "-", true, "get", "pods", "-n", w.ns, "-o", "jsonpath={.items[*].spec.nodeName}")
	}
}

// isReady reports whether the pods of the workload become ready.
func (w *workload) isReady() bool { return !w.kind.Custom() && w.kind.Mode != "job" }

func (w *workload) live() *unstructured.Unstructured {
	w.t.Helper()
	return live(w.t, withCRDs, w.ns, w.kind.Argument()+"/trainer")
}

// invoke runs an action. It returns false if the kind refuses the operation, as it must report by name.
func (w *workload) invoke(o kind.Operation, action string, attributes map[string]any) (result, bool) {
	w.t.Helper()
	all := map[string]any{"id": w.ns + "/trainer", "wait": w.isReady()}
	maps.Copy(all, attributes)
	r := invoke(w.t, withCRDs, "kt_"+action, all)
	refusal, refused := w.kind.Refuses[o]
	if some := w.kind.RefusesSome[o]; some != nil {
		if r := some(w.live().Object); r != nil {
			refusal, refused = *r, true
		}
	}
	if !refused {
		if len(r.errors) > 0 {
			w.t.Fatalf("kt_%s failed:\n%s", action, r)
		}
		return r, true
	}
	acctest.ExpectText(w.t, r.String(), fmt.Sprintf("Cannot %s %s %s/trainer", action, w.kind.Word(), w.ns),
		refusal.Why, "Next step: ", "The action has not changed anything.")
	return r, false
}

func (w *workload) restart() {
	w.t.Helper()
	before := w.live()
	r, ok := w.invoke(kind.Restarting, "restart", nil)
	if !ok {
		return
	}
	if w.kind.Restart(before.Object) == kind.ByDeletion {
		acctest.ExpectText(w.t, r.String(), "Deleting 2 pods", "Deleted 2 pods")
		return
	}
	for _, g := range w.kind.Groups(before.Object) {
		at := kind.Under(g.Template, "metadata", "annotations", kind.RestartedAtAnnotation)
		if kind.TextAt(w.live().Object, at...) == "" {
			w.t.Errorf("the template at %v has no annotation after a restart", g.Template)
		}
	}
}

func (w *workload) scale() {
	w.t.Helper()
	r, ok := w.invoke(kind.Scaling, "scale", map[string]any{"replicas": 3})
	if !ok {
		return
	}
	after := w.live()
	if n := kind.PodCount(after.Object, w.kind.Groups(after.Object)); n != 3 {
		w.t.Errorf("%d pods after scaling to 3:\n%s", n, r)
	}
	acctest.ExpectText(w.t, r.String(), fmt.Sprintf("Scaled %s %s/trainer from 2 to 3 pods.", w.kind.Word(), w.ns))
}

func (w *workload) suspendAndResume() {
	w.t.Helper()
	before := w.live()
	if _, ok := w.invoke(kind.Suspending, "suspend", nil); !ok {
		w.invoke(kind.Suspending, "resume", nil)
		return
	}
	if suspended := w.live(); !manifest.IsSuspended(suspended.Object, w.kind.Workload) {
		w.t.Errorf("not suspended: %v", suspended.Object["spec"])
	}
	again, _ := w.invoke(kind.Suspending, "suspend", nil)
	acctest.ExpectText(w.t, again.String(), "is already suspended.")
	r, _ := w.invoke(kind.Suspending, "resume", nil)
	acctest.ExpectText(w.t, r.String(), fmt.Sprintf("Resumed %s %s/trainer", w.kind.Word(), w.ns))
	after := w.live()
	if _, left := after.GetAnnotations()[kind.SuspendedAnnotation]; left {
		w.t.Error("the record of the suspension is left")
	}
	was, is := before.Object["spec"], after.Object["spec"]
	for _, s := range w.kind.Suspension {
		if s.Value == true { // the server sets the default of a new struct
			kind.SetAt(before.Object, s.Path, false)
			kind.SetAt(after.Object, s.Path, false)
		}
	}
	if !reflect.DeepEqual(was, is) {
		w.t.Errorf("the spec after kt_resume:\n%v\nbefore kt_suspend:\n%v", is, was)
	}
	again, _ = w.invoke(kind.Suspending, "resume", nil)
	acctest.ExpectText(w.t, again.String(), "is not suspended.")
}

func (w *workload) evacuate() {
	w.t.Helper()
	if w.kind.Mode == "cronjob" { // has no pods
		return
	}
	w.createPods()
	node := withCRDs.Kubectl(w.t, "get", "pods", "-n", w.ns, "-o", "jsonpath={.items[0].spec.nodeName}")
	r, ok := w.invoke(kind.Evacuating, "evacuate", map[string]any{"node": node, "wait": false})
	if ok {
		acctest.ExpectText(w.t, r.String(), "Evicted ", "from node "+node+".")
	}
}
