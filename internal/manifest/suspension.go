package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// IsSuspended reports whether a workload has all settings that suspend its kind.
func IsSuspended(workload map[string]any, of *kind.Workload) bool {
	return len(of.Suspension) > 0 && !slices.ContainsFunc(of.Suspension, func(s kind.Setting) bool {
		value, found := kind.Find(workload, s.Path)
		if s.Value == nil {
			return found
		}
		return kind.Number(value) != s.Value
	})
}

// suspendsByNumber reports whether a workload without pods is one that is suspended.
func suspendsByNumber(of *kind.Workload) bool {
	return slices.ContainsFunc(of.Suspension, func(s kind.Setting) bool { return s.Value == int64(0) })
}

// queueLabel is the path of the label by which Kueue resumes a workload.
func queueLabel() []string { return []string{"metadata", "labels", kind.KueueQueueLabel} }

// QueueOf returns the queue of Kueue that starts a workload by resuming it, or "".
func QueueOf(workload map[string]any, of *kind.Workload) string {
	if !of.Admitted {
		return ""
	}
	return kind.TextAt(workload, queueLabel()...)
}

// Suspend suspends an existing workload like the attribute suspend, and records in an annotation what it had before. It
// removes a workload from its queue, which would start it again.
func Suspend(workload map[string]any, of *kind.Workload) {
	settings := slices.Clone(of.Suspension)
	if QueueOf(workload, of) != "" {
		settings = append(settings, kind.Setting{Path: queueLabel()})
	}
	var before []kind.Setting
	for _, s := range settings {
		value, found := kind.Find(workload, s.Path)
		if !found && s.Value == true {
			value = false // removing the field would not resume a RayCluster (calculateStatus of KubeRay's controller)
		}
		before = append(before, kind.Setting{Path: s.Path, Value: value})
	}
	record, _ := json.Marshal(before) //nolint:errchkjson // decoded from JSON
	for _, s := range settings {
		kind.SetAt(workload, s.Path, s.Value)
	}
	kind.SetAt(workload, suspendedAnnotation(), string(record))
}

// FollowSuspension returns an applied workload with the fields that suspend it as they are live, if kt_suspend has
// suspended it, or if it is suspended no longer. An apply does not own these fields, unless it has suspended the
// workload itself. It returns the applied workload if there is no difference.
func FollowSuspension(applied, live *unstructured.Unstructured) *unstructured.Unstructured {
	of := kind.WorkloadOf(live.GroupVersionKind().GroupKind())
	was, is := IsSuspended(applied.Object, of), IsSuspended(live.Object, of)
	if was == is || is && (live.GetAnnotations()[kind.SuspendedAnnotation] == "" || QueueOf(live.Object, of) != "") {
		return applied
	}
	out := applied.DeepCopy()
	for _, s := range of.Suspension {
		value, _ := kind.Find(live.Object, s.Path)
		kind.SetAt(out.Object, s.Path, value)
	}
	return out
}

func suspendedAnnotation() []string {
	return []string{"metadata", "annotations", kind.SuspendedAnnotation}
}

// ErrReplicasUnknown reports that a suspended workload does not record how many pods it had.
var ErrReplicasUnknown = errors.New("the number of pods before the suspension is not recorded")

// Resume resumes a workload: it restores what [Suspend] has recorded, or else removes the settings that suspend it.
// With a queue, the queue resumes it. replicas is the number of pods, or 0 for the number before the suspension. It
// returns ErrReplicasUnknown or a [ScaleError].
func Resume(workload map[string]any, of *kind.Workload, replicas int64) error {
	recorded, err := recordedSettings(workload, of)
	if err != nil {
		return err
	}
	switch {
	case recorded != nil:
		for _, s := range recorded {
			kind.SetAt(workload, s.Path, kind.Number(s.Value))
		}
	case suspendsByNumber(of) && replicas == 0:
		return ErrReplicasUnknown
	default:
		unsuspend(workload, of)
	}
	ForgetSuspension(workload)
	if QueueOf(workload, of) != "" { // which resumes the workload
		for _, s := range of.Suspension {
			kind.SetAt(workload, s.Path, s.Value)
		}
	}
	if replicas > 0 {
		return Scale(workload, of, replicas)
	}
	return nil
}

// unsuspend removes the settings that suspend a workload.
func unsuspend(workload map[string]any, of *kind.Workload) {
	for _, s := range of.Suspension {
		switch s.Value {
		case true:
			kind.SetAt(workload, s.Path, false)
		case int64(0):
			kind.SetAt(workload, s.Path, int64(1)) // a number of groups, or replaced by the number of pods
		default:
			kind.SetAt(workload, s.Path, nil)
		}
	}
}

// recordedSettings returns what [Suspend] has recorded, or nil. It omits fields that Suspend never changes.
func recordedSettings(workload map[string]any, of *kind.Workload) ([]kind.Setting, error) {
	text := kind.TextAt(workload, suspendedAnnotation()...)
	if text == "" {
		return nil, nil
	}
	var recorded []kind.Setting
	if err := json.Unmarshal([]byte(text), &recorded); err != nil {
		return nil, fmt.Errorf("the annotation %s is not valid: %w", kind.SuspendedAnnotation, err)
	}
	return slices.DeleteFunc(recorded, func(s kind.Setting) bool {
		same := func(other kind.Setting) bool { return slices.Equal(s.Path, other.Path) }
		return !slices.Equal(s.Path, queueLabel()) && !slices.ContainsFunc(of.Suspension, same)
	}), nil
}

// ForgetStaleSuspension removes what [Suspend] has recorded if the workload has been resumed since, and suspended by
// another client. setByAction reports whether an action has set the value at a path.
func ForgetStaleSuspension(
	workload *unstructured.Unstructured, of *kind.Workload, setByAction func(*unstructured.Unstructured, []string) bool,
) {
	recorded, _ := recordedSettings(workload.Object, of) // Resume reports an invalid record
	if slices.ContainsFunc(recorded, func(before kind.Setting) bool {
		value, found := kind.Find(workload.Object, before.Path)
		return found && !reflect.DeepEqual(kind.Number(value), kind.Number(before.Value)) &&
			!setByAction(workload, before.Path)
	}) {
		ForgetSuspension(workload.Object)
	}
}

// ForgetSuspension removes what [Suspend] has recorded.
func ForgetSuspension(workload map[string]any) { kind.SetAt(workload, suspendedAnnotation(), nil) }
