package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The jobs of Kubeflow's training operator. They have pods of several roles,
// one of which takes the calls; their API is that of kubeflow.org/v1 in
// https://github.com/kubeflow/training-operator, release 1.8.

const (
	trainingWorker     = "Worker"
	trainingRoleLabel  = "training.kubeflow.org/replica-type"
	trainingIndexLabel = "training.kubeflow.org/replica-index"
)

func pyTorchJobKind() kind {
	return trainingJobKind("PyTorchJob", "pytorch", "pytorchReplicaSpecs", "Master")
}

func tfJobKind() kind {
	return trainingJobKind("TFJob", "tensorflow", "tfReplicaSpecs", "Chief", "Master")
}

func xgBoostJobKind() kind {
	return trainingJobKind("XGBoostJob", "xgboost", "xgbReplicaSpecs", "Master")
}

func mxJobKind() kind {
	k := trainingJobKind("MXJob", "mxnet", "mxReplicaSpecs", "Scheduler")
	complete := k.complete
	k.complete = func(c Compute, workload map[string]any) {
		setDefault(workload, "Train", "spec", "jobMode")
		complete(c, workload)
	}
	return k
}

// trainingJobKind is a training job whose roles are at spec.<specs>. The first
// one of primary that is there takes the calls.
func trainingJobKind(name, container, specs string, primary ...string) kind {
	mode := strings.ToLower(name)
	return kind{
		mode: mode, template: mode, gvk: schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: name},
		container:  container,
		complete:   func(c Compute, workload map[string]any) { completeTraining(c, workload, specs, primary) },
		groups:     func(workload map[string]any) []group { return trainingGroups(workload, specs, primary) },
		scales:     true,
		suspension: suspendField("spec", "runPolicy", "suspend"),
		admitted:   true,
		keepsPods:  always,
		route: func(workload map[string]any) map[string]string {
			return trainingRoute(trainingRoles(workload, specs, primary), primary)
		},
	}
}

// trainingRoles are the roles of a job, the one that takes the calls first.
func trainingRoles(workload map[string]any, specs string, primary []string) []string {
	value, _ := find(workload, []string{"spec", specs})
	roles, _ := value.(map[string]any)
	rank := func(role string) int {
		if i := slices.Index(append(slices.Clone(primary), trainingWorker), role); i >= 0 {
			return i
		}
		return len(primary) + 1
	}
	return slices.SortedFunc(maps.Keys(roles), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

func trainingGroups(workload map[string]any, specs string, primary []string) []group {
	var groups []group
	for i, role := range trainingRoles(workload, specs, primary) {
		at := []string{"spec", specs, role}
		groups = append(groups, group{
			template: under(at, "template"), number: under(at, "replicas"), absent: 1, worker: i > 0, scaled: role == trainingWorker,
		})
	}
	return groups
}

// trainingRoute finds the pods that take calls by the operator's labels: all of
// the primary role, of which there is one, or the first worker where there is
// no such role.
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

// completeTraining adds the workers that were asked for, makes roles without a
// template like the primary one, and has failed pods restarted.
func completeTraining(c Compute, workload map[string]any, specs string, primary []string) {
	roles := trainingRoles(workload, specs, primary)
	if len(roles) == 0 {
		return
	}
	asked, attribute := askedReplicas(c)
	if others := podCount(workload, trainingGroups(workload, specs, primary)); attribute != "" && asked > others && !slices.Contains(roles, trainingWorker) {
		setAt(workload, []string{"spec", specs, trainingWorker}, map[string]any{"replicas": asked - others})
		roles = append(roles, trainingWorker)
	}
	like, _ := find(workload, []string{"spec", specs, roles[0], "template"})
	for _, role := range roles {
		at := []string{"spec", specs, role}
		if template, _ := find(workload, under(at, "template")); template == nil && like != nil {
			setAt(workload, under(at, "template"), copyJSON(like))
		}
		// The operator lets the role's policy win over that of its template.
		policy := cmp.Or(textAt(workload, under(at, "template", "spec", "restartPolicy")...), string(corev1.RestartPolicyOnFailure))
		setDefault(workload, policy, under(at, "restartPolicy")...)
	}
}
