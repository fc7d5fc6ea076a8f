# kt.Compute(gpus=1, ...).distribute("pytorch", workers=4, num_proc=1)
resource "kt_compute" "ddp" {
  name           = "ddp"
  gpus           = 1
  image          = "nvcr.io/nvidia/pytorch:26.06-py3"
  launch_timeout = "10m"
  inactivity_ttl = "4h"

  distribute = {
    type           = "pytorch"
    workers        = 4
    quorum_timeout = "5m"
    args           = jsonencode({ num_proc = 1 })
  }
}
