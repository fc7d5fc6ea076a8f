package ready

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// refusedCause explains pods, or a ReplicaSet, whose creation the API server
// rejects: by quota, by admission, or because of a missing service account.
func (s *diagnosis) refusedCause(d *appsv1.Deployment, rev revision) *Cause {
	message, onlyEvent := s.refusal(d, rev)
	if message == "" {
		return nil
	}
	gvk, name := kind.ReplicaSet().GroupVersionKind, rev.replicaSet
	events := s.events.about(gvk.Kind, name)
	if name == "" { // the events of all
		gvk, name = s.Workload.GroupVersionKind(), d.Name
		events = filter(s.events, func(e *corev1.Event) bool { return e.Reason == failedCreate })
	}
	return s.refused(causeIn(gvk, s.namespace, name, events), message).unconfirmed(onlyEvent, message)
}

// unconfirmed sets Claimed of a rejection that only an event reports, or of pods by a quota: it may have room again,
// while a controller keeps the message of its first attempt, and tries again after up to 16 minutes. What else an
// admission rejects may depend on the user, so that a dry run of another one says nothing.
func (c *Cause) unconfirmed(onlyEvent bool, message string) *Cause {
	c.Claimed = onlyEvent || c.Reason == ReasonQuotaExceeded && strings.Contains(message, `pods "`)
	return c
}

// refused completes the cause of a rejected object.
func (s *diagnosis) refused(c *Cause, message string) *Cause {
	why := Refusal(s.namespace, message)
	why.Object, why.Events, why.Command = c.Object, c.Events, cmp.Or(why.Command, c.Command)
	if !s.isFinal(&why, message) {
		return &why
	}
	return why.terminal(shortGrace)
}

