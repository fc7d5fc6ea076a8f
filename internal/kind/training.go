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

// deletionPolicy describes what the operator does if a running pod is deleted, which it counts as failed
// (UpdateJobReplicaStatuses in pkg/core/status.go and UpdateJobStatus of each kind in pkg/controller.v1; the jobs of
// release 1.9 failed as described).
type deletionPolicy struct {
	absent corev1.RestartPolicy // restart policy of a role without one
	// fails reports whether the job fails with a deleted pod of a role with a restart policy.
	fails func(workload map[string]any, role, policy string) bool
	// shrinks reports whether the number of pods can be lowered also where the job fails with other deleted pods.
	shrinks bool
}

func pyTorchJob() Kind {
	return trainingJob("PyTorchJob", "pytorch", "pytorchReplicaSpecs", deletionPolicy{
		corev1.RestartPolicyOnFailure, func(_ map[string]any, _, policy string) bool {
			return policy == string(corev1.RestartPolicyNever)
		}, true}, "Master")
}

func tfJob() Kind {
	return unscaled(trainingJob("TFJob", "tensorflow", "tfReplicaSpecs", deletionPolicy{
		corev1.RestartPolicyNever, func(workload map[string]any, role, _ string) bool {
			dynamic, _ := Find(workload, []string{"spec", "enableDynamicWorker"})
			return role != trainingWorker || dynamic != true
		}, false}, "Chief", "Master"))
}

// restartsByExitCode is the policy of a kind that only restarts roles that ask for it.
func restartsByExitCode() deletionPolicy {
	const exitCode = "ExitCode" // RestartPolicyExitCode in pkg/apis/kubeflow.org/v1
	return deletionPolicy{corev1.RestartPolicyNever, func(_ map[string]any, _, policy string) bool {
		return policy != exitCode
	}, false}
}

func xgBoostJob() Kind {
	return unscaled(trainingJob("XGBoostJob", "xgboost", "xgbReplicaSpecs", restartsByExitCode(), "Master"))
}

// mxJob is MXJob, which the training operator supports up to release 1.8.
func mxJob() Kind {
	k := unscaled(trainingJob("MXJob", "mxnet", "mxReplicaSpecs", restartsByExitCode(), "Scheduler"))
	complete := k.Complete
	k.Complete = func(c Compute, workload map[string]any) {
		SetDefault(workload, "Train", "spec", "jobMode")
		complete(c, workload)
	}
	return k
}

// unscaled is a training job whose CRD lacks the subresource scale, unlike that of
// PyTorchJob (pkg/apis/kubeflow.org/v1 of the training operator).
func unscaled(k Kind) Kind {
	k.Unscaled = true
	return k
}

// trainingJob is a training job with its roles at spec.<specs>. The first existing
// role of primary receives the calls.
func trainingJob(name, container, specs string, deletion deletionPolicy, primary ...string) Kind {
	gv := schema.GroupVersion{Group: TrainingGroup, Version: "v1"}
	return workload(gv, name, &Workload{
		Container: container,
		Complete: func(c Compute, workload map[string]any) {
			completeTraining(c, workload, specs, deletion, primary)
		},
		Groups: func(workload map[string]any) []Group {
			return trainingGroups(workload, specs, deletion, primary)
		},
		Scales:      true,
		Ends:        true,
		PodLabel:    "training.kubeflow.org/job-name", // JobNameLabel in pkg/apis/kubeflow.org/v1
		Distributed: true,
		Suspension:  suspendField("spec", "runPolicy", "suspend"),
		Refuses:     runsToCompletion(),
		RefusesSome: map[Operation]func(map[string]any) *Refusal{
			Evacuating: func(workload map[string]any) *Refusal {
				return trainingFails(workload, specs, deletion, primary)
			},
		},
		Admitted:  true,
		KeepsPods: keepsPods,
		Route: func(workload map[string]any) map[string]string {
			return trainingRoute(trainingRoles(workload, specs, primary), primary)
		},
		RouteLabels: []string{trainingRoleLabel, trainingIndexLabel},
		PodsDecide:  true, // its status counts pods that crash repeatedly
		Readiness:   OfTrainingJob,
	}, "spec.runPolicy.managedBy")
}

