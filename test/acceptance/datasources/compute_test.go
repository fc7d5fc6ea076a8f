package datasources_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccDataSourceComputeReadsEveryKind(t *testing.T) {
	t.Parallel()
	on := withCRDs.WithComputes(t)
	text := func(s string) knownvalue.Check { return knownvalue.StringExact(s) }
	for name, test := range map[string]struct {
		objects string
		checks  func(ns string) (compute, endpoint map[string]knownvalue.Check)
	}{
		"a Deployment of another client": {
			objects: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: it, labels: {team: ml}}
spec:
  replicas: 0
  selector: {matchLabels: {app: it}}
  template: {metadata: {labels: {app: it}}, spec: {containers: [
    {name: main, image: "example.com/main:1", env: [{name: KEY, value: not-for-annotations}]}]}}`,
			checks: func(string) (compute, endpoint map[string]knownvalue.Check) {
				return map[string]knownvalue.Check{
						// without replicas
						"mode": text("deployment"), "replicas": knownvalue.Int64Exact(0),
						"image": text("example.com/main:1"), "ready": knownvalue.Bool(false),
						"labels":       knownvalue.MapExact(map[string]knownvalue.Check{"team": text("ml")}),
						"service_name": knownvalue.Null(), "url": knownvalue.Null(),
						"annotations": knownvalue.MapExact(
							map[string]knownvalue.Check{"deployment.kubernetes.io/revision": text("1")}),
					}, map[string]knownvalue.Check{
						"service_name": knownvalue.Null(), "pods": knownvalue.ListSizeExact(0),
						"url": knownvalue.Null(), "host": knownvalue.Null(), "port": knownvalue.Null(),
						"protocol": knownvalue.Null(),
					}
			},
		},
		"pods of a selector": {
			objects: `
apiVersion: v1
kind: Pod
metadata: {name: any, labels: {app: it}}
spec: {containers: [{name: main, image: "example.com/main:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: it}
spec: {selector: {app: it}, ports: [{port: 80}]}`,
			checks: func(string) (compute, endpoint map[string]knownvalue.Check) {
				return map[string]knownvalue.Check{"mode": text("selector"), "uid": knownvalue.Null(),
						"service_name": text("it")},
					map[string]knownvalue.Check{"pods": knownvalue.ListSizeExact(1)}
			},
		},
		"a Compute of SkyTorch": {
			objects: `
apiVersion: compute.skytorch.dev/v1alpha1
kind: Compute
metadata: {name: it}
spec: {image: "example.com/server:1"}`,
			checks: func(ns string) (compute, endpoint map[string]knownvalue.Check) {
				target := text("it." + ns + ".svc.cluster.local:50051")
				return map[string]knownvalue.Check{"mode": text("compute"), "image": text("example.com/server:1"),
						"grpc_target": target, "url": knownvalue.Null()},
					map[string]knownvalue.Check{"grpc_target": target,
						"metadata": knownvalue.MapExact(map[string]knownvalue.Check{"compute-id": text(ns + "/it")})}
			},
		},
		"a Knative Service with the Service of its gateway": {
			objects: `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: it}
spec: {template: {spec: {containers: [{name: kubetorch, image: "example.com/main:1"}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: it}
spec: {type: ExternalName, externalName: kourier.example.com}`,
			checks: func(string) (compute, endpoint map[string]knownvalue.Check) {
				return map[string]knownvalue.Check{"mode": text("knative"), "ready": knownvalue.Bool(false),
						"replicas": knownvalue.Null(), "image": text("example.com/main:1")},
					map[string]knownvalue.Check{"service_name": text("it"), "port_forward_command": knownvalue.Null(),
						"port": knownvalue.Int64Exact(80)}
			},
		},
		"a registration with a URL": {
			objects: `
apiVersion: kubetorch.com/v1alpha1
kind: KubetorchWorkload
metadata: {name: it}
spec: {serviceConfig: {url: "https://models.example.com"}}
---
apiVersion: v1
kind: Pod
metadata: {name: it}
spec: {containers: [{name: main, image: "example.com/main:1"}]}`,
			checks: func(string) (compute, endpoint map[string]knownvalue.Check) {
				return map[string]knownvalue.Check{"mode": text("pod"), "url": text("https://models.example.com")},
					map[string]knownvalue.Check{"host": text("models.example.com"), "port": knownvalue.Int64Exact(443),
						"service_name": knownvalue.Null()}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := on.Namespace(t)
			on.Apply(t, test.objects, "-n", ns)
			if name == "a Deployment of another client" {
				on.Kubectl(t, "rollout", "status", "deployment/it", "-n", ns)
			}
			compute, endpoint := test.checks(ns)
			var checks []statecheck.StateCheck
			for attribute, check := range compute {
				checks = append(checks, expectValue("data.kt_compute.it", attribute, check))
			}
			for attribute, check := range endpoint {
				checks = append(checks, expectValue("data.kt_endpoint.it", attribute, check))
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{{
					Config: on.Config(ns,
						"data \"kt_compute\" \"it\" {\n name = \"it\"\n}\ndata \"kt_endpoint\" \"it\" {\n name = "+
							"\"it\"\n}\n"),
					ConfigStateChecks: checks,
				}},
			})
		})
	}
}

func TestAccDataSourceComputeRejectsAnInvalidName(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	for name, test := range map[string]struct{ target, want string }{
		"neither name nor id":  {``, `Invalid Attribute Combination`},
		"both":                 {"name = \"a\"\nid = \"ml/a\"", `Invalid Attribute Combination`},
		"an id without a name": {`id = "ml"`, `must be namespace/name`},
		"an id and namespace":  {"id = \"ml/a\"\nnamespace = \"ml\"", `cannot be specified when`},
		"a missing compute":    {`name = "gone"`, `Compute \S+/gone does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{{
					Config:      cluster.Config(ns, fmt.Sprintf("data \"kt_compute\" \"it\" {\n%s\n}\n", test.target)),
					ExpectError: regexp.MustCompile(test.want),
				}},
			})
		})
	}
}
