variable "queue" {
  description = "Name of the Kueue LocalQueue that admits the job."
  type        = string
  default     = "training"
}

# Your own PyTorchJob, admitted by Kueue. Kubetorch's defaults are merged into the
# manifest, whose own values take precedence: its image and resources are kept, and
# the container gets the server, its probes and the shared memory.
resource "kt_compute" "finetune" {
  name       = "finetune"
  queue_name = var.queue
  cpus       = 4
  gpus       = 1

  manifest = yamlencode({
    apiVersion = "kubeflow.org/v1"
    kind       = "PyTorchJob"
    spec = {
      runPolicy = {
        cleanPodPolicy = "Running"
      }
      pytorchReplicaSpecs = {
        Master = {
          replicas      = 1
          restartPolicy = "OnFailure"
          template = {
            spec = {
              containers = [{
                name  = "pytorch"
                image = "nvcr.io/nvidia/pytorch:26.06-py3"
              }]
            }
          }
        }
        Worker = {
          replicas      = 3
          restartPolicy = "OnFailure"
          template = {
            spec = {
              containers = [{
                name  = "pytorch"
                image = "nvcr.io/nvidia/pytorch:26.06-py3"
              }]
            }
          }
        }
      }
    }
  })
}
