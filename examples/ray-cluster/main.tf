variable "workers" {
  description = "Number of pods of the Ray cluster, including its head."
  type        = number
  default     = 3
}

# A Ray cluster, run by the KubeRay operator: one head and several workers.
resource "kt_compute" "ray" {
  name           = "ray"
  cpus           = 2
  memory         = "8Gi"
  image          = "rayproject/ray:2.57.0"
  launch_timeout = "10m"

  distribute = {
    type    = "ray"
    workers = var.workers
    args    = jsonencode({ rayVersion = "2.57.0" })
  }
}

output "url" {
  description = "URL of the head inside the cluster."
  value       = kt_compute.ray.url
}
