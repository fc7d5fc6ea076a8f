package ready

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

// AssessPods assesses existing pods without a workload of the provider. At
// least one pod must exist, and all living pods must be ready. selector is the
// label selector in the format of kubectl, for messages. If the pods are not
// ready, there is always a cause. The workload of the snapshot is ignored.
func AssessPods(s Snapshot, namespace, selector string) Verdict {
	s.Workload = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pods", "metadata": map[string]any{"namespace": namespace, "name": selector},
	}}
	remaining := filter(living(s.Pods), func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodFailed })
	if len(remaining) > 0 && readyPods(remaining) == len(remaining) {
		return isReady("%d of %d pods ready", len(remaining), len(remaining))
	}
	v := s.diagnose(run{pods: remaining, remark: "no pods match " + selector})
	if v.Cause != nil {
		return v
	}
	v.Cause = &Cause{
		Reason: ReasonPodsMissing, Object: object(s.Workload), Subject: "selector",
		Summary: fmt.Sprintf("No running pod in namespace %s has the labels %s.", namespace, selector),
		Hint:    advice.Of("Start the pods, or correct the label selector."),
		Command: Kubectl(namespace, "get", "pods", "--show-labels"),
	}
	if len(remaining) > 0 {
		v.Cause.Reason = ReasonPodsStarting
		v.Cause.Summary = fmt.Sprintf("The pods with the labels %s are not all ready: %s. No permanent failure was "+
			"detected.", selector, v.Message)
		v.Cause.Hint = advice.Text{}
		v.Cause.Command = Kubectl(namespace, "get", "pods", "-l", selector)
	}
	return v
}
