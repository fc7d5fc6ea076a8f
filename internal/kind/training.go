package kind

import (
	"cmp"
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

func pyTorchJob() Kind {
	return trainingJob("PyTorchJob", "pytorch", "pytorchReplicaSpecs", "Master")
}

func tfJob() Kind {
	return unscaled(trainingJob("TFJob", "tensorflow", "tfReplicaSpecs", "Chief", "Master"))
}

func xgBoostJob() Kind {
	return unscaled(trainingJob("XGBoostJob", "xgboost", "xgbReplicaSpecs", "Master"))
}

// mxJob is MXJob, which the training operator supports up to release 1.8.
func mxJob() Kind {
	k := unscaled(trainingJob("MXJob", "mxnet", "mxReplicaSpecs", "Scheduler"))
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
func trainingJob(name, container, specs string, primary ...string) Kind {
	gv := schema.GroupVersion{Group: TrainingGroup, Version: "v1"}
	return workload(gv, name, &Workload{
		Container:   container,
		Complete:    func(c Compute, workload map[string]any) { completeTraining(c, workload, specs, primary) },
		Groups:      func(workload map[string]any) []Group { return trainingGroups(workload, specs, primary) },
		Scales:      true,
		Ends:        true,
		PodLabel:    "training.kubeflow.org/job-name", // JobNameLabel in pkg/apis/kubeflow.org/v1
		Distributed: true,
		Suspension:  suspendField("spec", "runPolicy", "suspend"),
		Refuses:     runsToCompletion(),
		Admitted:    true,
		KeepsPods:   keepsPods,
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

func trainingGroups(workload map[string]any, specs string, primary []string) []Group {
	var groups []Group
	for i, role := range trainingRoles(workload, specs, primary) {
		at := []string{"spec", specs, role}
		groups = append(groups, Group{
			Name: role, Template: Under(at, "template"), Number: Under(at, "replicas"), Absent: 1,
			Worker: i > 0, Scaled: role == trainingWorker,
		})
	}
	return groups
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
func completeTraining(c Compute, workload map[string]any, specs string, primary []string) {
	roles := trainingRoles(workload, specs, primary)
	if len(roles) == 0 {
		return
	}
	others := PodCount(workload, trainingGroups(workload, specs, primary))
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
