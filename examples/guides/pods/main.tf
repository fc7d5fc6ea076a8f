# A model server that downloads its model before it starts, with a sidecar for its metrics.
resource "kt_compute" "llm" {
  name    = "llm"
  image   = "registry.example.com/ml/server:1.0.0"
  command = ["serve", "--model", "/models/llama"]
  port    = 8000
  memory  = "32Gi"
  gpus    = 1

  config_maps = [{ name = "server", env_keys = { LOG_LEVEL = "log-level" } }]
  env_from    = [{ secret = "database", prefix = "DB_" }]

  volumes = [
    { name = "models", empty_dir = { size_limit = "200Gi" }, mount_path = "/models", read_only = true },
    { config_map = "server", mount_path = "/etc/server.yaml", sub_path = "server.yaml" },
  ]

  init_containers = [{
    name          = "download"
    image         = "registry.example.com/ml/download:1.0.0"
    args          = ["llama", "/models/llama"]
    env_from      = [{ secret = "hub" }]
    volume_mounts = [{ name = "models", mount_path = "/models" }]
  }]
  sidecars = [{
    name   = "metrics"
    image  = "registry.example.com/ops/metrics:1.0.0"
    memory = "64Mi"
    ports  = [{ container_port = 9400, name = "metrics" }]
  }]

  security_context = {
    run_as_user     = 1000
    run_as_non_root = true
    fs_group        = 1000
    seccomp_profile = { type = "RuntimeDefault" }

    allow_privilege_escalation = false
    capabilities               = { drop = ["ALL"] }
  }

  # Kubernetes does not restart pods whose variables or sub_path come from a ConfigMap that changed.
  restart_triggers = { server = filesha256("${path.module}/server.yaml") }
}
