package ready

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// refusedCause explains pods, or a ReplicaSet, that the API server refuses to
// create: by quota, by admission, or for want of a service account.
func (s *scene) refusedCause(d *appsv1.Deployment, rev revision) *Cause {
	message := s.refusal(d, rev)
	if message == "" {
		return nil
	}
	c := &Cause{Object: fmt.Sprintf("Deployment %s/%s", d.Namespace, d.Name), Command: kubectl(d.Namespace, "describe deployment.apps "+d.Name)}
	if rev.replicaSet != "" {
		c.Object = fmt.Sprintf("ReplicaSet %s/%s", d.Namespace, rev.replicaSet)
		c.Command = kubectl(d.Namespace, "describe replicaset.apps "+rev.replicaSet)
	}
	c.Events = s.refusedEvents(rev.replicaSet).render()
	explainRefusal(c, d.Namespace, message)
	if !s.isFinal(c, message) {
		return c
	}
	return c.terminal(shortGrace)
}

// isFinal says whether a refusal stands however often the pods are tried again.
// It does not where the API server or a webhook could not answer, where a new
// quota is not counted yet, and where pods that are on their way out still count
// toward the quota.
func (s *scene) isFinal(c *Cause, message string) bool {
	leaving := slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool { return p != nil && p.DeletionTimestamp != nil })
	return saysNo.MatchString(message) && !uncountedQuota.MatchString(message) && !(c.Reason == ReasonQuotaExceeded && leaving)
}

// failedCreate is the reason of the event and of the condition by which the
// controllers of Kubernetes say that they could not create a pod.
const failedCreate = "FailedCreate"

// couldNotCreate is whether an event says that a pod, or an object between the
// workload and its pods, could not be created: the reasons are those of
// Kubernetes' controllers, the training operator, KubeRay and JobSet.
func couldNotCreate(e *corev1.Event) bool {
	switch e.Reason {
	case failedCreate, "FailedCreatePod", "FailedToCreateHeadPod", "FailedToCreateWorkerPod", "JobCreationFailed", "HeadlessServiceCreationFailed":
		return true
	}
	return false
}

// creationRefused explains pods that are not there because the API server does
// not let a controller make them. An event is past once a younger pod is there,
// or once the workload was applied anew.
func (s *scene) creationRefused() *Cause {
	if len(s.pods) > 0 && len(s.pods) >= s.desired {
		return nil
	}
	e := s.events.latestWhere(couldNotCreate)
	if e == nil || LastSeen(e).Before(lastApplied(s.Workload)) {
		return nil
	}
	for _, p := range s.pods {
		if LastSeen(e).Before(p.CreationTimestamp.Time) {
			return nil
		}
	}
	return s.refusedBy(e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
}

// refusedBy explains a refusal that an object of the namespace has met with.
func (s *scene) refusedBy(kind, name, message string) *Cause {
	c := &Cause{
		Object:  fmt.Sprintf("%s %s/%s", kind, s.namespace, name),
		Command: kubectl(s.namespace, fmt.Sprintf("describe %s %s", strings.ToLower(kind), name)),
		Events:  s.events.about(kind, name).render(),
	}
	if kind == s.Workload.GetKind() && name == s.Workload.GetName() {
		c.Object, c.Command = object(s.Workload), kubectl(s.namespace, "describe "+resourceArg(s.Workload))
	}
	explainRefusal(c, s.namespace, message)
	if !s.isFinal(c, message) {
		return c
	}
	return c.terminal(shortGrace)
}

// lastApplied is when somebody last applied the object; zero where unknown.
func lastApplied(u *unstructured.Unstructured) time.Time {
	var last time.Time
	for _, entry := range u.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && entry.Time != nil {
			last = later(last, entry.Time.Time)
		}
	}
	return last
}

// refusedEvents are those of one ReplicaSet, or of all if it is not known.
func (s *scene) refusedEvents(replicaSet string) eventLog {
	if replicaSet != "" {
		return s.events.about("ReplicaSet", replicaSet)
	}
	var out eventLog
	for _, e := range s.events {
		if e.Reason == failedCreate {
			out = append(out, e)
		}
	}
	return out
}

// refusal is the API server's own message; "" if nothing is refused.
func (s *scene) refusal(d *appsv1.Deployment, rev revision) string {
	if c := deploymentCondition(d, appsv1.DeploymentProgressing); c != nil && c.Reason == "ReplicaSetCreateError" {
		return c.Message
	}
	if rev.object != nil {
		for _, c := range rev.object.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue && c.Reason == failedCreate {
				return c.Message
			}
		}
		return ""
	}
	if d.Status.ObservedGeneration < d.Generation {
		return ""
	}
	c := deploymentCondition(d, appsv1.DeploymentReplicaFailure)
	if c != nil && c.Status == corev1.ConditionTrue && c.Reason == failedCreate {
		if ofOtherReplicaSet(d.Name, rev.replicaSet, c.Message) {
			return ""
		}
		return c.Message
	}
	if s.ReplicaSets == nil && len(s.pods) == 0 && rev.replicaSet != "" {
		if e := s.events.about("ReplicaSet", rev.replicaSet).latest(failedCreate); e != nil {
			return e.Message
		}
	}
	return ""
}

