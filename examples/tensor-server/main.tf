variable "suspended" {
  description = "Whether to stop the pod and release its GPU. Everything else is kept."
  type        = bool
  default     = false
}

# A tensor server, run by the SkyTorch operator. The data of its scratch volume outlives the pod and the compute. The
# PersistentVolumeClaim has the name of the template, which must therefore be unique in the namespace.
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
  description = "Target for gRPC clients inside the cluster."
  value       = kt_compute.tensors.grpc_target
}
