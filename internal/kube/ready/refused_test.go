package ready

import (
	"strings"
	"testing"
)

// The messages have the form of the admission plugins of the API server.
func TestRejectionsAreExplained(t *testing.T) {
	t.Parallel()
	const forbidden = `pods "svc-1" is forbidden: `
	for name, test := range map[string]struct{ message, reason, hint, command string }{
		"quota": {forbidden + "exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2",
			ReasonQuotaExceeded, "request a higher quota", "kubectl -n ml describe resourcequota team"},
		"quota of a claim": {`persistentvolumeclaims "data" is forbidden: exceeded quota: disk, requested: ` +
			"requests.storage=1Ti, used: requests.storage=0, limited: requests.storage=10Gi",
			ReasonQuotaExceeded, "request a higher quota", "kubectl -n ml describe resourcequota disk"},
		"quota that requires limits": {forbidden + "failed quota: team: must specify limits.cpu for: kubetorch",
			ReasonQuotaExceeded, "Set requests and limits", "kubectl -n ml describe resourcequota team"},
		"quota without usage": {forbidden + "status unknown for quota: team, resources: pods",
			ReasonPodsRefused, "", "kubectl -n ml describe resourcequota team"},
		"service account": {forbidden + `error looking up service account ml/reader: serviceaccount "reader" not found`,
			ReasonServiceAccountMissing, "kubectl -n ml create serviceaccount reader",
			"kubectl -n ml get serviceaccounts"},
		"priority class": {forbidden + "no PriorityClass with name urgent was found",
			ReasonPodsRefused, "Create the PriorityClass", "kubectl get priorityclasses"},
		"runtime class": {forbidden + `pod rejected: RuntimeClass "gvisor" not found`,
			ReasonPodsRefused, "Create the RuntimeClass", "kubectl get runtimeclasses"},
		"LimitRange": {forbidden + "maximum cpu usage per Container is 2, but limit is 4",
			ReasonPodsRefused, "within the LimitRange", "kubectl -n ml describe limitrange"},
		"LimitRange of a claim": {`persistentvolumeclaims "data" is forbidden: maximum storage usage per ` +
			"PersistentVolumeClaim is 5Gi, but request is 10Gi",
			ReasonPodsRefused, "within the LimitRange", "kubectl -n ml describe limitrange"},
		"default limit below the request": {`Pod "svc-1" is invalid: spec.containers[0].resources.requests: Invalid ` +
			`value: ` +
			`"4": must be less than or equal to cpu limit of 2`,
			ReasonPodsRefused, "within the LimitRange", "kubectl -n ml describe limitrange"},
		"Pod Security": {forbidden + `violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false`,
			ReasonPodsRefused, "fields in the security context", "kubectl get namespace ml --show-labels"},
		"Pod Security, Kubetorch's server": {forbidden + `violates PodSecurity "baseline:latest": non-default ` +
			`capabilities (container "kubetorch" must not include "SYS_PTRACE" in securityContext.capabilities.add)`,
			ReasonPodsRefused, "Remove the capability SYS_PTRACE", "kubectl get namespace ml --show-labels"},
		"policy": {forbidden + "ValidatingAdmissionPolicy 'no-latest' with binding 'all' denied request: no tag",
			ReasonPodsRefused, "message of the policy", "kubectl describe validatingadmissionpolicy no-latest"},
		"webhook": {`admission webhook "guard.example.com" denied the request: team label is missing`,
			ReasonPodsRefused, "message of the webhook", "kubectl get validatingwebhookconfigurations,mutating"},
		"webhook without a response": {`Internal error occurred: failed calling webhook "pods.example.com": failed ` +
			`to call ` +
			`webhook: Post "https://guard.example.svc:443/": connect: connection refused`,
			ReasonPodsRefused, "does not respond", "kubectl get validatingwebhookconfigurations,mutating"},
		"namespace that is being deleted": {forbidden +
			"unable to create new content in namespace ml because it is being " +
			"terminated", ReasonPodsRefused, "Wait until the namespace is deleted", "kubectl get namespace ml"},
		"quantity of a manifest": {`Deployment in version "v1" cannot be handled as a Deployment: quantities must ` +
			`match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
			ReasonPodsRefused, "Correct the quantity", "kubectl explain pod.spec.containers.resources"},
		"another admission step": {forbidden + "only on weekdays", ReasonPodsRefused, "Change the fields", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Refusal("ml", test.message)
			hint := c.Hint.In()
			if c.Reason != test.reason || !strings.Contains(hint, test.hint) || (test.hint == "") != (hint == "") {
				t.Errorf("%s with the next step %q, want %s and %q", c.Reason, hint, test.reason, test.hint)
			}
			if !strings.HasPrefix(c.Command, test.command) || (test.command == "") != (c.Command == "") {
				t.Errorf("command %q, want %q", c.Command, test.command)
			}
			if c.Summary == "" {
				t.Error("no summary")
			}
		})
	}
}

func TestAFailureOfTheAPIServerItselfIsNoRejection(t *testing.T) {
	t.Parallel()
	const (
		request = `"https://127.0.0.1:6443/api/v1/namespaces/ml/serviceaccounts/default": dial tcp 127.0.0.1:6443: ` +
			`connect: connection refused`
		account = `pods "svc-1" is forbidden: error looking up service account ml/default: `
		address = `Service "svc" is invalid: spec.clusterIPs: Invalid value: [""]: failed to allocate IP`
		webhook = "images.example.com"
	)
	for _, message := range []string{
		account + "Get " + request,
		address + ": Post " + request,
		address + ": allocator not ready",
	} {
		if !FailureOfServer(message) {
			t.Errorf("a rejection: %s", message)
		}
	}
	for _, message := range []string{
		account + `serviceaccount "default" not found`,
		address + " 10.0.0.9: provided IP is already allocated",
		`Internal error occurred: failed calling webhook "` + webhook + `": failed to call webhook: Post ` + request,
		`admission webhook "` + webhook + `" denied the request: Get ` + request,
		`spec.url: Invalid value: "https://example.com": must be a path`,
	} {
		if FailureOfServer(message) {
			t.Errorf("no rejection: %s", message)
		}
	}
}
