package kind

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The jobs of the Kubeflow training operator have pods of several roles, one of
// which receives the calls. The API is kubeflow.org/v1 of
// https://github.com/kubeflow/training-operator, release 1.8.

const (
	trainingWorker     = "Worker"
	trainingRoleLabel  = "training." + TrainingGroup + "/replica-type"
	trainingIndexLabel = "training." + TrainingGroup + "/replica-index"
)

// training describes a training job with its roles at spec.<specs>. The first existing role of primary receives the
// calls.
type training struct {
	specs   string
	primary []string
	// The other fields describe what the operator does if a running pod is deleted, which it counts as failed
	// (UpdateJobReplicaStatuses in pkg/core/status.go and UpdateJobStatus of each kind in pkg/controller.v1; the jobs
	// of release 1.9 failed as described).
	absent corev1.RestartPolicy // restart policy of a role without one
	// fails reports whether the job fails with a deleted pod of a role with a restart policy.
	fails func(workload map[string]any, role, policy string) bool
	// elastic reports whether the CRD has the subresource scale (pkg/apis/kubeflow.org/v1 of the training operator).
	// The number of pods can then be lowered also where the job fails with other deleted pods.
	elastic bool
}

func pyTorchJob() Kind {
	return trainingJob("PyTorchJob", "pytorch", training{"pytorchReplicaSpecs", []string{"Master"},
		corev1.RestartPolicyOnFailure, func(_ map[string]any, _, policy string) bool {
			return policy == string(corev1.RestartPolicyNever)
		}, true})
}

func tfJob() Kind {
	return trainingJob("TFJob", "tensorflow", training{"tfReplicaSpecs", []string{"Chief", "Master"},
		corev1.RestartPolicyNever, func(workload map[string]any, role, _ string) bool {
			dynamic, _ := Find(workload, []string{"spec", "enableDynamicWorker"})
			return role != trainingWorker || dynamic != true
		}, false})
}

// restartsByExitCode is a kind that only restarts roles that ask for it.
func restartsByExitCode(specs, primary string) training {
	const exitCode = "ExitCode" // RestartPolicyExitCode in pkg/apis/kubeflow.org/v1
	return training{specs, []string{primary}, corev1.RestartPolicyNever, func(_ map[string]any, _, policy string) bool {
		return policy != exitCode
	}, false}
}

func xgBoostJob() Kind {
	return trainingJob("XGBoostJob", "xgboost", restartsByExitCode("xgbReplicaSpecs", "Master"))
}

// mxJob is MXJob, which the training operator supports up to release 1.8.
func mxJob() Kind {
	k := trainingJob("MXJob", "mxnet", restartsByExitCode("mxReplicaSpecs", "Scheduler"))
	complete := k.Complete
	k.Complete = func(c Compute, workload map[string]any) {
		SetDefault(workload, "Train", "spec", "jobMode")
		complete(c, workload)
	}
	return k
}

func trainingJob(name, container string, t training) Kind {
	gv := schema.GroupVersion{Group: TrainingGroup, Version: "v1"}
	return workload(gv, name, &Workload{
		Container:   container,
		Complete:    t.complete,
		Groups:      t.groups,
		Scales:      true,
		Unscaled:    !t.elastic,
		Ends:        true,
		PodLabel:    "training.kubeflow.org/job-name", // JobNameLabel in pkg/apis/kubeflow.org/v1
		Distributed: true,
		Suspension:  suspendField("spec", "runPolicy", "suspend"),
		Refuses:     runsToCompletion(),
		RefusesSome: map[Operation]func(map[string]any) *Refusal{Evacuating: t.failsWithPods},
		Admitted:    true,
		KeepsPods:   keepsPods,
		Route:       t.route,
		RouteLabels: []string{trainingRoleLabel, trainingIndexLabel},
		PodsDecide:  true, // its status counts pods that crash repeatedly
		Readiness:   OfTrainingJob,
	}, "spec.runPolicy.managedBy")
}

// roles are the roles of a job, beginning with the one that receives the calls.
func (t training) roles(workload map[string]any) []string {
	rank := func(role string) int {
		if i := slices.Index(append(slices.Clone(t.primary), trainingWorker), role); i >= 0 {
			return i
		}
		return len(t.primary) + 1
	}
	return slices.SortedFunc(maps.Keys(FieldsAt(workload, "spec", t.specs)), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

func (t training) groups(workload map[string]any) []Group {
	var groups []Group
	for i, role := range t.roles(workload) {
		at := []string{"spec", t.specs, role}
		g := Group{
			Name: role, Label: trainingRoleLabel + "=" + strings.ToLower(role), Template: Under(at, "template"),
			Number: Under(at, "replicas"), Absent: 1, Worker: i > 0, Scaled: role == trainingWorker,
			OnlyGrows: !t.elastic && t.failsWithoutPod(workload, role),
		}
		if !g.Worker {
			g.AtLeast = 1 // without pods, the job counts as complete (UpdateJobStatus in pkg/controller.v1)
		}
		groups = append(groups, g)
	}
	return groups
}

// failsWithoutPod reports whether the job fails with a deleted pod of a role.
func (t training) failsWithoutPod(workload map[string]any, role string) bool {
	return t.fails(workload, role, cmp.Or(TextAt(workload, "spec", t.specs, role, "restartPolicy"), string(t.absent)))
}

// failsWithPods refuses to evict pods of a job that fails with them.
func (t training) failsWithPods(workload map[string]any) *Refusal {
	for _, role := range t.roles(workload) {
		if t.failsWithoutPod(workload, role) {
			return failsWith(fmt.Sprintf("Pods of its role %s are not replaced.", role))
		}
	}
	return nil
}

// route selects the pods that receive calls by the labels of the operator:
// the pod of the primary role, or the first worker if there is no such role.
func (t training) route(workload map[string]any) map[string]string {
	roles := t.roles(workload)
	if len(roles) == 0 {
		return nil
	}
	route := map[string]string{trainingRoleLabel: strings.ToLower(roles[0])}
	if !slices.Contains(t.primary, roles[0]) {
		route[trainingIndexLabel] = "0"
	}
	return route
}

// complete adds the requested workers, uses the template of the primary
// role for roles without one, and sets the restart policy.
func (t training) complete(c Compute, workload map[string]any) {
	roles := t.roles(workload)
	if len(roles) == 0 {
		return
	}
	others := PodCount(workload, t.groups(workload))
	if c.ReplicasGiven && c.Replicas > others && !slices.Contains(roles, trainingWorker) {
		SetAt(workload, []string{"spec", t.specs, trainingWorker}, map[string]any{"replicas": c.Replicas - others})
		roles = append(roles, trainingWorker)
	}
	like, _ := Find(workload, []string{"spec", t.specs, roles[0], "template"})
	for _, role := range roles {
		at := []string{"spec", t.specs, role}
		if template, _ := Find(workload, Under(at, "template")); template == nil && like != nil {
			SetAt(workload, Under(at, "template"), Copy(like))
		}
		// For the operator, the policy of the role overrides that of its template.
		own := TextAt(workload, Under(at, "template", "spec", "restartPolicy")...)
		policy := cmp.Or(own, string(corev1.RestartPolicyOnFailure))
		SetDefault(workload, policy, Under(at, "restartPolicy")...)
	}
}
