# A GPU pool for a team: its namespace, a queue with a quota, a shared volume, the team's tokens, and one trainer for each
# member.
module "pool" {
  source = "../../modules/gpu-pool"

  team     = "vision"
  gpus     = 16
  gpu_type = "NVIDIA-H100-80GB-HBM3"
  storage  = "1Ti"

  deletion_protection = true # of the volume and of the queue

  # Without the following, the objects are created in an existing namespace.
  create_namespace = true
  resource_quota   = { "requests.nvidia.com/gpu" = "16" }
  members = [
    { name = "alice@example.com" },
    { kind = "Group", name = "vision" },
  ]

  tokens = {
    WANDB_API_KEY = "POOL_WANDB_API_KEY" # key of the Secret = environment variable of the machine that runs Terraform
  }

  trainers = {
    alice = 2
    bob   = 4
  }

  # Settings of all trainers.
  inactivity_ttl = "4h" # Kubetorch deletes a trainer without calls, and the next apply creates it again
  env_vars       = { NCCL_DEBUG = "WARN" }
  tolerations    = [{ key = "team", value = "vision", effect = "NoSchedule" }]
}

output "urls" {
  description = "URL of each trainer inside the cluster."
  value       = module.pool.urls
}
