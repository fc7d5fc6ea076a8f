# SGLang with one model on two nodes of eight GPUs. A HorizontalPodAutoscaler adds and removes groups of two pods.
resource "kt_compute" "large" {
  name   = "large"
  cpus   = 32
  memory = "256Gi"
  gpus   = 8

  service_account_name = "default"

  # LeaderWorkerSet sets the variables. All pods of a group answer /health, and only the leaders get requests.
  image = "lmsysorg/sglang:v0.5.4"
  command = [
    "python3", "-m", "sglang.launch_server", "--model-path", "deepseek-ai/DeepSeek-R1", "--tp", "16",
    "--dist-init-addr", "$(LWS_LEADER_ADDRESS):20000", "--nnodes", "$(LWS_GROUP_SIZE)",
    "--node-rank", "$(LWS_WORKER_INDEX)", "--host", "0.0.0.0", "--port", "30000",
  ]
  port                = 30000
  health_path         = "/health"
  launch_timeout      = "1h"
  shared_memory_limit = "64Gi"

  manifest = yamlencode({
    apiVersion = "leaderworkerset.x-k8s.io/v1"
    kind       = "LeaderWorkerSet"
    spec       = { leaderWorkerTemplate = { size = 2 } }
  })

  autoscale = {
    scaler    = "hpa"
    min_scale = 1
    max_scale = 4
    metrics = [{
      external = { metric = { name = "requests_waiting" }, target = { average_value = 10 } }
    }]
  }
}
