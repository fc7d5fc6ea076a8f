package failures_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const secretWithToken = `
apiVersion: v1
kind: Secret
metadata: {name: huggingface}
stringData: {HF_TOKEN: ` + acctest.Canary + `}
`

// failure is a compute that cannot become ready, and its correction.
type failure struct {
	name       string   // of the compute
	exists     string   // objects that exist in its namespace before
	broken     string   // attributes of the compute
	texts      []string // texts in the diagnostic; <ns> is the namespace
	fixed      string   // the corrected attributes
	fixObjects string   // objects that correct it

	noNamespace bool // the namespace does not exist, so nothing is created
	timesOut    bool // the wait times out, which is a warning
	recovers    bool // the compute becomes ready after all
	rejected    bool // the API server rejects the update, and the Deployment is unchanged
}

// failuresOfUpdate returns updates that fail, of a compute that is ready.
func failuresOfUpdate(t *testing.T) []failure {
	t.Helper()
	var out []failure
	names := []string{"pull", "crash", "too-many-gpus", "no-such-gpu", "no-secret-key", "quota-of-gpus",
		"no-service-account"}
	for _, f := range failures() {
		if slices.Contains(names, f.name) {
			out = append(out, f)
		}
	}
	if len(out) != len(names) {
		t.Fatalf("%d failures have the names %q", len(out), names)
	}
	return append(out, failure{
		name: "refused", rejected: true,
		exists: policy("refused", "apps", "v1", "deployments",
			"(has(request.dryRun) && request.dryRun) || object.spec.template.spec.containers[0].image != "+
				"'registry.example.com/new:1'", "not today"),
		broken: `image = "registry.example.com/new:1"`,
		texts: []string{"The API server rejected Deployment <ns>/refused", "not today",
			"kubectl describe validatingadmissionpolicy refused.<ns>"},
	})
}

