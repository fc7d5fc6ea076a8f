package actions

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// target is the compute of an action.
type target struct {
	kube.PodSource // without a workload if none of a known kind has the name of the compute

	name    string
	ref     kube.Ref       // of the workload
	kind    *kind.Workload // of the workload; empty if unknown
	guessed bool           // whether the pods may lack the labels of the source
	// owner is the object that controls the pods or the workload, if it is of an unknown kind. Its Kind is "" if there
	// is none.
	owner metav1.OwnerReference
}

// locate finds the compute, of any kind. It returns a [kube.MissingComputeError] if there is none.
func (c *call) locate(ctx context.Context) (*target, error) {
	pods, guessed, err := endpoint.FindPods(ctx, c.cluster, c.namespace, c.name)
	if err != nil {
		return nil, err
	}
	c.found = true
	t := &target{PodSource: pods, name: c.name, kind: &kind.Workload{}, guessed: guessed}
	if t.Workload == nil {
		t.owner, err = c.ownerOf(ctx, t)
		return t, err
	}
	if t.ref, err = c.cluster.Discovery.RefOf(ctx, t.Workload); err != nil {
		return nil, err
	}
	if controller := metav1.GetControllerOf(t.Workload); controller != nil {
		t.owner = *controller // which would revert changes of the workload
	} else {
		t.kind = kind.WorkloadOf(t.Workload.GroupVersionKind().GroupKind())
	}
	return t, nil
}

// explain returns the detail of a refusal.
func explain(why string, instead advice.Text) string {
	return tf.Explain(tf.ComputeType, ready.Cause{Summary: why, Hint: instead}, nil)
}

// countsPods reports whether the status of a workload of any kind counts pods, whether they are ready or not.
func countsPods(status any) bool { return manifest.CountsReady(status, "replicas") }

// maxOwners limits the chain from a pod to its owner: the longest known one has four objects.
const maxOwners = 8

// ownerOf returns the last controller in the chain from a pod of a compute, as far as it can be read.
func (c *call) ownerOf(ctx context.Context, t *target) (metav1.OwnerReference, error) {
	var last metav1.OwnerReference
	pods, err := t.Pods(ctx, c.cluster)
	if err != nil || len(pods) == 0 {
		return last, err
	}
	controller := metav1.GetControllerOf(pods[0])
	for n := 0; controller != nil && n < maxOwners; n++ {
		last = *controller
		controller = c.controllerOf(ctx, t.Namespace, last)
	}
	return last, nil
}

