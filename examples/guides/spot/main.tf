# A trainer that prefers spot nodes, and otherwise runs on any node with the GPU. The label and the taint are those of AKS.
resource "kt_compute" "trainer" {
  name     = "trainer"
  cpus     = 4
  memory   = "32Gi"
  gpus     = 1
  gpu_type = "NVIDIA-L4"
  freeze   = true
  image    = "registry.example.com/ml/trainer:1.0.0"

  affinity = jsonencode({
    nodeAffinity = {
      preferredDuringSchedulingIgnoredDuringExecution = [{
        weight = 100
        preference = {
          matchExpressions = [{ key = "kubernetes.azure.com/scalesetpriority", operator = "In", values = ["spot"] }]
        }
      }]
    }
  })
  tolerations = [
    { key = "kubernetes.azure.com/scalesetpriority", operator = "Equal", value = "spot", effect = "NoSchedule" },
  ]

  # Time to write a checkpoint after SIGTERM, within the notice that the cloud gives.
  termination_grace_period = "25s"
  volumes                  = [{ claim_name = kt_volume.checkpoints.name, mount_path = "/checkpoints" }]
}

resource "kt_volume" "checkpoints" {
  name = "checkpoints"
  size = "100Gi"
}
