package actions

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type uncordonModel struct {
	limited
	Node types.String `tfsdk:"node"`
}

func (*uncordonModel) identity() tf.Attributes {
	return tf.Attributes{"node": tf.RequiredText("Name of the node.", tf.ObjectName())}
}

func (*uncordonModel) resolve(*call) (path.Path, diag.Diagnostics) { //nolint:unparam // as an interface requires
	return path.Root("node"), nil
}

func uncordon() action.Action {
	return &operation[uncordonModel, *uncordonModel]{
		name: "uncordon",
		description: "Marks a node as schedulable again, like `kubectl uncordon`, for example after `kt_evacuate` " +
			"with `cordon`.",
		timeout: time.Minute,
		invoke: func(ctx context.Context, c *call, _ *target, m *uncordonModel) error {
			return c.setSchedulable(ctx, m.Node.ValueString(), true)
		},
	}
}

// setSchedulable sets whether new pods are scheduled to a node.
func (c *call) setSchedulable(ctx context.Context, node string, schedulable bool) error {
	ref := kube.Ref{Kind: kind.Node(), Name: node}
	_, changed, err := c.cluster.Modify(ctx, ref, func(obj *unstructured.Unstructured) error {
		if schedulable {
			unstructured.RemoveNestedField(obj.Object, "spec", "unschedulable")
			return nil
		}
		return unstructured.SetNestedField(obj.Object, true, "spec", "unschedulable")
	})
	state := map[bool]string{false: "unschedulable", true: "schedulable"}[schedulable]
	switch {
	case kube.IsNotFound(err):
		return &refusal{at: path.Root("node"), summary: fmt.Sprintf("Node %q does not exist", node),
			detail: "The cluster has no node of this name.\n\nNext step: Correct the name of the node.\n" +
				"Investigate with:\n  kubectl get nodes"}
	case err != nil:
		return err
	case changed:
		c.did("Marked node %s as %s", node, state)
	default:
		c.progress("Node %s is already %s.", node, state)
	}
	return nil
}
