package actions

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

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
	switch least, found := kind.NumberAt(scaler.Object, []string{"spec", "minReplicas"}); {
	case o == kind.Scaling:
		return fmt.Sprintf("%s sets the number of pods of %s, and would change it again.", name, t),
			advice.Of("Change `autoscale.min_scale` and `autoscale.max_scale` of the kt_compute, or the autoscaler.")
	case found && least == 0 || metav1.GetControllerOf(scaler) != nil:
		return fmt.Sprintf("%s scales %s from zero, and would start pods again.", name, t),
			advice.Of("Set `suspend = true` in the kt_compute, which removes its autoscaler, and apply it.")
	}
	return "", advice.Text{}
}
