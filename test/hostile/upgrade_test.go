package hostile_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/podstream"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/test/hostile"
)

// A server that does not upgrade a connection responds with anything else. Beside a command, its pod is watched, which
// begins with a list.
func TestBadResponseToAnUpgrade(t *testing.T) { //nolint:paralleltest // it measures memory
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "trainer-0"}}
	type call = func(context.Context, *kube.Cluster) error
	for name, test := range map[string]struct {
		open             call
		received, memory int64 // MiB
	}{
		"run": {func(ctx context.Context, c *kube.Cluster) error {
			command := podstream.Command{Pod: pod, Container: "kubetorch", Args: []string{"true"},
				Mask: func(text string) string { return text }}
			_, err := podstream.Run(ctx, c, command, func(line string) { hostile.Check(t, line) })
			return err
		}, 24, 400},
		"port-forward": {func(ctx context.Context, c *kube.Cluster) error {
			conn, err := portforward.DialPod(ctx, c, pod.Namespace, pod.Name, 80)
			if err == nil {
				_ = conn.Close()
			}
			return err
		}, 16, 400},
	} {
		for response, serve := range servers() {
			t.Run(name+" "+response, func(t *testing.T) { //nolint:paralleltest // it measures memory
				server := serve(t)
				cluster := clusterOf(t, server)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var err error
				used := allocated(func() { err = test.open(ctx, cluster) })
				if err == nil || ctx.Err() != nil {
					t.Fatalf("the error is %v", err)
				}
				hostile.Check(t, err.Error())
				requests := max(server.Requests.Load(), 1)
				if sent := server.Sent.Load() >> 20 / requests; sent > test.received {
					t.Errorf("%d MiB were received", sent)
				}
				if used>>20/uint64(requests) > uint64(test.memory) {
					t.Errorf("%d MiB were allocated", used>>20)
				}
			})
		}
	}
}
