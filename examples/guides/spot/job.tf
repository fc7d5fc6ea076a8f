# A Job that may be interrupted any number of times: only failures of the program count towards backoff_limit.
resource "kt_compute" "finetune" {
  name   = "finetune"
  cpus   = 4
  memory = "32Gi"
  gpus   = 1

  service_account_name = "default" # without Kubetorch in the cluster

  image   = "registry.example.com/ml/finetune:1.0.0"
  command = ["python", "/app/finetune.py", "--resume", "/checkpoints"]
  volumes = [kt_volume.finetune.ref] # outlives the pods

  node_selector = { "kubernetes.io/os" = "linux" } # on a real cluster, the label of its spot nodes

  job = {
    backoff_limit = 2
    pod_failure_policy = [{
      action            = "Ignore"
      on_pod_conditions = [{ type = "DisruptionTarget" }]
    }]
  }
}

resource "kt_volume" "finetune" {
  name       = "finetune"
  size       = "100Gi"
  mount_path = "/checkpoints"
}
