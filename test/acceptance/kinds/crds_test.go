package kinds_test

import (
	"strings"
	"testing"
)

func TestAccClusterWithCRDsServesEveryKindOfCompute(t *testing.T) {
	t.Parallel()
	c := withCRDs
	served := c.Kubectl(t, "api-resources", "--no-headers", "-o", "name")
	for _, want := range []string{
		"services.serving.knative.dev", "rayclusters.ray.io", "jobsets.jobset.x-k8s.io",
		"leaderworkersets.leaderworkerset.x-k8s.io",
		"pytorchjobs.kubeflow.org", "tfjobs.kubeflow.org", "xgboostjobs.kubeflow.org", "mxjobs.kubeflow.org",
		"localqueues.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io", "workloads.kueue.x-k8s.io",
		"resourceflavors.kueue.x-k8s.io",
		"httproutes.gateway.networking.k8s.io", "grpcroutes.gateway.networking.k8s.io",
		"kubetorchworkloads.kubetorch.com",
	} {
		if !strings.Contains("\n"+served+"\n", "\n"+want+"\n") {
			t.Errorf("%s is not served. The served kinds are:\n%s", want, served)
		}
	}
}

func TestAccKubetorchWorkloadAcceptsOnlyItsFields(t *testing.T) {
	t.Parallel()
	c := withCRDs
	ns := c.Namespace(t)
	const workload = `
apiVersion: kubetorch.com/v1alpha1
kind: KubetorchWorkload
metadata: {name: train}
spec:
  selector: {kubetorch.com/service: train}
  serviceConfig: {name: train}
  workloadMetadata:
    username: alice
    deploymentMode: deployment
    distributedConfig: {distribution_type: pytorch, anything: [1]}
    runtimeConfig: {logStreamingEnabled: true, metricsEnabled: true, logLevel: INFO,
      allowedSerialization: "json,pickle"}
  autoTermination: {inactivityTtl: 4h}
  serverPort: 32300
  resourceKind: Deployment
  resourceName: train
  createHeadlessService: true
`
	c.Apply(t, workload, "-n", ns)
	if got := c.Kubectl(t, "get", "-n", ns, "kubetorchworkload/train", "-o",
		"jsonpath={.spec.workloadMetadata.distributedConfig}"); !strings.Contains(got, "anything") {
		t.Errorf("distributedConfig is %s; want all applied fields", got)
	}
	for name, patch := range map[string]struct{ spec, want string }{
		"an unknown field": {`{"replicas": 2}`, `unknown field "spec.replicas"`},
		"an unknown nested field": {`{"workloadMetadata": {"runtimeConfig": {"level": "INFO"}}}`,
			`unknown field "spec.workloadMetadata.runtimeConfig.level"`},
		"a field of another type":     {`{"createHeadlessService": "yes"}`, "spec.createHeadlessService"},
		"an invalid port":             {`{"serverPort": 70000}`, "spec.serverPort"},
		"two ways to reach a service": {`{"serviceConfig": {"url": "http://x"}}`, "spec.serviceConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := c.TryKubectl(t, "patch", "-n", ns, "kubetorchworkload/train", "--type=merge",
				"--dry-run=server", "-p", `{"spec": `+patch.spec+`}`)
			if strings.Contains(patch.want, "unknown field") {
				if !strings.Contains(out, patch.want) {
					t.Errorf("%v, %s; want %q", err, out, patch.want)
				}
			} else if err == nil || !strings.Contains(out, patch.want) {
				t.Errorf("%v, %s; want a rejection with %q", err, out, patch.want)
			}
		})
	}
}
