package actions

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// kt_compute renders sidecars as init containers that are restarted.
func TestCommandsRunInSidecars(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "setup"}, {Name: "proxy", RestartPolicy: &always}},
			Containers:     []corev1.Container{{Name: "main"}},
		},
		Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "setup"}, {Name: "proxy", State: running}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: "main", State: running}},
		},
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // so that no command starts
	for container, want := range map[string]bool{
		"": true, "main": true, "proxy": true, "setup": false, "other": false,
	} {
		if got := runs(container)(pod); got != want {
			t.Errorf("%q: runs is %t", container, got)
		}
		c := &call{send: func(string) {}}
		command := podCommand{container: container, parallelism: 1,
			printer: c.printer(outputModel{MaskSecrets: types.BoolValue(false)})}
		err := c.run(ended, []*corev1.Pod{pod}, command)
		if missing := err != nil && strings.Contains(err.Error(), "Container does not exist"); missing == want {
			t.Errorf("%q: %v", container, err)
		}
	}
}

// The last message of a container is output, as is that of a command.
func TestFailureWithoutARunningPodIsMaskedLikeOutput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pod, secret bool // whether it can be read
		unmasked    bool // without mask_secrets
		want        string
	}{
		"all can be read":           {true, true, false, "Its last message: (hidden)."},
		"without the Secret":        {true, false, false, hiddenOutput},
		"without the pod":           {false, true, false, hiddenOutput},
		"with mask_secrets = false": {true, false, true, "Its last message: s3cr3t-value."},
	} {
		server := httptest.NewServer(kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
			switch {
			case strings.HasSuffix(path, "/pods/trainer-0") && test.pod:
				return http.StatusOK, corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
					ObjectMeta: metav1.ObjectMeta{Name: "trainer-0", Namespace: "ml"},
					Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
						Secret: &corev1.SecretVolumeSource{SecretName: "hf"}}}}}}
			case strings.HasSuffix(path, "/secrets/hf") && test.secret:
				return http.StatusOK, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
					ObjectMeta: metav1.ObjectMeta{Name: "hf", Namespace: "ml"},
					Data:       map[string][]byte{"key": []byte("s3cr3t-value")}}
			}
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		}})
		t.Cleanup(server.Close)
		c := &call{send: func(string) {}, cluster: kube.NewCluster(t.Context(), config.Config{Host: server.URL,
			Token: "x"}).WithClock(&kubetest.Clock{})}
		err := c.printer(outputModel{MaskSecrets: types.BoolValue(!test.unmasked)}).maskFailure(t.Context(),
			&observe.NotReadyError{Verdict: ready.Verdict{Cause: &ready.Cause{Reason: ready.ReasonCrashLoop,
				Summary: "Its last message: s3cr3t-value.", Logs: &ready.LogRef{Namespace: "ml", Pod: "trainer-0"}}}})
		if text := tf.Failure(err).Detail(); !strings.Contains(text, test.want) ||
			strings.Contains(text, "s3cr3t") != test.unmasked {
			t.Errorf("%s: %s", name, text)
		}
	}
}
