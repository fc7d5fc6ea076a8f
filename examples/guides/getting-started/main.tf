variable "gpus" {
  description = "Number of GPUs. With 0, the compute runs on any node."
  type        = number
  default     = 1
}

variable "gpu_type" {
  description = "GPU product of the nodes, as in their label nvidia.com/gpu.product."
  type        = string
  default     = "NVIDIA-L4"
}

resource "kt_compute" "hello" {
  name   = "hello"
  cpus   = "1"
  memory = "4Gi"

  gpus     = var.gpus
  gpu_type = var.gpus > 0 ? var.gpu_type : null
}

output "url" {
  description = "URL of the compute inside the cluster."
  value       = kt_compute.hello.url
}

output "ready" {
  description = "Whether the compute is ready."
  value       = kt_compute.hello.ready
}