// isFinal reports whether a rejection is permanent. It is temporary if the API
// server or a webhook did not respond, if the API server cannot reach itself, if
// the usage of a new quota is not calculated yet, or if terminating pods still
// count toward the quota.
func (s *diagnosis) isFinal(c *Cause, message string) bool {
	leaving := slices.ContainsFunc(s.Pods, func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	return rejection.MatchString(message) && !FailureOfServer(message) && !uncountedQuota.MatchString(message) &&
		!(c.Reason == ReasonQuotaExceeded && leaving)
}

// failedCreate is the reason of events and conditions of the controllers of
// Kubernetes that could not create a pod.
const failedCreate = "FailedCreate"

// couldNotCreate reports whether an event is about a failed creation of a pod,
// or of an object between the workload and its pods. The reasons are those of
// the controllers of Kubernetes, the training operator, KubeRay and JobSet.
func couldNotCreate(e *corev1.Event) bool {
	return slices.Contains([]string{failedCreate, "FailedCreatePod", "FailedToCreateHeadPod",
		"FailedToCreateWorkerPod", "JobCreationFailed", "HeadlessServiceCreationFailed"}, e.Reason)
}

// creationRefused explains pods that a controller cannot create because the API
// server rejects them. An event is outdated if a younger pod exists, or if the
// workload was applied again since.
func (s *diagnosis) creationRefused() *Cause {
	if len(s.pods) > 0 && len(s.pods) >= s.desired {
		return nil
	}
	e := s.events.latestWhere(couldNotCreate)
	isYounger := func(p *corev1.Pod) bool { return LastSeen(e).Before(p.CreationTimestamp.Time) }
	if e == nil || LastSeen(e).Before(lastApplied(s.Workload)) || slices.ContainsFunc(s.pods, isYounger) {
		return nil
	}
	return s.refusedBy(e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message, true)
}

// refusedBy explains a rejection of an object in the namespace, which may be reported only by an event.
func (s *diagnosis) refusedBy(about, name, message string, onlyEvent bool) *Cause {
	gvk := schema.GroupVersionKind{Kind: about}
	if about == s.Workload.GetKind() {
		gvk = s.Workload.GroupVersionKind()
	}
	events := s.events.about(about, name)
	return s.refused(causeIn(gvk, s.namespace, name, events), message).unconfirmed(onlyEvent, message)
}

// lastApplied returns the time of the last apply of the object, or zero if
// unknown.
func lastApplied(u *unstructured.Unstructured) time.Time {
	var last time.Time
	for _, entry := range u.GetManagedFields() {
		if entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" && entry.Time != nil &&
			entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// refusal returns the message of the API server, or "" if nothing was rejected, and whether only an event reports it.
func (s *diagnosis) refusal(d *appsv1.Deployment, rev revision) (message string, onlyEvent bool) {
	if c := conditionsOf(s.Workload).of("Progressing"); c.Reason == "ReplicaSetCreateError" {
		return c.Message, false
	}
	if rev.object != nil {
		return replicaFailure(rev.object), false
	}
	if d.Status.ObservedGeneration < d.Generation {
		return "", false
	}
	if c := conditionsOf(s.Workload).of("ReplicaFailure"); c.isTrue() && c.Reason == failedCreate {
		if ofOtherReplicaSet(d.Name, rev.replicaSet, c.Message) {
			return "", false
		}
		return c.Message, false
	}
	if len(s.pods) == 0 {
		if e := s.events.about("ReplicaSet", rev.replicaSet).latest(failedCreate); e != nil {
			return e.Message, true
		}
	}
	return "", false
}

// ofOtherReplicaSet reports whether a message is about a pod of another
// revision. The Deployment also reports the failures of old ReplicaSets.
func ofOtherReplicaSet(deployment, current, message string) bool {
	return current != "" &&
		strings.Contains(message, `pods "`+deployment+"-") &&
		!strings.Contains(message, `pods "`+current+"-")
}

// Messages of admission plugins of the API server
// (plugin/pkg/admission/{resourcequota,serviceaccount,priority,limitranger},
// apiserver/pkg/admission/plugin/{policy,webhook}).
var (
	exceededQuota  = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.+), used: (.+), limited: (\S+)`)
	uncountedQuota = regexp.MustCompile(`status unknown for quota: ([^,]+)`)
	failedQuota    = regexp.MustCompile(`failed quota: ([^:]+): must specify (.+)`)
	serviceAccount = regexp.MustCompile(`error looking up service account ([^/\s]+)/(\S+?): (.+)`)
	rejection      = regexp.MustCompile(`is forbidden|denied|is invalid`)
	ownRequest     = regexp.MustCompile(`failed to allocate IP: |\b(?:Get|Post|Put|Patch|Delete) "https?://[^"]+": `)
	ofWebhook      = regexp.MustCompile(`denied the request: |failed calling webhook`)
	refusedPod     = regexp.MustCompile(`^[^"]*?(?:pods|Pod|replicasets\.apps|ReplicaSet\.apps) "[^"]*" ` +
		`is (?:forbidden|invalid): `)
)

const beyondLimitRange = `(?:maximum|minimum) \S+ usage per \w+ is|max limit to request ratio per|` +
	`must be less than or equal to \S+ limit`

// CheckServer is the command that shows the health of the API server.
const CheckServer = "kubectl get --raw '/readyz?verbose'"

// FailureOfServer reports whether the API server rejects an object only because a
// request to itself failed, by its message. While it stops or starts, it reports
// this as a forbidden object (the lookup of a service account,
// plugin/pkg/admission/serviceaccount/admission.go) or as an invalid field (the
// address of a Service that requests none,
// pkg/registry/core/service/storage/alloc.go). The requests of webhooks, and
// those to them, do not count.
func FailureOfServer(message string) bool {
	return ownRequest.MatchString(message) && !ofWebhook.MatchString(message)
}

// Refusal explains the rejection of an object by admission, by the message of
// the API server. The command is "" if none is specific to the rejection.
func Refusal(namespace, message string) Cause {
	if m := exceededQuota.FindStringSubmatch(message); m != nil {
		return ofQuota(namespace, m[1], "does not allow the pods: "+quotaShortage(m[2], m[3], m[4]),
			"Request less, free resources in the namespace, or request a higher quota.")
	}
	if m := failedQuota.FindStringSubmatch(message); m != nil {
		return ofQuota(namespace, m[1], "requires that pods set "+clip(m[2]), "Set %s.", advice.Resources)
	}
	if m := uncountedQuota.FindStringSubmatch(message); m != nil {
		c := ofQuota(namespace, m[1], "is new, and its usage is not calculated yet. The pods are created when "+
			"Kubernetes has calculated it, within seconds", "")
		c.Reason = ReasonPodsRefused
		return c
	}
	m := serviceAccount.FindStringSubmatch(message)
	if m != nil && m[1] == namespace && strings.Contains(m[3], "not found") {
		return ServiceAccountMissing(m[1], m[2])
	}
	c := Cause{
		Reason:  ReasonPodsRefused,
		Summary: "The API server rejects the pods: " + clipTo(refusedPod.ReplaceAllString(message, ""), maxVerdict),
		Hint: advice.Of("Change the fields that the message reports: an admission step of the cluster rejects " +
			"them."),
	}
	for _, row := range refusals() {
		if m := regexp.MustCompile(row.message).FindStringSubmatch(message); m != nil {
			c.Summary, c.Hint = andThen(c.Summary, row.summary), row.hint
			names := strings.NewReplacer("NAMESPACE", quoted(namespace), "NAME", quoted(m[len(m)-1]))
			c.Command = names.Replace(row.command)
			break
		}
	}
	return c
}

// ServiceAccountMissing is the cause of pods whose service account does not exist.
func ServiceAccountMissing(namespace, name string) Cause {
	return Cause{
		Reason: ReasonServiceAccountMissing, Subject: "ServiceAccount " + namespace + "/" + name,
		Summary: fmt.Sprintf("ServiceAccount %q does not exist in namespace %s, so no pod can be created.", name,
			namespace),
		Hint: advice.Of("Create it (`%s`; the installation of Kubetorch creates `kubetorch-service-account`), or "+
			"set %s to another one, such as `default`.", Kubectl(namespace, "create", "serviceaccount", name),
			advice.ServiceAccount),
		Command: Kubectl(namespace, "get", "serviceaccounts"),
		Missing: &Ref{Kind: "ServiceAccount", Namespace: namespace, Name: name},
	}
}

func ofQuota(namespace, quota, what, next string, values ...any) Cause {
	return Cause{
		Reason: ReasonQuotaExceeded, Subject: "quota " + quota, Hint: advice.Of(next, values...),
		Summary: fmt.Sprintf("Quota %s of namespace %s %s.", quota, namespace, what),
		Command: Kubectl(namespace, "describe", "resourcequota", quota),
	}
}

// refusal is the explanation of a message: a further sentence, the command, in
// which NAME is the last group of the message, and the next step.
type refusal struct {
	message, summary, command string
	hint                      advice.Text
}

// refusals lists the other rejections. The first matching row applies.
func refusals() []refusal {
	const (
		webhooks = "kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"
		labels   = "kubectl get namespace NAMESPACE --show-labels"
	)
	reported := advice.Of("reported fields in %s or %s: the Pod Security level of the namespace forbids them.",
		advice.Security, advice.PodTemplate)
	return []refusal{
		{`quantities must match the regular expression`, "", "kubectl explain pod.spec.containers.resources",
			advice.Of("Correct the quantity, for example to 32Gi, 32G or 500m.")},
		{`no PriorityClass with name \S+ was found`, "", "kubectl get priorityclasses",
			advice.Of("Create the PriorityClass, or set %s to another one.", advice.PriorityClass)},
		{`RuntimeClass \S+ not found`, "", "kubectl get runtimeclasses",
			advice.Of("Create the RuntimeClass, or set %s to another one.", advice.RuntimeClass)},
		{beyondLimitRange, "A LimitRange of the namespace restricts requests and limits, and sets default limits.",
			"kubectl -n NAMESPACE describe limitrange", advice.Of("Set %s within the LimitRange.", advice.Resources)},
		{`violates PodSecurity .*SYS_PTRACE`, "", labels,
			advice.Of("Remove %s, and correct the other %s", advice.Ptrace, reported)},
		{`violates PodSecurity`, "", labels, advice.Of("Correct the %s", reported)},
		{`ValidatingAdmissionPolicy '([^']+)'`, "", "kubectl describe validatingadmissionpolicy NAME",
			advice.Of("Change the fields that the message of the policy reports, or contact its administrator.")},
		{`failed calling webhook`, "", webhooks,
			advice.Of("Contact the administrator of the webhook if this persists: it does not respond.")},
		{`denied the request`, "", webhooks,
			advice.Of("Change the fields that the message of the webhook reports, or contact its administrator.")},
		{`because it is being terminated`, "", "kubectl get namespace NAMESPACE -o yaml",
			advice.Of("Wait until the namespace is deleted and create it again, or use another namespace.")},
		// Last, because the messages of webhooks may contain requests as well.
		{ownRequest.String(), "", CheckServer, advice.Of("Check the API server if this persists: a request to itself " +
			"failed. It may be starting or stopping.")},
	}
}

// quotaShortage combines the three lists of a quota message by resource. Each
// list has the form "cpu=2,requests.nvidia.com/gpu=8".
func quotaShortage(requested, used, limited string) string {
	have, limit := assignments(used), assignments(limited)
	var parts []string
	for item := range strings.SplitSeq(requested, ",") {
		name, want, _ := strings.Cut(item, "=")
		parts = append(parts, fmt.Sprintf("%s %s requested, %s of %s in use", want, name, have[name], limit[name]))
	}
	return strings.Join(parts, "; ")
}

// assignments reads a list as far as it has this form: it can be cut, and be followed by other text.
func assignments(list string) map[string]string {
	out := map[string]string{}
	for item := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(item, "=")
		out[name] = value
	}
	return out
}
