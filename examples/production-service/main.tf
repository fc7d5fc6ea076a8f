variable "image" {
  description = "Image that holds the model server and all of its code."
  type        = string
  default     = "registry.example.com/llm/server:1.4.2"
}

# A service as it goes into production: the code is in the image, credentials come from
# Secrets, weights from a volume, and nobody deletes it by accident.
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
  logging = {
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

  # What the attributes don't cover is merged over the rendered Deployment.
  service_template = jsonencode({
    spec = {
      template = {
        spec = {
          terminationGracePeriodSeconds = 60
        }
      }
    }
  })

  deletion_protection = true

  timeouts = {
    create = "30m"
  }
}

output "url" {
  description = "Where the service is reached inside of the cluster."
  value       = kt_compute.llm.url
}
