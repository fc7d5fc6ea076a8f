package ready

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// operated contains the relevant fields of a Compute of SkyTorch or KPU
// (pkg/apis/compute/v1alpha1/compute_types.go of
// github.com/astefanutti/skytorch).
type operated struct {
	Spec   kind.ComputeSpec `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		Addresses          []struct {
			Value string `json:"value"`
		} `json:"addresses"`
	} `json:"status"`
}

// tensorServer assesses the conditions Ready and Suspended. The operator does
// not set their generation (pkg/controllers/compute_controller.go), and counts
// ready pods of any template. If its StatefulSet is known, it must therefore
// run the current spec on all of its pods.
func tensorServer(s Snapshot, c *operated) Verdict {
	ready, suspended := conditionsOf(s.Workload).of("Ready"), conditionsOf(s.Workload).of("Suspended")
	lags := s.lags(c.Status.ObservedGeneration) || s.lags(ready.ObservedGeneration)
	if IsSuspended(s.Workload) {
		left := len(filter(s.Pods, func(p *corev1.Pod) bool { return !PodEnded(p) })) // including terminating ones
		if left > 0 || lags || s.lags(suspended.ObservedGeneration) || !suspended.isTrue() {
			return s.suspended(max(left, 1))
		}
		return s.suspended(0)
	}
	made := s.part(kind.StatefulSet().Kind, s.Workload.GetName())
	set := decoded[appsv1.StatefulSet](made)
	pods := filter(s.Pods, func(p *corev1.Pod) bool { return c.runsIn(p.ObjectMeta, p.Spec) })
	if set != nil {
		template := set.Spec.Template
		lags = lags || orOne(set.Spec.Replicas) == 0 || !c.runsIn(template.ObjectMeta, template.Spec) ||
			set.Status.ObservedGeneration < set.Generation
		pods = filter(s.Pods, func(p *corev1.Pod) bool {
			return p.Labels[appsv1.StatefulSetRevisionLabel] == set.Status.UpdateRevision
		})
	}
	if lags {
		return s.diagnose(run{remark: s.notObserved()})
	}
	remark := strings.TrimSuffix(clip(ready.Message), ".")
	if set != nil {
		if fields := c.dropped(set); len(fields) > 0 {
			remark = "the operator omitted fields of the spec"
			return s.diagnose(run{desired: 1, pods: pods, remark: remark},
				func(d *diagnosis) *Cause { return d.droppedCause(fields) })
		}
		if old := s.blockingPod(set); old != nil {
			remark = "a pod from before the change blocks the rollout"
			return s.diagnose(run{desired: 1, remark: remark},
				func(d *diagnosis) *Cause { return d.of(old).outdated() })
		}
	}
	switch {
	case ready.isTrue() && (set == nil || statefulSet(Snapshot{Workload: made}, set).Ready):
		return c.readyAt()
	case ready.isTrue():
		remark = "the change is being rolled out"
	case remark == "":
		remark = "waiting for the operator"
	}
	return s.diagnose(run{desired: 1, pods: pods, remark: remark},
		func(d *diagnosis) *Cause { return d.operatorCause(ready) })
}

// lags reports whether a part of the status belongs to an earlier generation. It
// may have none.
func (s Snapshot) lags(observed int64) bool {
	return observed > 0 && observed < s.Workload.GetGeneration()
}

func (c *operated) readyAt() Verdict {
	var at []string
	for _, address := range c.Status.Addresses {
		at = append(at, address.Value)
	}
	if len(at) == 0 {
		return isReady("the tensor server is ready")
	}
	return isReady("the tensor server is ready at %s", Listed(at, 3))
}

// runsIn reports whether the template of a StatefulSet or a pod has the spec, by
// the fields that every release of the operator copies. The operator sets the
// defaults of fields that are not in the spec.
func (c *operated) runsIn(meta metav1.ObjectMeta, spec corev1.PodSpec) bool {
	runs := first(spec.Containers,
		func(container corev1.Container) bool { return container.Name == kind.TensorServerContainer })
	wants := c.Spec
	return runs.Name == "" || (wants.Image == "" || runs.Image == wants.Image) &&
		(len(wants.Command) == 0 || slices.Equal(runs.Command, wants.Command)) &&
		(len(wants.Args) == 0 || slices.Equal(runs.Args, wants.Args)) &&
		labels.SelectorFromSet(wants.Labels).Matches(labels.Set(meta.Labels)) &&
		labels.SelectorFromSet(wants.Annotations).Matches(labels.Set(meta.Annotations)) &&
		needsAll(runs.Resources.Requests, wants.Resources) && setsAll(runs.Env, wants.Env)
}

func needsAll(have, want corev1.ResourceList) bool {
	for name, quantity := range want {
		if got := have[name]; got.Cmp(quantity) != 0 {
			return false
		}
	}
	return true
}

// setsAll checks only literal values, because the operator drops value
// references.
func setsAll(have, want []corev1.EnvVar) bool {
	return !slices.ContainsFunc(want, func(variable corev1.EnvVar) bool {
		return variable.ValueFrom == nil && !slices.ContainsFunc(have, func(e corev1.EnvVar) bool {
			return e.Name == variable.Name && e.Value == variable.Value
		})
	})
}

// operatorCause explains problems outside of the pods. The reasons are those of
// pkg/controllers/compute_controller.go. All of them may be temporary, except a
// StatefulSet that the operator cannot create.
func (s *diagnosis) operatorCause(ready condition) *Cause {
	switch name := object(s.Workload); {
	case ready.Type == "":
		return s.operatorSilent("condition Ready")
	case strings.HasPrefix(ready.Reason, "Gateway"), strings.HasPrefix(ready.Reason, "GRPCRoute"):
		c := s.cause(ReasonGatewayNotReady,
			fmt.Sprintf("The pods of %s are running, but its external route is not ready%s.", name, ready.suffix()),
			"Check the GRPCRoute and the Gateway in the namespace of the operator, which must be Programmed and "+
				"accept the route.")
		c.Command = Kubectl(s.namespace, "describe", "grpcroute.gateway.networking.k8s.io", s.Workload.GetName())
		return c
	case ready.Reason == "StatefulSetNotAvailable":
		// The operator applies the StatefulSet before it reads it, so only its cache can
		// briefly be outdated.
		return s.cause(ReasonOperatorSilent,
			fmt.Sprintf("The operator has not created a StatefulSet for %s%s.", name, ready.suffix()),
			"Read in the log of the operator why the API server rejects its StatefulSet, and correct the problem.").
			terminal(volumeGrace)
	}
	return nil
}
