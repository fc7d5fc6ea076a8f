package kube

import (
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fieldErrors matches validation errors of
// k8s.io/apimachinery/pkg/util/validation/field in a text: path, type, detail.
var fieldErrors = regexp.MustCompile(`(?:^|[\s\[])((?:spec|metadata)\b[^\s:]*): (Invalid value|Forbidden|Required ` +
	`value|Duplicate value|Unsupported value)(?:: |$|,)`)

// webhookCauses extracts the invalid fields from the denial of a webhook.
// controller-runtime, which most webhooks use, sends them only in the text.
func webhookCauses(message string) []FieldCause {
	if m := ofKnative.FindStringSubmatch(message); m != nil {
		return knativeCauses(m[1])
	}
	_, denial, denied := strings.Cut(message, "denied the request: ")
	if !denied {
		return nil
	}
	types := map[string]metav1.CauseType{
		"Invalid value": metav1.CauseTypeFieldValueInvalid, "Forbidden": metav1.CauseTypeForbidden,
		"Required value": metav1.CauseTypeFieldValueRequired, "Duplicate value": metav1.CauseTypeFieldValueDuplicate,
		"Unsupported value": metav1.CauseTypeFieldValueNotSupported,
	}
	var out []FieldCause
	for _, match := range fieldErrors.FindAllStringSubmatch(denial, -1) {
		out = append(out, FieldCause{Type: types[match[2]], Field: match[1], Message: denial})
	}
	return out
}

// Denials of the webhook of Knative (config/core/webhooks of
// knative.dev/serving).
var (
	ofKnative = regexp.MustCompile(`(?s)^admission webhook "validation\.webhook\.serving\.knative\.dev" denied the ` +
		`request: validation failed: (.+)$`)
	// At a dry run, the webhook also creates a pod as a dry run (pkg/webhook/podspec_dryrun.go).
	podDryRun = regexp.MustCompile(`(?s)^admission webhook "validation\.webhook\.serving\.knative\.dev" denied the ` +
		`request: validation callback failed: dry run failed with (.+): spec\.template$`)
	// A line is a message with the fields that it is about (pkg/apis/field_error.go of knative.dev/pkg).
	aboutFields = regexp.MustCompile(`^(.+): ((?:spec|metadata)\b[^\s,]*(?:, (?:spec|metadata)\b[^\s,]*)*)$`)
)

// rejectedPods returns why admission would reject the pods of a Knative Service,
// or "" if the message is not about that. Pods with invalid fields do not count:
// only a change of the Service can correct them.
func rejectedPods(message string) string {
	m := podDryRun.FindStringSubmatch(message)
	if m == nil || strings.Contains(m[1], `" is invalid: `) {
		return ""
	}
	return m[1]
}

// knativeCauses extracts the fields from the lines of a denial. A line without
// fields is about a part of the template, or a detail of the line before.
func knativeCauses(denial string) []FieldCause {
	var out []FieldCause
	for line := range strings.Lines(denial) {
		message, list := strings.TrimSuffix(strings.TrimSpace(line), ":"), "spec.template"
		if m := aboutFields.FindStringSubmatch(message); m != nil {
			message, list = m[1], m[2]
		}
		for field := range strings.SplitSeq(list, ", ") {
			out = append(out, FieldCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field, Message: message})
		}
	}
	return out
}

// knativeFeatures returns the features of Knative that allow the rejected
// fields, as keys of its ConfigMap config-features
// (pkg/apis/serving/fieldmask.go and k8s_validation.go).
func knativeFeatures(fields []FieldCause) []string {
	var out []string
	for _, f := range fields {
		for pattern, feature := range map[string]string{
			`\.spec\.(affinity|dnsConfig|dnsPolicy|hostAliases|hostIPC|hostNetwork|hostPID|nodeSelector|` +
				`priorityClassName|runtimeClassName|schedulerName|securityContext|shareProcessNamespace|tolerations|` +
				`topologySpreadConstraints): must not set`: "podspec-",
			`\.valueFrom\.(?:resourceF|f)ieldRef(): must not set`:       "podspec-fieldref",
			`\.capabilities\.add(): must not set`:                       "containerspec-addcapabilities",
			`pod spec support for init-containers is off()`:             "podspec-init-containers",
			`Persistent volume (claim|write) support is disabled`:       "podspec-persistent-volume-",
			`(CSI|Ephemeral|HostPath|Image) volume support is disabled`: "podspec-volumes-",
		} {
			if m := regexp.MustCompile(pattern).FindStringSubmatch(f.Field + ": " + f.Message); m != nil {
				out = append(out, "kubernetes."+feature+strings.ToLower(m[1]))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
