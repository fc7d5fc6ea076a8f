# The part of the demo that runs in real pods.

terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}

provider "kt" {}

variable "image" {
  type = string
}

variable "args" {
  type    = list(string)
  default = ["-memory-limit", "256Mi"]
}

variable "suspended" {
  type    = bool
  default = false
}

resource "kt_compute" "tensors" {
  name    = "tensors"
  runtime = "skytorch"
  image   = var.image
  args    = var.args
  memory  = "512Mi"
  suspend = var.suspended
}

# Sends 64 MiB there and back through a port-forward, and compares every byte.
data "kt_endpoint" "tensors" {
  id         = kt_compute.tensors.id
  depends_on = [kt_compute.tensors]

  probe = {
    method           = "tensor"
    round_trip_bytes = 64 * 1024 * 1024
    timeout          = "1m"
  }
}

data "kt_metrics" "tensors" {
  count        = var.suspended ? 0 : 1
  id           = kt_compute.tensors.id
  metric_names = ["tensors.received", "tensors.sent", "process.memory"]
  depends_on   = [data.kt_endpoint.tensors]
}

output "endpoint" {
  value = {
    status           = data.kt_endpoint.tensors.status
    latency_ms       = data.kt_endpoint.tensors.latency_ms
    throughput_mib_s = data.kt_endpoint.tensors.throughput_mib_s
  }
}

output "metrics" {
  value = { for metric in flatten(data.kt_metrics.tensors[*].metrics) : metric.name => metric.value }
}
