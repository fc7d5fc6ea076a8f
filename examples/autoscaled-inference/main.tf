# An inference service that Knative scales with its load, down to zero pods.
resource "kt_compute" "chat" {
  name     = "chat"
  cpus     = 4
  memory   = "32Gi"
  gpus     = 1
  gpu_type = "NVIDIA-L4"
  freeze   = true
  image    = "registry.example.com/ml/chat:2.1"

  autoscale = {
    min_scale   = 0
    max_scale   = 8
    target      = 4 # concurrent requests per pod to aim for
    concurrency = 8

    # Loading the model takes minutes, so keep the last pod for a while.
    scale_to_zero_pod_retention_period = "30m"
  }
}

output "url" {
  description = "URL of the service inside the cluster."
  value       = kt_compute.chat.url
}
