package observe

import (
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// The pods of a workload of another client have the label of its controller, and not that of the provider.
func TestPodsOfAnAdoptedWorkloadAreFound(t *testing.T) {
	t.Parallel()
	const training = `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: trainer, namespace: ml, uid: u-1,
		resourceVersion: "1"}, spec: {pytorchReplicaSpecs: {Worker: {replicas: 1}}}, status: {conditions: [
		{type: Running, status: "True"}], replicaStatuses: {Worker: {active: 1}}}}`
	ref := kube.Ref{Kind: row("kubeflow.org", "PyTorchJob"), Namespace: "ml", Name: "trainer"}
	f := Follow{Workload: &ref, Namespace: "ml", PodLabels: map[string]string{kind.ServiceLabel: "trainer"}}
	for status, ready := range map[string]bool{"True": true, "False": false} {
		cluster, _ := shelfOf(t, map[string]string{
			trainingPath: "items: [" + training + "]",
			"/api/v1/namespaces/ml/pods": `items: [{metadata: {name: trainer-worker-0, namespace: ml, uid: p-1,
				resourceVersion: "1", labels: {training.kubeflow.org/job-name: trainer}}, spec: {containers: []},
				status: {phase: Running, conditions: [{type: Ready, status: "` + status + `"}]}}]`,
		})
		if v, err := f.Assess(t.Context(), cluster); err != nil || v.Ready != ready {
			t.Errorf("with a pod whose readiness is %s: %+v, %v", status, v, err)
		}
	}
}
