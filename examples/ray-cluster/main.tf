variable "workers" {
  description = "Pods of the Ray cluster, its head included."
  type        = number
  default     = 3
}

# A Ray cluster, run by the KubeRay operator: one head, and workers beside it.
resource "kt_compute" "ray" {
  name           = "ray"
  cpus           = 2
  memory         = "8Gi"
  image          = "rayproject/ray:2.41.0"
  launch_timeout = "10m"

  distribute = {
    type    = "ray"
    workers = var.workers
    args    = jsonencode({ rayVersion = "2.41.0" })
  }
}

output "url" {
  description = "Where the head is reached inside of the cluster."
  value       = kt_compute.ray.url
}
