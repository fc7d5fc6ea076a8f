# A Job that may be interrupted any number of times: only failures of the program count towards backoffLimit.
resource "kt_compute" "finetune" {
  name   = "finetune"
  cpus   = 4
  memory = "32Gi"
  gpus   = 1
  image  = "registry.example.com/ml/finetune:1.0.0"

  node_selector = { "kubernetes.io/os" = "linux" } # on a real cluster, the label of its spot nodes

  manifest = yamlencode({
    apiVersion = "batch/v1"
    kind       = "Job"
    spec = {
      backoffLimit = 2
      podFailurePolicy = {
        rules = [{
          action          = "Ignore"
          onPodConditions = [{ type = "DisruptionTarget", status = "True" }]
        }]
      }
      template = {
        spec = {
          restartPolicy = "Never"
          containers = [{
            name    = "kubetorch"
            command = ["python", "/app/finetune.py", "--resume", "/checkpoints"]
          }]
        }
      }
    }
  })
}
