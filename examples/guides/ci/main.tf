variable "namespace" {
  description = "Namespace of the resources. If null, the environment variable KT_NAMESPACE sets it."
  type        = string
  default     = null
}

variable "node_autoscaling" {
  description = "Whether the cluster adds nodes on demand."
  type        = bool
  default     = false
}

variable "image" {
  description = "Image with the server and all of its code."
  type        = string
  default     = "registry.example.com/ml/server:1.0.0"
}

# These settings are part of the objects. Another job can apply a saved plan only with the same values, so they are not
# left to environment variables.
provider "kt" {
  namespace         = var.namespace
  username          = "ci"
  launch_timeout    = "15m"
  gpu_anti_affinity = false
  node_autoscaling  = var.node_autoscaling
}

resource "kt_compute" "server" {
  name   = "server"
  cpus   = "2"
  memory = "8Gi"
  image  = var.image
  freeze = true

  # The time limit of the CI job must be longer.
  timeouts = { create = "20m", update = "20m" }

  lifecycle {
    # A wait that times out is only a warning. This fails the job, and does not taint the compute.
    postcondition {
      condition     = self.ready || self.suspend
      error_message = "The compute must be ready."
    }
  }
}
