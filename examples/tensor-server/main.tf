variable "suspended" {
  description = "Give the GPU back, and keep everything else."
  type        = bool
  default     = false
}

# A tensor server that the SkyTorch operator runs. What is on its scratch volume outlives the pod, and the compute; the
# claim has the template's name, so that is unique in the namespace.
resource "kt_compute" "tensors" {
  name    = "tensors"
  runtime = "skytorch"
  cpus    = 4
  memory  = "16Gi"
  gpus    = 1
  suspend = var.suspended

  volume_claim_templates = [
    {
      name       = "tensors-scratch"
      size       = "10Gi"
      mount_path = "/scratch"
    },
  ]

  launch_timeout = "10m"
}

output "grpc_target" {
  description = "Where gRPC clients inside of the cluster reach the server."
  value       = kt_compute.tensors.grpc_target
}
