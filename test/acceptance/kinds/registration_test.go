package kinds_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// registered returns the spec of a registration.
func registered(t *testing.T, on *acctest.Cluster, ns, name string) map[string]any {
	t.Helper()
	var spec map[string]any
	text := on.Kubectl(t, "get", "kubetorchworkload/"+name, "-n", ns, "-o", "jsonpath={.spec}")
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestAccComputesAreRegisteredIfKubetorchIsInstalled(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	on.Apply(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: own, labels: {app: mine}}\nspec: {containers: [{name: "+
		"a, image: \"a:1\"}]}", "-n", ns)
	computes := on.Resources(t, "kt_compute", ns, "")
	cases := map[string]struct {
		attributes string
		want       []string // parts of the registration, as JSON
	}{
		"deployment": {
			"inactivity_ttl = \"2h\"\n allowed_serialization = [\"json\", \"pickle\"]\n logging_config = { level = " +
				"\"debug\", stream_logs = false, include_events = false, grace_period = \"3s\" }",
			[]string{`"deploymentMode":"deployment"`, `"inactivityTtl":"2h"`, `"logLevel":"DEBUG"`,
				`"allowedSerialization":"json,pickle"`, `"serverPort":32300`,
				`"resourceKind":"Deployment"`, `"username":"alice"`},
		},
		"distributed": {`distribute = { type = "pytorch", workers = 2 }`,
			[]string{`"createHeadlessService":true`, `"distribution_type":"pytorch"`}},
		"existing-pods": {`selector = { app = "mine" }`,
			[]string{`"selector":{"app":"mine"}`, `"deploymentMode":"selector"`}},
		"an-endpoint-with-a-url": {
			`endpoint = { url = "http://gateway.example:8080" }`, []string{`"url":"http://gateway.example:8080"`},
		},
	}
	bodies := map[string]string{}
	for name, c := range cases {
		bodies[name] = fmt.Sprintf("name = %q\nlaunch_timeout = \"2m\"\n%s", name, c.attributes)
	}
	computes.Change(t, bodies)
	for name, c := range cases {
		spec, err := json.Marshal(registered(t, on, ns, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range c.want {
			if !strings.Contains(string(spec), part) {
				t.Errorf("%s: %s is not in %s", name, part, spec)
			}
		}
	}
	computes.Destroy(t)
	if left := on.Kubectl(t, "get", "kubetorchworkloads", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func TestAccChangedRegistrationIsRepaired(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	config := on.Config(ns, acctest.BareCompute(""))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() {
					on.Kubectl(t, "patch", "kubetorchworkload/trainer", "-n", ns, "--type=merge", "-p",
						`{"spec": {"serverPort": 1, "module": {"type": "fn"}}}`)
				},
				Config: config,
				ConfigPlanChecks: acctest.PreApply(acctest.PlanShows(nil,
					[]string{"KubetorchWorkload spec.serverPort"})),
			},
			{
				PreConfig: func() { on.Kubectl(t, "delete", "kubetorchworkload/trainer", "-n", ns) },
				Config:    config,
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
				),
			},
		},
	})
}
