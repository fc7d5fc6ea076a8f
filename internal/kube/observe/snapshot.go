package observe

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// observePods assesses the pods that have all labels of selector.
func observePods(
	ctx context.Context, c *kube.Cluster, namespace string, selector map[string]string,
) (ready.Verdict, []Interest, error) {
	s := ready.Snapshot{Workload: &unstructured.Unstructured{Object: map[string]any{}}}
	err := podsAndEvents(ctx, c, &s, namespace, selector)
	if err == nil && s.Pods == nil {
		_, err = podsOf(ctx, c, namespace, selector) // the verdict requires pods
	}
	if err != nil {
		return ready.Verdict{}, nil, err
	}
	return ready.AssessPods(s, namespace, labels.Set(selector).String()),
		[]Interest{labelled(selector), eventsNamedAfter(s)}, nil
}

// observe assesses a workload.
func observe(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, podLabels map[string]string,
) (ready.Verdict, []Interest, error) {
	workload, err := c.Store.GetShared(ctx, ref)
	if err != nil {
		return ready.Verdict{}, nil, err
	}
	assess := ready.Assessor(workload)
	if verdict := assess(ready.Snapshot{Workload: workload}); verdict.Settled() && ref.Kind.StatusSuffices() {
		return verdict, nil, nil // a settled verdict needs no diagnosis
	}
	if own := kind.PodLabels(workload); own != nil {
		podLabels = own // the pods of an adopted workload lack the label of the provider
	}
	concerned := []Interest{named(ref), labelled(podLabels)}
	s := ready.Snapshot{Workload: workload}
	of := kind.WorkloadOf(ref.Kind.GroupKind())
	if of.ReplicaSets {
		sets := replicaSetsNamedAfter(ref.Name, podLabels)
		concerned = append(concerned, sets)
		if s.ReplicaSets, err = replicaSetsOf(ctx, c, workload, sets); err != nil && !isIgnorable(err) {
			return ready.Verdict{}, nil, err
		}
	}
	if of.Parts != nil {
		parts := partsNamed(of.Parts, ref.Name, podLabels)
		concerned = append(concerned, parts)
		s.Parts = partsOf(ctx, c, of.Parts, workload, parts)
	}
	if err := podsAndEvents(ctx, c, &s, ref.Namespace, podLabels); err != nil {
		return ready.Verdict{}, nil, err
	}
	queue, related := queueOf(ctx, c, workload, s.Pods)
	s.Queue = queue
	return assess(s), append(append(concerned, eventsNamedAfter(s)), related...), nil
}

// podsAndEvents reads the pods and events for a diagnosis. Objects without read
// permission are left out.
func podsAndEvents(
	ctx context.Context, c *kube.Cluster, s *ready.Snapshot, namespace string, selector map[string]string,
) error {
	var err error
	if s.Pods, err = podsOf(ctx, c, namespace, selector); err != nil && kube.ClassOf(err) != kube.Denied {
		return err
	}
	if slices.ContainsFunc(s.Pods, ready.Unscheduled) {
		s.Nodes, _ = kube.ListAs[corev1.Node](ctx, c.Store, kind.Node(), "", nil) // nil without permission
		s.Autoscaler = Autoscaled(ctx, c)
		s.NodePools = nodePools(ctx, c)
		s.FixedNodes = c.NodeAutoscaling() != nil && !*c.NodeAutoscaling()
		s.Claims = claimsOf(ctx, c, s.Pods)
	}
	if s.Events, err = eventsOf(ctx, c, kind.Event(), namespace, *s); err != nil && !isIgnorable(err) {
		return err
	}
	if s.Nodes != nil || s.Autoscaler {
		// They are used only for the diagnosis, and every verdict that ends a wait
		// reads them again: a wait does not need their changes.
		scaling, _ := eventsOf(ctx, c, kind.ScalingEvent(), namespace, *s)
		s.Events = append(s.Events, scaling...)
	}
	return nil
}

// isIgnorable reports whether a diagnosis can ignore a read error: missing
// permission or a problem of the server, which are unrelated to the workload.
func isIgnorable(err error) bool {
	return kube.ClassOf(err) == kube.Denied || kube.IsServerFailure(err)
}

// claimsOf reads the volume claims that the pods of one namespace mount. A
// missing claim maps to nil.
func claimsOf(ctx context.Context, c *kube.Cluster, pods []*corev1.Pod) map[string]*corev1.PersistentVolumeClaim {
	claims := claimNames(pods)
	for name := range claims {
		ref := kube.Ref{Kind: kind.PersistentVolumeClaim(), Namespace: pods[0].Namespace, Name: name}
		claim, err := kube.As[corev1.PersistentVolumeClaim](c.API.Get(ctx, ref))
		switch {
		case kube.IsNotFound(err):
		case err == nil:
			claims[name] = claim
		default:
			delete(claims, name)
		}
	}
	return claims
}

// nodePools reads the NodePools of Karpenter. It returns nil without Karpenter,
// and without permission.
func nodePools(ctx context.Context, c *kube.Cluster) []*unstructured.Unstructured {
	version, err := c.Discovery.Preferred(ctx, kind.KarpenterGroup)
	if err != nil || version != kind.NodePool().Version {
		return nil
	}
	return objects(ctx, c, kind.NodePool(), "", nil)
}

// Autoscaled reports whether nodes are added on demand: as configured, or by
// the cluster autoscaler or Karpenter. It returns true if unknown. The result
// is kept for the run.
func Autoscaled(ctx context.Context, c *kube.Cluster) bool {
	if configured := c.NodeAutoscaling(); configured != nil {
		return *configured
	}
	autoscaled, err := kube.Recall(c.API, "autoscaled", func() (bool, error) {
		status := kube.Ref{Kind: kind.ConfigMap(), Namespace: "kube-system", Name: "cluster-autoscaler-status"}
		_, err := c.API.Get(ctx, status)
		switch {
		case err == nil, kube.ClassOf(err) == kube.Denied:
			return true, nil
		case !kube.IsNotFound(err):
			return false, err
		}
		version, err := c.Discovery.Preferred(ctx, kind.KarpenterGroup)
		return version != "", err
	})
	return autoscaled || err != nil
}
