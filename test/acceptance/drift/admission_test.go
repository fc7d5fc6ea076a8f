package drift_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// rewriting is a policy that changes fields of the provider on admission, and adds another field.
const rewriting = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE, UPDATE]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{
          metadata: Object.metadata{annotations: {"policy.example/seen": "yes"}, labels: {"team": "enforced"}},
          spec: Object.spec{
            template: Object.spec.template{
              spec: Object.spec.template.spec{
                priorityClassName: "system-cluster-critical", terminationGracePeriodSeconds: 7}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`

func TestAccAdmissionThatRewritesFieldsIsReportedAndNotReverted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	if _, err := cluster.TryKubectl(t, "get", "mutatingadmissionpolicies.v1.admissionregistration.k8s.io"); err != nil {
		t.Skip("the cluster has no mutating admission policies")
	}
	cluster.Apply(t, fmt.Sprintf(rewriting, ns))
	t.Cleanup(func() {
		cluster.Kubectl(t, "delete", "mutatingadmissionpolicy/"+ns, "mutatingadmissionpolicybinding/"+ns)
	})
	cluster.WaitForOutput(t, "policy.example/seen", true,
		"create", "deployment", "probe", "--image=x", "--dry-run=server", "-n", ns, "-o", "yaml")
	config := func(more string) string {
		return cluster.Config(ns,
			acctest.Compute("labels = { team = \"ml\" }\n priority_class_name = \"system-node-critical\"\n"+more))
	}
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{Config: config("")},
			{
				Config: config("replicas = 3"),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						acctest.PlanShows([]string{"replicas"}, []string{dep + "spec.replicas", dep + "spec.strategy"}),
						seen.Expect(ns, "metadata.labels.team has another value",
							"priorityClassName has another value"),
					},
				},
			},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "label", "deployment/trainer", "kubetorch.com/version=9", "--overwrite", "-n",
						ns)
				},
				Config: config("replicas = 3"),
				ConfigPlanChecks: acctest.PreApply(
					acctest.PlanShows(nil, []string{dep + "metadata.labels.kubetorch.com/version"}),
				),
			},
		},
	})
}
