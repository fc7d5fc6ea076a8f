package kind

import "github.com/ktdev/terraform-provider-kt/internal/advice"

// Operation is an operation on a running workload.
type Operation string

// The operations.
const (
	Restarting Operation = "restart"
	Suspending Operation = "suspend" // and resume
	Scaling    Operation = "scale"
	Evacuating Operation = "evacuate"
)

// Restart is how the pods of a workload are replaced without another change.
type Restart int

// Values of Restart.
const (
	// ByTemplate is an annotation of the pod templates, whose change the controller rolls out.
	ByTemplate Restart = iota + 1
	// ByDeletion is the deletion of the pods, which the controller creates again.
	ByDeletion
)

// RestartedAtAnnotation is the annotation of a pod template with the time of its last restart. It is the one of
// `kubectl rollout restart` (k8s.io/kubectl/pkg/polymorphichelpers/objectrestarter.go).
const RestartedAtAnnotation = "kubectl.kubernetes.io/restartedAt"

// SuspendedAnnotation contains what a suspended workload had before, so that it can be resumed: JSON of the type
// []Setting.
const SuspendedAnnotation = "kt.dev/suspended"

// Refusal explains why a kind does not support an operation.
type Refusal struct {
	Why     string // a sentence
	Instead advice.Text
}

// refusal returns a Refusal whose next step has values (see [advice.Of]).
func refusal(why, instead string, values ...any) Refusal {
	return Refusal{Why: why, Instead: advice.Of(instead, values...)}
}

// restartBy is [Workload.Restart] for a kind with one way to replace its pods.
func restartBy(r Restart) func(map[string]any) Restart {
	return func(map[string]any) Restart { return r }
}

// restartByStrategy is [Workload.Restart] for a kind that rolls out changes of its template, unless its update strategy
// is OnDelete.
func restartByStrategy(workload map[string]any) Restart {
	if TextAt(workload, "spec", "updateStrategy", "type") == "OnDelete" {
		return ByDeletion
	}
	return ByTemplate
}

// runsToCompletion are the refusals of a kind whose pods run to completion, and that can be suspended.
func runsToCompletion() map[Operation]Refusal {
	return map[Operation]Refusal{Restarting: refusal("Its pods run to completion, and its controller would count "+
		"deleted pods as failed.", "%s. Or suspend it and then resume it, which deletes all pods and starts new ones.",
		advice.ReplaceObject)}
}

// runsToCompletionWithFixedPods are those of a kind whose number of pods cannot be set either.
func runsToCompletionWithFixedPods(why string) map[Operation]Refusal {
	refuses := runsToCompletion()
	refuses[Scaling] = refusal(why, "Change the number in the configuration, and apply it, which replaces the compute.")
	return refuses
}

// failsWith is the refusal to evict pods of a job that fails with the first of them.
func failsWith(why string) *Refusal {
	return new(refusal(why+" Its controller counts an evicted pod as failed, and the job with it.",
		"Use `kubectl cordon` for the node. Then suspend it and resume it, which starts new pods on other nodes."))
}
