package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// evictInterval is the time between attempts to evict pods that a PodDisruptionBudget holds, as in kubectl drain.
const evictInterval = 5 * time.Second

type evacuateModel struct {
	waitModel
	Node   types.String `tfsdk:"node"`
	Cordon types.Bool   `tfsdk:"cordon"`
}

func evacuate() action.Action {
	return &operation[evacuateModel, *evacuateModel]{
		name: "evacuate",
		description: "Evicts the pods of a compute from a node, and waits until their replacements are ready on " +
			"other nodes. Evictions respect PodDisruptionBudgets.",
		attributes: tf.Attributes{
			"node": tf.RequiredText("Name of the node.", tf.ObjectName()),
			"cordon": tf.OptionalBool("Whether to first mark the node as unschedulable, like `kubectl cordon`, so " +
				"that no replacement is scheduled to it. The node stays unschedulable until `kt_uncordon` or " +
				"`kubectl uncordon`. Defaults to `false`."),
		},
		timeout:  defaultTimeout,
		waits:    "until the replacements are ready",
		requires: kind.Evacuating,
		invoke:   invokeEvacuate,
	}
}

func invokeEvacuate(ctx context.Context, c *call, t *target, m *evacuateModel) error {
	all, err := t.Pods(ctx, c.cluster)
	if err != nil {
		return err
	}
	node := m.Node.ValueString()
	old := runningOn(node, all)
	if err := requireControllers(kind.Evacuating, t, old); err != nil {
		return err
	}
	if len(old) == 0 {
		if err := c.requireNode(ctx, t, node, all); err != nil {
			return err
		}
	}
	if m.Cordon.ValueBool() {
		if err := c.setSchedulable(ctx, node, false); err != nil {
			return err
		}
	}
	if len(old) == 0 {
		c.progress("%s has no pods on node %s.", t, node)
		return nil
	}
	c.progress("Evicting %s of %s from node %s.", advice.Number(len(old), "pod"), t, node)
	if err := c.evict(ctx, t, node, old); err != nil {
		return err
	}
	if !m.waits() {
		return nil
	}
	return c.waitElsewhere(ctx, t, node, old, all)
}

func runningOn(node string, pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(running(pods), func(pod *corev1.Pod) bool { return pod.Spec.NodeName != node })
}

// newer returns the pods that did not exist before. They can be more than those that were evicted, if the controller
// starts their whole group again.
func newer(pods, before []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(before, func(other *corev1.Pod) bool { return other.UID == pod.UID })
	})
}

// requireNode returns an error if the node does not exist. Without permission to read nodes, it is assumed to exist.
func (c *call) requireNode(ctx context.Context, t *target, node string, all []*corev1.Pod) error {
	_, err := c.cluster.API.Get(ctx, kube.Ref{Kind: kind.Node(), Name: node})
	switch {
	case kube.IsNotFound(err):
		found := fmt.Sprintf("%s has no pods on any node", t)
		if nodes := byNode(running(all)); nodes != "" {
			found = fmt.Sprintf("The pods of %s are on: %s", t, nodes)
		}
		return &refusal{at: path.Root("node"), summary: fmt.Sprintf("Node %q does not exist", node),
			detail: found + ".\n\nNext step: Correct the name of the node."}
	case kube.ClassOf(err) == kube.Denied:
		return nil
	}
	return err
}

// byNode lists the nodes of pods, each with its number of pods.
func byNode(pods []*corev1.Pod) string {
	counts := map[string]int{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			counts[pod.Spec.NodeName]++
		}
	}
	var nodes []string
	for name, n := range counts {
		nodes = append(nodes, fmt.Sprintf("%s (%s)", name, advice.Number(n, "pod")))
	}
	slices.Sort(nodes)
	return ready.Listed(nodes, 20)
}

// evict evicts pods, and waits until they are gone from the node. It tries again while a PodDisruptionBudget does not
// allow an eviction.
func (c *call) evict(ctx context.Context, t *target, node string, old []*corev1.Pod) error {
	evicted := map[apitypes.UID]bool{}
	watch := &observe.Objects{Changes: c.cluster.Store, Namespace: t.Namespace, Of: observe.AllOf(kind.Pod())}
	defer func() {
		if len(evicted) > 0 && len(evicted) < len(old) {
			c.note("Evicted %d of %s from node %s", len(evicted), advice.Number(len(old), "pod"), node)
		}
	}()
	_, err := observe.Until(ctx, c.cluster.Clock(), watch, func() (observe.Step[any], error) {
		for _, pod := range old {
			if evicted[pod.UID] {
				continue
			}
			err := c.cluster.Evict(ctx, pod.Namespace, pod.Name, pod.UID)
			var held *kube.BudgetError
			switch {
			case errors.As(err, &held):
				c.progress("%d of %d pods evicted. Pod %s waits: %s.", len(evicted), len(old), pod.Name,
					strings.TrimSuffix(held.Budget, "."))
				return observe.Step[any]{Within: evictInterval}, nil
			case err != nil:
				return observe.Step[any]{}, err
			}
			evicted[pod.UID] = true
		}
		return observe.Step[any]{Done: true}, nil
	})
	if err != nil {
		return err
	}
	c.did("Evicted %s of %s from node %s", advice.Number(len(old), "pod"), t, node)
	return nil
}

// waitElsewhere waits until the evicted pods are gone, and their replacements are ready on other nodes.
func (c *call) waitElsewhere(ctx context.Context, t *target, node string, old, all []*corev1.Pod) error {
	verdict, err := c.follow(t, old, all).Wait(ctx, c.cluster)
	if err != nil {
		return err
	}
	now, err := t.Pods(ctx, c.cluster)
	if err != nil {
		return err
	}
	if back := runningOn(node, now); len(back) > 0 {
		return &refusal{at: path.Root("cordon"), summary: "A replacement runs on the same node",
			detail: fmt.Sprintf("The scheduler has placed pod %s on node %s again.\n\nNext step: Set `cordon = true`, "+
				"so that replacements are not scheduled to the node.", back[0].Name, node)}
	}
	replacements := cmp.Or(byNode(newer(running(now), all)), "none")
	c.progress("%s has no pods on node %s: %s. New pods: %s.", t, node, verdict.Message, replacements)
	return nil
}
