package ready

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// revision is the part of a Deployment that runs the current template. Pods of
// older revisions may still exist; their problems are not relevant.
type revision struct {
	replicaSet string             // "" if it does not exist yet or is unknown
	object     *appsv1.ReplicaSet // nil if ReplicaSets are unknown
	pods       []*corev1.Pod
}

func currentRevision(d *appsv1.Deployment, s Snapshot) revision {
	if s.ReplicaSets == nil {
		return s.guessRevision(d)
	}
	rs := currentReplicaSet(d, s.ReplicaSets)
	if rs == nil {
		return revision{}
	}
	return revision{replicaSet: rs.Name, object: rs, pods: podsOf(rs.Name, s.Pods)}
}

// currentReplicaSet returns the ReplicaSet with the template of the Deployment,
// by the rule of the Deployment controller (pkg/controller/deployment/util,
// EqualIgnoreHash). Of several, it returns the one with the highest revision.
func currentReplicaSet(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	same := filter(sets, func(rs *appsv1.ReplicaSet) bool {
		return sameTemplate(&rs.Spec.Template, &d.Spec.Template)
	})
	if len(same) == 0 {
		return nil
	}
	return slices.MaxFunc(same, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(cmp.Compare(revisionNumber(a), revisionNumber(b)), strings.Compare(a.Name, b.Name))
	})
}

func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return apiequality.Semantic.DeepEqual(a, b)
}

func revisionNumber(rs *appsv1.ReplicaSet) int {
	n, _ := strconv.Atoi(rs.Annotations["deployment.kubernetes.io/revision"])
	return n
}

// namedReplicaSet matches the ReplicaSet in the messages of the Progressing
// condition, all of which quote it
// (pkg/controller/deployment/{progress,sync}.go).
var namedReplicaSet = regexp.MustCompile(`(?i)replica ?set "([^"]+)"`)

// guessRevision determines the revision without ReplicaSets, by the condition
// of the Deployment or otherwise by age. The condition may be outdated (a
// rollback, a Recreate whose old pods still exist), so pods that clearly run
// another template are ignored.
func (s Snapshot) guessRevision(d *appsv1.Deployment) revision {
	if d.Status.ObservedGeneration < d.Generation || d.Status.Replicas > 0 && d.Status.UpdatedReplicas == 0 {
		return revision{}
	}
	name := youngestReplicaSet(s.Pods)
	progressing := conditionsOf(s.Workload).of("Progressing")
	if m := namedReplicaSet.FindStringSubmatch(progressing.Message); m != nil {
		name = m[1]
	}
	return revision{
		replicaSet: name,
		pods: slices.DeleteFunc(podsOf(name, s.Pods), func(p *corev1.Pod) bool {
			return runsSomethingElse(p, &d.Spec.Template)
		}),
	}
}

// youngestReplicaSet returns the ReplicaSet whose first pod is the youngest. An
// older ReplicaSet may have created a pod since, but its first pod is older.
func youngestReplicaSet(pods []*corev1.Pod) string {
	first := map[string]metav1.Time{}
	for _, p := range pods {
		rs := replicaSetOf(p)
		if t, ok := first[rs]; rs != "" && (!ok || p.CreationTimestamp.Before(&t)) {
			first[rs] = p.CreationTimestamp
		}
	}
	if len(first) == 0 {
		return ""
	}
	return slices.MaxFunc(slices.Collect(maps.Keys(first)), func(a, b string) int {
		return cmp.Or(first[a].Compare(first[b].Time), strings.Compare(a, b))
	})
}

func podsOf(replicaSet string, pods []*corev1.Pod) []*corev1.Pod {
	return filter(pods, func(p *corev1.Pod) bool { return replicaSetOf(p) == replicaSet })
}

// replicaSetOf returns the name of the ReplicaSet of a pod, or "".
func replicaSetOf(p *corev1.Pod) string {
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "ReplicaSet" {
		return owner.Name
	}
	return ""
}

// runsSomethingElse reports whether a container of the template has another
// image or command in the pod.
func runsSomethingElse(p *corev1.Pod, template *corev1.PodTemplateSpec) bool {
	return slices.ContainsFunc(template.Spec.Containers, func(want corev1.Container) bool {
		have := container(p, want.Name)
		return have.Image != want.Image || !slices.Equal(have.Command, want.Command) ||
			!slices.Equal(have.Args, want.Args)
	})
}
