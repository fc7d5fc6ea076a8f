# A server on GPUs of AMD. Their device plugin advertises the resource amd.com/gpu.
resource "kt_compute" "rocm" {
  name               = "rocm"
  cpus               = 8
  memory             = "64Gi"
  extended_resources = { "amd.com/gpu" = 1 }

  service_account_name = "default"

  image       = "vllm/vllm-openai-rocm:v0.28.0"
  command     = ["vllm", "serve", "Qwen/Qwen3-8B"]
  port        = 8000
  health_path = "/health"

  # No node of this cluster may have such a GPU yet.
  on_not_ready = "ignore"
}
