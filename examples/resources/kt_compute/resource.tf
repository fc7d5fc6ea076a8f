resource "kt_compute" "trainer" {
  name   = "trainer"
  cpus   = "4"
  memory = "32Gi"

  gpus                = 1
  gpu_type            = "NVIDIA-H100-80GB-HBM3"
  shared_memory_limit = "16Gi"

  image = "nvcr.io/nvidia/pytorch:26.06-py3"
}
