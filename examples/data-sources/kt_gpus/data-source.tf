data "kt_gpus" "h100" {
  product          = "NVIDIA-H100-80GB-HBM3"
  schedulable_only = true
}

# One replica for each node with 8 GPUs. The GPUs that the trainer itself uses are not free, so a number that depends
# on free would change with each plan.
resource "kt_compute" "trainer" {
  name     = "trainer"
  gpus     = 8
  gpu_type = data.kt_gpus.h100.product
  replicas = length([for n in flatten(data.kt_gpus.h100.products[*].nodes) : n if n.allocatable >= 8])
}
