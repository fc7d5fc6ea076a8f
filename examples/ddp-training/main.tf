# Distributed data-parallel training on four pods, which discover each other
# through a headless Service. A call runs on all of them concurrently.
resource "kt_compute" "ddp" {
  name                = "ddp"
  cpus                = 8
  memory              = "64Gi"
  gpus                = 2
  gpu_type            = "NVIDIA-H100-80GB-HBM3"
  shared_memory_limit = "16Gi"
  image               = "nvcr.io/nvidia/pytorch:26.06-py3"
  launch_timeout      = "30m"
  inactivity_ttl      = "4h"

  distribute = {
    type           = "pytorch"
    workers        = 4
    quorum_timeout = "10m"
    args           = jsonencode({ num_proc = 2 })
  }

  env_vars = {
    NCCL_DEBUG = "WARN"
  }
}
