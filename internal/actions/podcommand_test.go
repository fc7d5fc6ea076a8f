package actions

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
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
