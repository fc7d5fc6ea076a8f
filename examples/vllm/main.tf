resource "kt_compute" "vllm" {
  name     = "vllm"
  cpus     = 8
  memory   = "32Gi"
  gpus     = 1
  gpu_type = "NVIDIA-H100-80GB-HBM3"

  image       = "vllm/vllm-openai:v0.28.0"
  command     = ["vllm", "serve", "Qwen/Qwen3-8B"]
  port        = 8000
  health_path = "/health"

  service_account_name = "default"
}