// trainingRoles are the roles of a job, beginning with the one that receives the calls.
func trainingRoles(workload map[string]any, specs string, primary []string) []string {
	rank := func(role string) int {
		if i := slices.Index(append(slices.Clone(primary), trainingWorker), role); i >= 0 {
			return i
		}
		return len(primary) + 1
	}
	return slices.SortedFunc(maps.Keys(FieldsAt(workload, "spec", specs)), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

func trainingGroups(workload map[string]any, specs string, deletion deletionPolicy, primary []string) []Group {
	var groups []Group
	for i, role := range trainingRoles(workload, specs, primary) {
		at := []string{"spec", specs, role}
		g := Group{
			Name: role, Template: Under(at, "template"), Number: Under(at, "replicas"), Absent: 1,
			Worker: i > 0, Scaled: role == trainingWorker,
			OnlyGrows: !deletion.shrinks && deletion.failsWithoutPod(workload, specs, role),
		}
		if !g.Worker {
			g.AtLeast = 1 // without pods, the job counts as complete (UpdateJobStatus in pkg/controller.v1)
		}
		groups = append(groups, g)
	}
	return groups
}

// failsWithoutPod reports whether the job fails with a deleted pod of a role.
func (d deletionPolicy) failsWithoutPod(workload map[string]any, specs, role string) bool {
	return d.fails(workload, role, cmp.Or(TextAt(workload, "spec", specs, role, "restartPolicy"), string(d.absent)))
}

// trainingFails refuses to evict pods of a job that fails with them.
func trainingFails(workload map[string]any, specs string, deletion deletionPolicy, primary []string) *Refusal {
	for _, role := range trainingRoles(workload, specs, primary) {
		if deletion.failsWithoutPod(workload, specs, role) {
			return failsWith(fmt.Sprintf("Pods of its role %s are not replaced.", role))
		}
	}
	return nil
}

// trainingRoute selects the pods that receive calls by the labels of the operator:
// the pod of the primary role, or the first worker if there is no such role.
func trainingRoute(roles, primary []string) map[string]string {
	if len(roles) == 0 {
		return nil
	}
	route := map[string]string{trainingRoleLabel: strings.ToLower(roles[0])}
	if !slices.Contains(primary, roles[0]) {
		route[trainingIndexLabel] = "0"
	}
	return route
}

// completeTraining adds the requested workers, uses the template of the primary
// role for roles without one, and sets the restart policy.
func completeTraining(c Compute, workload map[string]any, specs string, deletion deletionPolicy, primary []string) {
	roles := trainingRoles(workload, specs, primary)
	if len(roles) == 0 {
		return
	}
	others := PodCount(workload, trainingGroups(workload, specs, deletion, primary))
	if c.ReplicasGiven && c.Replicas > others && !slices.Contains(roles, trainingWorker) {
		SetAt(workload, []string{"spec", specs, trainingWorker}, map[string]any{"replicas": c.Replicas - others})
		roles = append(roles, trainingWorker)
	}
	like, _ := Find(workload, []string{"spec", specs, roles[0], "template"})
	for _, role := range roles {
		at := []string{"spec", specs, role}
		if template, _ := Find(workload, Under(at, "template")); template == nil && like != nil {
			SetAt(workload, Under(at, "template"), Copy(like))
		}
		// For the operator, the policy of the role overrides that of its template.
		own := TextAt(workload, Under(at, "template", "spec", "restartPolicy")...)
		policy := cmp.Or(own, string(corev1.RestartPolicyOnFailure))
		SetDefault(workload, policy, Under(at, "restartPolicy")...)
	}
}
