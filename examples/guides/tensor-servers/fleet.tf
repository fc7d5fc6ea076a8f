# Compute(name="trainer"), Compute(name="vllm")
resource "kt_compute" "grpo" {
  for_each = toset(["trainer", "vllm"])

  name     = each.key
  runtime  = "skytorch" # or "kpu"
  image    = "ghcr.io/astefanutti/skytorch-server:latest"
  gpus     = 1
  env_vars = { LOG_LEVEL = "DEBUG", SKYTORCH_METRICS_SOURCES = "nvidia-gpu" }
  labels   = { team = "ml", env = "prod" }
  timeouts = { create = "10m" }
}
