package main

import "fmt"

// step is one command of a cycle in which faults can be injected.
type step string

const (
	create  step = "create"
	plan    step = "plan"
	update  step = "update"
	destroy step = "destroy"
)

// waitingLabel is the label of pods that wait until the bench allows them to be scheduled, as in a queue.
const waitingLabel = "faults.kt.dev/waiting"

// scenario is a configuration in two versions: as created and as updated.
type scenario struct {
	name string
	// resources is the configuration without the provider block.
	resources func(s settings) string
}

// settings are the parts of a configuration that differ between runs.
type settings struct {
	namespace  string
	kubeconfig string
	canary     string // value that must not appear in any output or state
	version    int    // 1 as created, 2 as updated
}

// allResources contains each resource of the provider, a compute whose pods wait before they are scheduled, and a
// compute of a kind that is not part of Kubernetes.
func allResources() scenario {
	return scenario{name: "all", resources: func(s settings) string { return oneOfEach(s, "") }}
}

// twoOfEach contains two sets of seven resources each.
func twoOfEach() scenario {
	return scenario{name: "two of each", resources: func(s settings) string {
		return oneOfEach(s, "a-") + oneOfEach(s, "b-")
	}}
}

func (sc scenario) config(s settings) string {
	return fmt.Sprintf(`
terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}

provider "kt" {
  config_path    = %q
  namespace      = %q
  username       = "bench"
  launch_timeout = "60s"
}
%s`, s.kubeconfig, s.namespace, sc.resources(s))
}

// oneOfEach returns one of each resource, a compute whose pods wait, and one that runs as a Knative Service, with names
// that start with a prefix.
func oneOfEach(s settings, prefix string) string {
	return fmt.Sprintf(`
resource "kt_secret" "%[1]stoken" {
  name              = "%[1]stoken"
  values_wo         = { TOKEN = %[2]q }
  values_wo_version = %[3]d
}

resource "kt_volume" "%[1]sdata" {
  name       = "%[1]sdata"
  size       = "1Gi"
  mount_path = "/data"
  labels     = { version = "v%[3]d" }
}

resource "kt_image" "%[1]ssetup" {
  name     = "%[1]ssetup"
  image_id = "debian:12"
  steps    = [{ set_env_vars = { VERSION = "v%[3]d" } }]
}

resource "kt_compute" "%[1]sweb" {
  name                 = "%[1]sweb"
  cpus                 = "100m"
  memory               = "64Mi"
  service_account_name = "default"
  image_ref            = kt_image.%[1]ssetup.ref
  secrets              = [kt_secret.%[1]stoken.ref]
  volumes              = [kt_volume.%[1]sdata.ref]
  env_vars             = { VERSION = "v%[3]d" }
}

resource "kt_compute" "%[1]swaiting" {
  name                 = "%[1]swaiting"
  cpus                 = "100m"
  memory               = "64Mi"
  service_account_name = "default"
  image                = "debian:12"
  env_vars             = { VERSION = "v%[3]d" }
  service_template = jsonencode({
    spec = { template = {
      metadata = { labels = { %[4]q = "true" } }
      spec     = { schedulingGates = [{ name = %[4]q }] }
    } }
  })
}

resource "kt_compute" "%[1]sscaled" {
  name                 = "%[1]sscaled"
  cpus                 = "100m"
  memory               = "64Mi"
  service_account_name = "default"
  image                = "debian:12"
  autoscale            = { max_scale = 2 }
  env_vars             = { VERSION = "v%[3]d" }
}

resource "kt_queue" "%[1]squota" {
  name = "%[5]s-%[1]squota"
  flavors = [{
    name        = "%[5]s-%[1]scpu"
    node_labels = { "example.com/pool" = "cpu" }
    quotas      = { cpu = { nominal = "1%[3]d" } }
  }]
}
`, prefix, s.canary, s.version, waitingLabel, s.namespace)
}
