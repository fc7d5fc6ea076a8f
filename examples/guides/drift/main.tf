# The provider restores every field that it applies to this compute.
resource "kt_compute" "trainer" {
  name     = "trainer"
  cpus     = 4
  memory   = "32Gi"
  gpus     = 1
  gpu_type = "NVIDIA-H100-80GB-HBM3"
  image    = "nvcr.io/nvidia/pytorch:26.06-py3"

  labels = {
    team = "research"
  }
}

# An autoscaler changes the number of pods of this compute. Plans ignore the change.
resource "kt_compute" "api" {
  name     = "api"
  cpus     = "500m"
  memory   = "1Gi"
  replicas = 2

  lifecycle {
    ignore_changes = [replicas]
  }
}
