# vLLM with a token of Hugging Face, and with the weights on a volume.
resource "kt_compute" "vllm" {
  name   = "vllm"
  cpus   = 8
  memory = "32Gi"
  gpus   = 1
  limits = { memory = "48Gi" }

  service_account_name = "default"

  image       = "vllm/vllm-openai:v0.28.0"
  command     = ["vllm", "serve", "Qwen/Qwen3-8B"]
  args        = ["--port", "8000", "--max-model-len", "16384"]
  port        = 8000
  health_path = "/health"

  # The first start downloads the weights to the volume.
  launch_timeout = "30m"
  env_vars       = { HF_HOME = "/weights" }
  secrets        = [kt_secret.huggingface.ref]
  volumes        = [{ claim_name = kt_volume.weights.name, mount_path = "/weights" }]
  strategy       = "Recreate" # a new pod could not mount the volume on another node

  # Running requests can be completed before the pod ends.
  termination_grace_period = "2m"
}

# The token that `hf auth login` stored on this machine, or the variable HF_TOKEN. It does not appear in the state.
resource "kt_secret" "huggingface" {
  name          = "huggingface"
  provider_name = "huggingface"
}

resource "kt_volume" "weights" {
  name        = "vllm-weights"
  size        = "50Gi"
  access_mode = "ReadWriteOnce"
}

output "url" {
  description = "URL of the OpenAI-compatible API inside the cluster."
  value       = kt_compute.vllm.url
}