// controllerOf returns the controller of an owner, or nil if there is none or it cannot be read.
func (c *call) controllerOf(ctx context.Context, namespace string, owner metav1.OwnerReference) *metav1.OwnerReference {
	of := kind.Guess(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	ref, err := c.cluster.Discovery.RefOf(ctx, of.Named(namespace, owner.Name))
	if err != nil {
		return nil
	}
	if found, err := c.cluster.API.Get(ctx, ref); err == nil {
		return metav1.GetControllerOf(found)
	}
	return nil
}

// String returns the object of the compute for messages: Deployment ml/trainer.
func (t *target) String() string {
	switch {
	case t.Workload != nil && t.owner.Kind == "":
		return t.ref.String()
	case t.owner.Kind != "":
		return fmt.Sprintf("%s %s/%s", t.owner.Kind, t.Namespace, t.owner.Name)
	default:
		return fmt.Sprintf("compute %s/%s", t.Namespace, t.name)
	}
}

// createAgain is the next step for a workload that is being deleted.
const createAgain = "Wait until it is gone, and create the compute again with an apply."

func (t *target) refusal(o kind.Operation) (why string, instead advice.Text) {
	known := t.Workload != nil && t.owner.Kind == ""
	replaces := o == kind.Restarting || o == kind.Evacuating
	if t.Workload != nil && t.Workload.GetDeletionTimestamp() != nil {
		return "It is being deleted.", advice.Of(createAgain)
	}
	if refuses := t.kind.RefusesSome[o]; known && refuses != nil {
		if r := refuses(t.Workload.Object); r != nil {
			return r.Why, r.Instead
		}
	}
	if known && o == kind.Scaling && t.kind.Ends && kind.Ended(t.Workload.Object) {
		return "It has ended, and its controller starts no more pods.",
			advice.Of("%s after you have changed its number of pods.", advice.ReplaceObject)
	}
	switch r, refused := t.kind.Refuses[o]; {
	case known && refused:
		return fmt.Sprintf("A %s does not support this operation. %s", t.ref.Kind.Word(), r.Why), r.Instead
	case known:
		return "", advice.Text{}
	case t.Workload != nil && t.owner.Kind != "" && !replaces:
		return fmt.Sprintf("%s is controlled by %s %s, which would revert the change.", t.ref, t.owner.Kind,
			t.owner.Name), advice.Of("Change the %s instead.", t.owner.Kind)
	case t.owner.Kind == "":
		return "The compute has no workload, and no controller of its pods was found.",
			advice.Of("Use the tool that created the pods.")
	case t.owner.Name != t.name && t.Workload == nil && o != kind.Evacuating:
		return fmt.Sprintf("The compute has no workload: it selects pods that %s controls.", t),
			advice.Of("Use the tool that manages the %s, or set `name` to a compute with a workload.", t.owner.Kind)
	case replaces:
		return "", advice.Text{} // its controller creates the pods again
	}
	return fmt.Sprintf("The provider does not know the kind %s, and therefore not which of its fields to set.",
		t.owner.Kind), advice.Of("Change `manifest` of the kt_compute, and apply it.")
}

// follow returns a wait for the pods of the compute that reports its progress. old are the pods to be replaced, and all
// are those that existed before.
func (c *call) follow(t *target, old, all []*corev1.Pod) observe.Follow {
	f := observe.Follow{Namespace: t.Namespace, PodLabels: t.Labels, Owns: t.Own, Report: c.report}
	if t.Workload != nil {
		f.Workload = &t.ref
	}
	f.Replaced = kind.Each(old, (*corev1.Pod).GetUID)
	f.Others = slices.DeleteFunc(kind.Each(all, (*corev1.Pod).GetUID), func(uid types.UID) bool {
		return slices.Contains(f.Replaced, uid)
	})
	return f
}

// refusal is that of the target, or why an operation would not last, because a HorizontalPodAutoscaler sets the number
// of pods. KEDA creates one too. A workload with zero pods stays suspended, unless the autoscaler scales from zero.
// Without permission to list the autoscalers, no operation is refused.
func (c *call) refusal(ctx context.Context, t *target, o kind.Operation) (why string, instead advice.Text) {
	why, instead = t.refusal(o)
	if why != "" || t.Workload == nil || len(t.kind.Scale) == 0 || o != kind.Scaling && o != kind.Suspending {
		return why, instead
	}
	all, err := c.cluster.API.Listing(t.Namespace).All(ctx, kind.HorizontalPodAutoscaler().All())
	scaler := manifest.AutoscalerOf(t.Workload, all)
	if err != nil || scaler == nil {
		return "", advice.Text{}
	}
	name := fmt.Sprintf("HorizontalPodAutoscaler %s/%s", scaler.GetNamespace(), scaler.GetName())
	if owner := metav1.GetControllerOf(scaler); owner != nil {
		name = fmt.Sprintf("%s %s/%s", owner.Kind, scaler.GetNamespace(), owner.Name)
	}
	least, found := kind.NumberAt(scaler.Object, []string{"spec", "minReplicas"})
	fromZero := found && least == 0 || metav1.GetControllerOf(scaler) != nil
	current := t.Workload.DeepCopy()
	manifest.ForgetStaleSuspension(current, t.kind, kube.SetByAction)
	// A user starts the first pod, and its number is not known without the record of a suspension.
	stopped := !fromZero && kind.PodCount(current.Object, t.kind.Groups(current.Object)) == 0 &&
		current.GetAnnotations()[kind.SuspendedAnnotation] == ""
	switch {
	case o == kind.Scaling && !stopped:
		return fmt.Sprintf("%s sets the number of pods of %s, and would change it again.", name, t),
			advice.Of("Change `autoscale.min_scale` and `autoscale.max_scale` of the kt_compute, or the autoscaler.")
	case o == kind.Suspending && fromZero:
		return fmt.Sprintf("%s scales %s from zero, and would start pods again.", name, t),
			advice.Of("Set `suspend = true` in the kt_compute, which removes its autoscaler, and apply it.")
	}
	return "", advice.Text{}
}
