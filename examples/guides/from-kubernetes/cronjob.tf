# A kubernetes_cron_job_v1. Attributes and manifest can be combined: values of the manifest take precedence.
resource "kt_compute" "nightly" {
  name                 = "nightly"
  cpus                 = 2
  gpus                 = 1
  gpu_type             = "NVIDIA-H100-80GB-HBM3"
  image                = "registry.example.com/ml/evaluate:2.0"
  service_account_name = "default"

  manifest = yamlencode({
    apiVersion = "batch/v1"
    kind       = "CronJob"
    spec = {
      schedule          = "0 3 * * *"
      concurrencyPolicy = "Forbid"
      jobTemplate = {
        spec = {
          template = {
            spec = {
              containers = [{
                name    = "kubetorch"
                command = ["python", "/app/evaluate.py"]
              }]
            }
          }
        }
      }
    }
  })
}