// ofOtherReplicaSet is whether a message names a pod of another revision: the
// Deployment passes on the failures of old ReplicaSets too.
func ofOtherReplicaSet(deployment, current, message string) bool {
	return current != "" &&
		strings.Contains(message, `pods "`+deployment+"-") &&
		!strings.Contains(message, `pods "`+current+"-")
}

// Texts of the API server's admission plugins.
var (
	exceededQuota  = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.+), used: (.+), limited: (\S+)`)
	uncountedQuota = regexp.MustCompile(`status unknown for quota: ([^,]+)`)
	failedQuota    = regexp.MustCompile(`failed quota: ([^:]+): must specify (.+)`)
	serviceAccount = regexp.MustCompile(`error looking up service account ([^/\s]+)/(\S+?): (.+)`)
	priorityClass  = regexp.MustCompile(`no PriorityClass with name (\S+) was found`)
	saysNo         = regexp.MustCompile(`is forbidden|denied|is invalid`)
	limitRange     = regexp.MustCompile(`(?:maximum|minimum) \S+ usage per \w+ is|max limit to request ratio per|must be less than or equal to \S+ limit`)
	refusedPod     = regexp.MustCompile(`^[^"]*?(?:pods|Pod|replicasets\.apps|ReplicaSet\.apps) "[^"]*" is (?:forbidden|invalid): `)
)

// explainRefusal fills in what the message says.
func explainRefusal(c *Cause, namespace, message string) {
	reason := clip(refusedPod.ReplaceAllString(message, ""))
	if m := exceededQuota.FindStringSubmatch(message); m != nil {
		c.Reason, c.Subject = ReasonQuotaExceeded, "quota "+m[1]
		c.Summary = fmt.Sprintf("Quota %s of namespace %s does not allow the pods: %s.", m[1], namespace, quotaShortage(m[2], m[3], m[4]))
		c.Hint = "Ask for less, free what others of the namespace use, or have the quota raised."
		c.Command = kubectl(namespace, "describe resourcequota "+m[1])
		return
	}
	if m := failedQuota.FindStringSubmatch(message); m != nil {
		c.Reason, c.Subject = ReasonQuotaExceeded, "quota "+m[1]
		c.Summary = fmt.Sprintf("Quota %s of namespace %s demands that pods set %s.", m[1], namespace, clip(m[2]))
		c.Hint = "Set `cpus`, `memory` or `disk_size` for requests, and limits in `service_template`."
		return
	}
	if m := serviceAccount.FindStringSubmatch(message); m != nil && strings.Contains(m[3], "not found") {
		c.Reason, c.Subject = ReasonServiceAccountMissing, "ServiceAccount "+m[1]+"/"+m[2]
		c.Summary = fmt.Sprintf("ServiceAccount %q does not exist in namespace %s, so no pod can be created.", m[2], m[1])
		c.Hint = fmt.Sprintf("Create it (`%s`; Kubetorch's installation brings `kubetorch-service-account`), or name another in `service_account_name`.",
			kubectl(m[1], "create serviceaccount "+m[2]))
		c.Command = kubectl(m[1], "get serviceaccounts")
		c.Missing = &Ref{Kind: "ServiceAccount", Namespace: m[1], Name: m[2]}
		return
	}
	if m := uncountedQuota.FindStringSubmatch(message); m != nil {
		c.Reason, c.Subject = ReasonPodsRefused, "quota "+m[1]
		c.Summary = fmt.Sprintf("Quota %s of namespace %s is new, and its use is not counted yet. The pods are created once Kubernetes has counted it, which takes seconds.", m[1], namespace)
		c.Hint = ""
		c.Command = kubectl(namespace, "describe resourcequota "+m[1])
		return
	}
	c.Reason = ReasonPodsRefused
	c.Summary = "The cluster refuses the pods: " + reason
	switch {
	case priorityClass.MatchString(message):
		c.Hint = "Create the PriorityClass, or name another in `priority_class_name`."
	case limitRange.MatchString(message):
		c.Summary = andThen(c.Summary, "A LimitRange of the namespace bounds what containers ask for, and sets limits where none are given.")
		c.Hint = "Ask for what the LimitRange allows, or set limits in `service_template`."
		c.Command = kubectl(namespace, "describe limitrange")
	case strings.Contains(message, "violates PodSecurity"):
		c.Hint = "Set `freeze = true` to do without SYS_PTRACE, and correct other fields in `service_template`: the namespace's Pod Security level forbids them."
	case strings.Contains(message, "ValidatingAdmissionPolicy"), strings.Contains(message, "denied the request"):
		c.Hint = "Change what the message of the policy names, or ask who runs it."
	case strings.Contains(message, "failed calling webhook"):
		c.Hint = "Ask who runs the webhook: it does not answer."
	default:
		c.Hint = "Change what the message names."
	}
}

// quotaShortage puts the three lists of a quota's message side by side, each of
// the form "cpu=2,requests.nvidia.com/gpu=8".
func quotaShortage(requested, used, limited string) string {
	have, limit := assignments(used), assignments(limited)
	var parts []string
	for item := range strings.SplitSeq(requested, ",") {
		name, want, _ := strings.Cut(item, "=")
		parts = append(parts, fmt.Sprintf("%s %s asked for, %s of %s in use", want, name, have[name], limit[name]))
	}
	return strings.Join(parts, "; ")
}

func assignments(list string) map[string]string {
	out := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(item, "=")
		out[name] = value
	}
	return out
}
