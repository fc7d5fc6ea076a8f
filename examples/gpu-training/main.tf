variable "trainers" {
  description = "Names of the trainers, with the number of GPUs of each."
  type        = map(number)
  default = {
    alice = 1
    bob   = 4
  }
}

# One compute for each member of the team, all with the same ratio of CPUs and memory to GPUs.
resource "kt_compute" "trainer" {
  for_each = var.trainers

  name                = "trainer-${each.key}"
  cpus                = 4 * each.value
  memory              = "${32 * each.value}Gi"
  gpus                = each.value
  gpu_type            = "NVIDIA-H100-80GB-HBM3"
  shared_memory_limit = "16Gi"

  image          = "nvcr.io/nvidia/pytorch:26.06-py3"
  launch_timeout = "30m"

  labels = {
    owner = each.key
  }
  env_vars = {
    OMP_NUM_THREADS = 4 * each.value
  }
}

output "urls" {
  description = "URL of each trainer inside the cluster."
  value       = { for name, trainer in kt_compute.trainer : name => trainer.url }
}
