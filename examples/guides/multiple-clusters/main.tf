variable "contexts" {
  description = "Contexts of the kubeconfig, by region. If null, the current context."
  type = object({
    eu = optional(string)
    us = optional(string)
  })
  default = {}
}

# The GPU nodes of this cluster always run. Pods that fit no node fail the apply after seconds.
provider "kt" {
  alias = "eu"

  config_context   = var.contexts.eu
  node_autoscaling = false
}

# This cluster adds GPU nodes on demand. An apply waits for them.
provider "kt" {
  alias = "us"

  config_context   = var.contexts.us
  node_autoscaling = true
}

resource "kt_compute" "eu" {
  provider = kt.eu

  name     = "embeddings-eu"
  cpus     = "2"
  memory   = "8Gi"
  gpus     = 1
  gpu_type = "NVIDIA-L4"
}

resource "kt_compute" "us" {
  provider = kt.us

  name     = "embeddings-us"
  cpus     = "2"
  memory   = "8Gi"
  gpus     = 1
  gpu_type = "NVIDIA-H100-80GB-HBM3"
  timeouts = { create = "30m" }
}

output "urls" {
  description = "URL of the compute inside each cluster."
  value = {
    eu = kt_compute.eu.url
    us = kt_compute.us.url
  }
}
