package kube

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The messages are those of Knative Serving 0.51.
func TestDenialOfKnativeContainsFieldsAndFeatures(t *testing.T) {
	t.Parallel()
	const annotations, container = "spec.template.metadata.annotations.autoscaling.knative.dev/",
		"spec.template.spec.containers[0]."
	for name, c := range map[string]struct {
		denial   string
		fields   []string // each with its message
		features string
	}{
		"several fields of a message": {
			"max-scale=1 is less than min-scale=3: " + annotations + "max-scale, " + annotations + "min-scale",
			[]string{annotations + "max-scale: max-scale=1 is less than min-scale=3",
				annotations + "min-scale: max-scale=1 is less than min-scale=3"}, "",
		},
		"several messages": {
			"missing field(s): " + container + "image\nmust not set the field(s): spec.template.spec.nodeSelector",
			[]string{container + "image: missing field(s)",
				"spec.template.spec.nodeSelector: must not set the field(s)"},
			"podspec-nodeselector",
		},
		"a detail of a message": {
			"Port name web is not allowed: " + container + "ports\nName must be empty, or one of: 'h2c', 'http1'",
			[]string{container + "ports: Port name web is not allowed",
				"spec.template: Name must be empty, or one of: 'h2c', 'http1'"}, "",
		},
		"a path with spaces": {
			"invalid value: 0: " + annotations + "initial-scale=0 not allowed by cluster",
			[]string{"spec.template: invalid value: 0: " + annotations + "initial-scale=0 not allowed by cluster"}, "",
		},
		"a message without a field": {
			"Persistent volume claim support is disabled, but found persistent volume claim data: \n" +
				"Persistent volume write support is disabled, but found persistent volume claim data that is not " +
				"read-only: ",
			[]string{
				"spec.template: Persistent volume claim support is disabled, but found persistent volume claim data",
				"spec.template: Persistent volume write support is disabled, but found persistent volume claim data " +
					"that is not read-only",
			},
			"podspec-persistent-volume-claim, podspec-persistent-volume-write",
		},
		"init containers, and a reference to a field": {
			"must not set the field(s): " + container + "env[0].valueFrom.resourceFieldRef, " +
				"spec.template.spec.initContainers\npod spec support for init-containers is off, but found 1 init " +
				"containers: ",
			[]string{container + "env[0].valueFrom.resourceFieldRef: must not set the field(s)",
				"spec.template.spec.initContainers: must not set the field(s)",
				"spec.template: pod spec support for init-containers is off, but found 1 init containers"},
			"podspec-fieldref, podspec-init-containers",
		},
		"a field that no feature allows": {
			"must not set the field(s): spec.template.spec.terminationGracePeriodSeconds",
			[]string{"spec.template.spec.terminationGracePeriodSeconds: must not set the field(s)"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := trainerFailure(t, statusError(http.StatusBadRequest, metav1.StatusReasonBadRequest,
				`admission webhook "validation.webhook.serving.knative.dev" denied the request: validation failed: `+
					c.denial, nil))
			var fields []string
			for _, f := range failure.Fields {
				fields = append(fields, f.Field+": "+f.Message)
			}
			if got, want := strings.Join(fields, "\n"), strings.Join(c.fields, "\n"); got != want {
				t.Errorf("fields\n%s\nwant\n%s", got, want)
			}
			features := strings.ReplaceAll(strings.Join(knativeFeatures(failure.Fields), ", "), "kubernetes.", "")
			if failure.Class != Invalid || features != c.features {
				t.Errorf("class %d, features %q, want %q", failure.Class, features, c.features)
			}
		})
	}
}
