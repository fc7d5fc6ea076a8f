package acctest

import (
	"fmt"
	"strings"
)

// Trainer is the address of the resource in most configurations of a compute.
const Trainer = "kt_compute.trainer"

// Compute returns the configuration of Trainer, a small compute, with more attributes.
func Compute(attributes string) string { return ComputeNamed("trainer", attributes) }

// ComputeNamed is Compute with another name.
func ComputeNamed(name, attributes string) string {
	return fmt.Sprintf(`
resource "kt_compute" %[1]q {
  name           = %[1]q
  cpus           = "1"
  launch_timeout = "1m"
  %[2]s
}`, name, attributes)
}

// BareCompute returns the configuration of Trainer with only these attributes.
func BareCompute(attributes string) string {
	return fmt.Sprintf(`
resource "kt_compute" "trainer" {
  name           = "trainer"
  launch_timeout = "2m"
  %s
}`, attributes)
}

// ShortTimeout is a limit that a test waits for. On a busy machine, the requests before the wait alone take seconds.
// The provider waits longer, at least 10 s, before it takes the cause of such a test for permanent.
const ShortTimeout = "8s"

// ComputeWithTimeout returns the configuration of Trainer with a timeout of
// creations and updates.
func ComputeWithTimeout(timeout, attributes string) string {
	return fmt.Sprintf(`
resource "kt_compute" "trainer" {
  name     = "trainer"
  cpus     = "1"
  timeouts = { create = %[1]q, update = %[1]q }
  %[2]s
}
`, timeout, attributes)
}

// Manifest returns the attribute manifest with this YAML.
func Manifest(yaml string) string {
	return "manifest = <<-EOT\n" + strings.TrimSpace(yaml) + "\nEOT\n"
}

// CaseName returns the name of a compute for a test case. It occurs nowhere else
// in the objects of the compute.
func CaseName(name string) string {
	return "case-" + strings.NewReplacer(" ", "-", "'", "").Replace(strings.ToLower(name))
}

// DataVolume is the address of the resource in most configurations of a volume.
const DataVolume = "kt_volume.data"

// Volume returns the configuration of DataVolume with more attributes.
func Volume(attributes string) string {
	return fmt.Sprintf(`
resource "kt_volume" "data" {
  name       = "data"
  mount_path = "/data"
  %s
}`, attributes)
}

// ReadWriteOnce is the access mode that the storage class of the dev cluster supports.
const ReadWriteOnce = "access_mode = \"ReadWriteOnce\"\n"

// SmallVolume are attributes of a volume that the dev cluster binds at once.
const SmallVolume = ReadWriteOnce + "size = \"1Gi\"\n"

// FleetCRD defines a kind that the provider does not know, with a pod template
// wherever a test puts it.
const FleetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Fleet, plural: fleets, singular: fleet}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}`
