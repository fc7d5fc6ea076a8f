# A vLLM server that a HorizontalPodAutoscaler scales by the number of waiting requests.
resource "kt_compute" "llm" {
  name     = "llm"
  gpus     = 1
  gpu_type = "NVIDIA-L4"

  service_account_name = "default"

  image       = "vllm/vllm-openai:v0.28.0"
  command     = ["vllm", "serve", "Qwen/Qwen3-8B"]
  port        = 8000
  health_path = "/health"

  autoscale = {
    scaler    = "hpa"
    min_scale = 1
    max_scale = 8

    metrics = [{
      pods = {
        metric = { name = "vllm_num_requests_waiting" }
        target = { average_value = 5 }
      }
    }]

    # Starting a pod takes minutes, so remove at most one every 5 minutes.
    behavior = {
      scale_down = {
        policies = [{ type = "Pods", value = 1, period_seconds = 300 }]
      }
    }
  }
}
