variable "image" {
  description = "Image with the model server and all of its code."
  type        = string
  default     = "registry.example.com/llm/server:1.4.2"
}

# A production service: code in the image, credentials from Secrets, weights from a
# volume, and protection against accidental deletion.
resource "kt_compute" "llm" {
  name     = "llm"
  cpus     = "8"
  memory   = "64Gi"
  gpus     = 2
  gpu_type = "nvidia.com/gpu.product: NVIDIA-L4"
  replicas = 2

  image             = var.image
  image_pull_policy = "IfNotPresent"
  freeze            = true
  working_dir       = "/app"

  allowed_serialization = ["json"]
  logging_config = {
    level = "warning"
  }

  secrets = [
    { name = "huggingface", env_vars = ["HF_TOKEN"] },
    { name = "aws", mount_path = "/root/.aws" },
  ]
  volumes = [
    { claim_name = "weights", mount_path = "/weights", read_only = true },
  ]

  node_selector = {
    "kubernetes.io/os" = "linux"
  }
  tolerations = [
    { key = "gpu-reserved", operator = "Exists", effect = "NoSchedule" },
  ]

  # As in Kubetorch, more than one replica means by default that an update stops all pods before it starts new ones. Here,
  # one pod is replaced after the other, without a free GPU for an additional one.
  strategy        = "RollingUpdate"
  max_surge       = 0
  max_unavailable = 1

  termination_grace_period = "60s"

  deletion_protection = true

  timeouts = {
    create = "30m"
  }
}

output "url" {
  description = "URL of the service inside the cluster."
  value       = kt_compute.llm.url
}
