data "kt_gpus" "h100" {
  product          = "NVIDIA-H100-80GB-HBM3"
  schedulable_only = true
}

# One replica for each node that currently has 8 free GPUs.
resource "kt_compute" "trainer" {
  name     = "trainer"
  gpus     = 8
  gpu_type = data.kt_gpus.h100.product
  replicas = length([for n in flatten(data.kt_gpus.h100.products[*].nodes) : n if n.free >= 8])
}
