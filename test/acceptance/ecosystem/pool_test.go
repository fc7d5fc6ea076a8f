package ecosystem_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// createTokens creates a token for the service account of a pool, as clusters before Kubernetes 1.24 did. Release
// 1.13.4 of hashicorp/kubernetes waits for it, and crashes without it.
func createTokens(t *testing.T, team string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.RESTConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	accounts, err := client.CoreV1().ServiceAccounts("").Watch(ctx, metav1.ListOptions{LabelSelector: "team=" + team})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for event := range accounts.ResultChan() {
			account, ok := event.Object.(*corev1.ServiceAccount)
			if ok && len(account.Secrets) == 0 && account.DeletionTimestamp == nil {
				if err := createToken(ctx, client, account); err != nil && ctx.Err() == nil {
					t.Errorf("the token of %s: %v", account.Name, err)
				}
			}
		}
	}()
}

func createToken(ctx context.Context, client kubernetes.Interface, account *corev1.ServiceAccount) error {
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:        account.Name + "-token-1",
			Annotations: map[string]string{corev1.ServiceAccountNameKey: account.Name},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if _, err := client.CoreV1().Secrets(account.Namespace).Create(ctx, token, metav1.CreateOptions{}); err != nil {
		return err
	}
	updated := account.DeepCopy()
	updated.Secrets = []corev1.ObjectReference{{Name: token.Name}}
	_, err := client.CoreV1().ServiceAccounts(account.Namespace).Update(ctx, updated, metav1.UpdateOptions{})
	return err
}

// poolConfig uses modules/gpu-pool with its own namespace, which has the name of the team.
func poolConfig(t *testing.T, team, more string) string {
	t.Helper()
	return fmt.Sprintf(`
module "pool" {
  source              = %q
  team                = %q
  gpus                = 4
  gpu_type            = "NVIDIA-H100-80GB-HBM3"
  storage             = "1Gi"
  cpus_per_gpu        = 1
  memory_per_gpu      = 1
  deletion_protection = false
  create_namespace    = true
  trainers            = { alice = 2 }
  %s
}

output "urls" { value = module.pool.urls }
`, filepath.Join(acctest.Modules(t), "gpu-pool"), team, more)
}

func TestEcoPoolWithItsNamespaceQuotaAndMembers(t *testing.T) {
	t.Parallel()
	team := "pool-" + cluster.Namespace(t)
	createTokens(t, team)
	cli := acctest.NewAttachedCLI(t)
	cli.UseKubernetesProvider(t)
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KUBE_CONFIG", cluster.Kubeconfig())
	apply := func(more string) string {
		cli.Write(t, poolConfig(t, team, more))
		cli.MustRun(t, "get")
		out := cli.MustRun(t, "apply", "-auto-approve")
		cli.MustRun(t, "plan", "-detailed-exitcode") // an error if there is anything to do
		return out
	}
	may := func(want, user, verb, resource string) {
		t.Helper()
		resource, subresource, _ := strings.Cut(resource, "/")
		got, _ := cluster.TryKubectl(t, "auth", "can-i", verb, resource, "--subresource", subresource, "-n", team,
			"--as", user, "--as-group", user)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s may %s %s/%s: %s; want %s", user, verb, resource, subresource, got, want)
		}
	}

	out := apply(`resource_quota = { "requests.nvidia.com/gpu" = "4" }
  members = [{ name = "alice" }, { kind = "Group", name = "research" }, { kind = "ServiceAccount", name = "ci" }]`)
	acctest.ExpectText(t, out, fmt.Sprintf("http://%s-alice.%[1]s.svc", team))
	cluster.Await(t, team, "resourcequota/"+team, `jsonpath={.status.used.requests\.nvidia\.com/gpu}=2`)
	for _, user := range []string{"alice", "research", "system:serviceaccount:" + team + ":ci"} {
		may("yes", user, "get", "pods/log")
		may("yes", user, "create", "pods/portforward")
		may("yes", user, "list", "workloads.kueue.x-k8s.io")
		may("no", user, "get", "secrets")
		may("no", user, "delete", "deployments.apps")
	}
	may("no", "bob", "get", "pods")

	apply(`resource_quota = { "requests.nvidia.com/gpu" = "8" }
  members = [{ name = "bob" }]`)
	may("yes", "bob", "get", "pods")
	may("no", "alice", "get", "pods")

	cli.MustRun(t, "destroy", "-auto-approve")
	if left := cluster.Kubectl(t, "get", "namespace/"+team, "--ignore-not-found", "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// Kubernetes rejects pods beyond the resource quota. They do not wait for it, as they do in the queue.
func TestEcoPoolBeyondItsResourceQuotaIsExplained(t *testing.T) {
	t.Parallel()
	team := "pool-" + cluster.Namespace(t)
	createTokens(t, team)
	cli := acctest.NewAttachedCLI(t)
	cli.UseKubernetesProvider(t)
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KUBE_CONFIG", cluster.Kubeconfig())
	cli.Write(t, poolConfig(t, team, `resource_quota = { "requests.nvidia.com/gpu" = "1" }`))
	cli.MustRun(t, "get")
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the apply succeeded:\n%s", out)
	}
	acctest.ExpectText(t, out, "exceeded quota: "+team)
	cli.MustRun(t, "destroy", "-auto-approve")
}
