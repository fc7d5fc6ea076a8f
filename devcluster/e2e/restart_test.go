package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestClusterRestartsWithItsData(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"after SIGTERM": syscall.SIGTERM,
		"after SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, kubeconfig := t.TempDir(), filepath.Join(t.TempDir(), "kubeconfig")
			args := []string{"--dir", dir, "--kubeconfig", kubeconfig, "--node", "name=cpu-0", "--crds",
				filepath.Join("testdata", "widgets.yaml")}
			p := launch(t, nil, args...)
			p.ready(t)
			c := cluster{kubeconfig: kubeconfig}
			c.config, c.client = connect(t, kubeconfig)
			c.namespace(t, "before")
			c.deploy(t, "before", "web", 1, corev1.PodSpec{Containers: []corev1.Container{{Name: "main",
				Image: "nginx"}}})
			c.available(t, "before", "web", 1)
			deployment, err := c.client.AppsV1().Deployments("before").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			first, err := os.ReadFile(kubeconfig)
			if err != nil {
				t.Fatal(err)
			}

			if signal == syscall.SIGKILL {
				p.end()
			} else {
				p.stop(t, signal)
			}
			again := launch(t, nil, args...)
			again.ready(t)
			// The kubeconfig of the first start is valid for the second.
			kept := filepath.Join(t.TempDir(), "kept")
			if err := os.WriteFile(kept, first, 0o600); err != nil {
				t.Fatal(err)
			}
			c.config, c.client = connect(t, kept)
			now, err := c.client.AppsV1().Deployments("before").Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if now.UID != deployment.UID {
				t.Errorf("the UID of the Deployment is %s, but before the restart it was %s", now.UID, deployment.UID)
			}
			// The restarted cluster runs new workloads.
			c.deploy(t, "before", "another", 1, corev1.PodSpec{Containers: []corev1.Container{{Name: "main",
				Image: "nginx"}}})
			eventually(t, "a Deployment of the second start to be available", func(ctx context.Context) (string, bool) {
				d, err := c.client.AppsV1().Deployments("before").Get(ctx, "another", metav1.GetOptions{})
				if err != nil {
					return err.Error(), false
				}
				return fmt.Sprintf("%+v", d.Status), d.Status.AvailableReplicas == 1
			})
			again.stop(t, syscall.SIGTERM)
		})
	}
}
