data "kt_gpus" "h100" {
  product          = "NVIDIA-H100-80GB-HBM3"
  schedulable_only = true
}

locals {
  trainer = {
    name     = "trainer"
    gpus     = 8
    gpu_type = "NVIDIA-H100-80GB-HBM3"
    replicas = 2
  }
}

# A warning in the plan, instead of pods that wait for GPUs.
check "capacity" {
  assert {
    condition     = provider::kt::fits(local.trainer, data.kt_gpus.h100)
    error_message = "The cluster has no two nodes with 8 free H100s."
  }
}

output "fits" {
  value = provider::kt::fits(local.trainer, data.kt_gpus.h100)
}
