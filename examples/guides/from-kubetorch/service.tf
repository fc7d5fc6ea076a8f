# kt.Compute(cpus="500m", replicas=2, freeze=True, ...): a service whose code is in its image.
resource "kt_compute" "api" {
  name   = "ranking-api"
  cpus   = "500m"
  memory = "1Gi"

  replicas             = 2
  freeze               = true
  image                = "registry.example.com/ml/ranking:1.0"
  image_pull_policy    = "IfNotPresent"
  working_dir          = "/app"
  service_account_name = "default"
  gpu_anti_affinity    = true

  labels      = { team = "ml-research" }
  annotations = { "prometheus.io/scrape" = "true" }
  env_vars = {
    OMP_NUM_THREADS = "4"
    PATH            = "$PATH:/custom/bin" # expanded when the container starts
  }

  node_selector = { "kubernetes.io/os" = "linux" }
  tolerations = [
    { key = "dedicated", operator = "Equal", value = "ml-workloads", effect = "NoSchedule" },
  ]

  allowed_serialization = ["json"]
  logging_config = {
    level          = "warning"
    include_events = false
    grace_period   = "2s"
  }

  service_template = jsonencode({
    spec = { template = { spec = { terminationGracePeriodSeconds = 60 } } }
  })
}