// failures returns creations that fail.
func failures() []failure {
	return []failure{
		{
			name:   "heals",
			broken: `image = "broken.invalid/heals:1"`, recovers: true,
			fixed: `image = "broken.invalid/heals:1"`,
		},
		{
			name:   "pull",
			broken: `image = "broken.invalid/pull:1"`,
			texts: []string{"broken.invalid/pull:1", "no such host", "Pod <ns>/pull-",
				"Check the name of the registry in `image`", "kubectl -n <ns> describe pod pull-"},
		},
		{
			name:   "crash",
			broken: `image = "broken.invalid/crash:1"`,
			texts: []string{"exit code 1", "ModuleNotFoundError: No module named 'kubetorch'", "Pod <ns>/crash-",
				"kubectl -n <ns> logs crash-"},
		},
		{
			name:   "oom",
			broken: "image = \"broken.invalid/oom:1\"\nmemory = \"2Gi\"",
			texts: []string{"ran out of memory", "2Gi", "starting the server", "Pod <ns>/oom-",
				"kubectl -n <ns> logs oom-"},
		},
		{
			name:   "config",
			broken: `secrets = [{ name = "broken-config", env_vars = ["HF_TOKEN"] }]`,
			texts: []string{`Secret "broken-config" does not exist in namespace <ns>`, "Pod <ns>/config-",
				"kubectl -n <ns> get secrets"},
		},
		{
			name:   "too-many-gpus",
			broken: `gpus = 9`,
			texts: []string{"9 nvidia.com/gpu", "has 8", "Pod <ns>/too-many-gpus-",
				"kubectl -n <ns> describe pod too-many-gpus-"},
		},
		{
			name:   "no-such-gpu",
			broken: "gpus = 1\ngpu_type = \"NVIDIA-B200\"",
			texts: []string{"nvidia.com/gpu.product=NVIDIA-B200", "NVIDIA-H100-80GB-HBM3 (", "NVIDIA-L4 (",
				"Pod <ns>/no-such-gpu-", "gpu_type", "kubectl -n <ns> describe pod"},
			fixed: "gpus = 1\ngpu_type = \"NVIDIA-L4\"",
		},
		{
			name:   "no-such-node",
			broken: `node_selector = { disktype = "nvme" }`,
			texts: []string{"disktype=nvme", "node_selector", "Pod <ns>/no-such-node-",
				"kubectl -n <ns> describe pod"},
		},
		{
			name:   "no-secret",
			broken: `secrets = [{ name = "huggingface", env_vars = ["HF_TOKEN"] }]`,
			texts: []string{`Secret "huggingface" does not exist in namespace <ns>`, "Pod <ns>/no-secret-",
				"kubectl -n <ns> get secrets"},
			fixed:      `secrets = [{ name = "huggingface", env_vars = ["HF_TOKEN"] }]`,
			fixObjects: secretWithToken,
		},
		{
			name:   "no-secret-key",
			exists: secretWithToken,
			broken: `secrets = [{ name = "huggingface", env_vars = ["HUGGING_FACE_TOKEN"] }]`,
			texts: []string{`Secret "huggingface" in namespace <ns> has no key "HUGGING_FACE_TOKEN"`,
				"Pod <ns>/no-secret-key-", "kubectl -n <ns> describe secret huggingface"},
			fixed: `secrets = [{ name = "huggingface", env_vars = ["HF_TOKEN"] }]`,
		},
		{
			name:   "no-mounted-secret",
			broken: `secrets = [{ name = "huggingface", mount_path = "/secrets" }]`,
			texts: []string{`Secret "huggingface" does not exist in namespace <ns>`, "Pod <ns>/no-mounted-secret-",
				"kubectl -n <ns> get secrets"},
			fixed:      `secrets = [{ name = "huggingface", mount_path = "/secrets" }]`,
			fixObjects: secretWithToken,
		},
		{
			name:   "no-claim",
			broken: `volumes = [{ claim_name = "weights", mount_path = "/weights" }]`,
			texts: []string{`PersistentVolumeClaim "weights" does not exist in namespace <ns>`, "Pod <ns>/no-claim-",
				"kubectl -n <ns> get persistentvolumeclaims"},
			fixed: `volumes = [{ claim_name = "weights", mount_path = "/weights" }]`,
			fixObjects: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: weights}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`,
		},
		{
			name: "unbound-claim",
			exists: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: weights}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`,
			broken: `volumes = [{ claim_name = "weights", mount_path = "/weights" }]`,
			texts: []string{`"weights"`, `StorageClass "fast" does not exist`,
				"kubectl get storageclasses"},
		},
		{
			name: "quota-of-pods",
			exists: `
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {pods: "1"}}
`,
			broken: `replicas = 2`,
			texts: []string{"Quota team of namespace <ns>", "1 of 1 in use", "ReplicaSet <ns>/quota-of-pods-",
				"kubectl -n <ns> describe resourcequota team"},
		},
		{
			name: "quota-of-gpus",
			exists: `
apiVersion: v1
kind: ResourceQuota
metadata: {name: team}
spec: {hard: {requests.nvidia.com/gpu: "2"}}
`,
			broken: `gpus = 4`,
			texts: []string{"Quota team of namespace <ns>", "4 requests.nvidia.com/gpu requested", "0 of 2 in use",
				"ReplicaSet <ns>/quota-of-gpus-", "kubectl -n <ns> describe resourcequota team"},
			fixed: `gpus = 2`,
		},
		{
			name:   "no-service-account",
			broken: `service_account_name = "reader"`,
			texts: []string{`ServiceAccount "reader" does not exist in namespace <ns>`,
				"ReplicaSet <ns>/no-service-account-", "service_account_name",
				"kubectl -n <ns> create serviceaccount reader"},
			fixed: `service_account_name = "reader"`,
			fixObjects: `
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
`,
		},
		{
			name: "policy-on-pods",
			exists: policy("policy-on-pods", "", "v1", "pods",
				"object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
				"images must come from registry.example.com"),
			broken: `cpus = "2"`,
			texts: []string{"images must come from registry.example.com", "policy-on-pods",
				"ReplicaSet <ns>/policy-on-pods-", "kubectl describe validatingadmissionpolicy policy-on-pods"},
			fixed: `image = "registry.example.com/server:1"`,
		},
		{
			name: "limit-range",
			exists: `
apiVersion: v1
kind: LimitRange
metadata: {name: small}
spec: {limits: [{type: Container, max: {cpu: "4"}}]}
`,
			broken: `cpus = "8"`,
			texts: []string{"cpu limit of 4", "LimitRange", "ReplicaSet <ns>/limit-range-",
				"kubectl -n <ns> describe limitrange"},
		},
		{
			name:   "no-priority-class",
			broken: `priority_class_name = "urgent"`,
			texts: []string{"no PriorityClass with name urgent", "priority_class_name",
				"ReplicaSet <ns>/no-priority-class-", "kubectl get priorityclasses"},
		},
		{
			name: "half-made", // the dry run of the plan succeeds, and the apply fails
			exists: policy("half-made", "", "v1", "services",
				"has(request.dryRun) && request.dryRun", "no Services today"),
			texts: []string{"The API server rejected Service <ns>/half-made", "no Services today",
				"kubectl describe validatingadmissionpolicy half-made.<ns>"},
			fixed: `endpoint = { url = "http://elsewhere.example.com" }`,
		},
		{
			name: "no-namespace", noNamespace: true,
			texts: []string{`Namespace "<ns>" does not exist`, "kubectl create namespace <ns>", "depends_on"},
			fixObjects: `
apiVersion: v1
kind: Namespace
metadata: {name: <ns>}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: kubetorch-service-account}
`,
		},
		{
			name: "too-slow", timesOut: true,
			broken: "image = \"broken.invalid/never:1\"\ntimeouts = { create = \"25s\" }",
			texts: []string{"too-slow is not ready", acctest.TimedOut + " 25s (`timeouts.create`)",
				"1 pulling an image", "increase `timeouts.create`", "kubectl -n <ns> describe deployments too-slow"},
		},
	}
}

// policy is a ValidatingAdmissionPolicy of one namespace, <ns>.
func policy(name, group, version, resource, expression, message string) string {
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s.<ns>, labels: {namespace: <ns>}}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: <ns>}}
    resourceRules: [{apiGroups: [%[2]q], apiVersions: [%[3]q], operations: [CREATE, UPDATE], resources: [%[4]q]}]
  validations: [{expression: %[5]q, message: %[6]q}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s.<ns>, labels: {namespace: <ns>}}
spec: {policyName: %[1]s.<ns>, validationActions: [Deny]}
`, name, group, version, resource, expression, message)
}
