# NVIDIA Triton with its gRPC API and its metrics, which a load balancer of the cloud reaches inside of its network.
resource "kt_compute" "grpc" {
  name   = "triton-grpc"
  cpus   = 4
  memory = "16Gi"
  gpus   = 1

  service_account_name = "default"

  image   = "nvcr.io/nvidia/tritonserver:26.06-py3"
  command = ["tritonserver", "--model-repository=/models"]
  port    = 8000
  ports = [
    { name = "grpc", port = 8001, app_protocol = "kubernetes.io/h2c" },
    { name = "metrics", port = 8002 },
  ]
  service = {
    type        = "LoadBalancer"
    annotations = { "networking.gke.io/load-balancer-type" = "Internal" }
  }

  probes = {
    startup   = { grpc = { port = 8001 }, period = "5s", failure_threshold = 360 } # 30 minutes
    readiness = { http_get = { path = "/v2/health/ready" }, period = "5s", timeout = "5s" }
    liveness  = { http_get = { path = "/v2/health/live" }, period = "30s", timeout = "10s" }
  }

  # Requests that arrive before the endpoints are updated are still answered. Then Triton gets SIGTERM.
  pre_stop                 = { sleep = "10s" }
  termination_grace_period = "2m"
}
