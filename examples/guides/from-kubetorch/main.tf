# kt.images.pytorch("26.06-py3").pip_install([...]).set_env_vars({...})
resource "kt_image" "pytorch" {
  name = "pytorch"
  base = "pytorch:26.06-py3"

  steps = [
    { pip_install = ["transformers==5.9.0"] },
    { set_env_vars = { OMP_NUM_THREADS = "4" } },
  ]
}

# kt.Compute(cpus=4, memory="32Gi", gpus=1, gpu_type="H100", image=image, ...)
resource "kt_compute" "trainer" {
  name      = "trainer"
  cpus      = 4
  memory    = "32Gi"
  disk_size = "10Gi"

  gpus                = 1
  gpu_type            = "NVIDIA-H100-80GB-HBM3"
  shared_memory_limit = "16Gi"

  image_ref      = kt_image.pytorch.ref
  launch_timeout = "30m"
  inactivity_ttl = "4h"
}
