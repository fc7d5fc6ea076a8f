# A vLLM server that KEDA scales by a query of Prometheus, and to zero pods after half an hour without requests.
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
    scaler          = "keda"
    min_scale       = 0
    max_scale       = 8
    cooldown_period = "30m"

    # All values of metadata are strings, as in KEDA.
    triggers = [{
      type = "prometheus"
      metadata = {
        serverAddress = "http://prometheus.monitoring.svc:9090"
        query         = "sum(rate(gateway_requests_total{model=\"llm\"}[2m]))" # of what runs while the model does not
        threshold     = "5"                                                    # requests per second for each pod
      }
    }]
  }
}
