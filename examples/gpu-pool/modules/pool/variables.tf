variable "team" {
  description = "Name of the team, also used in the names of its objects."
  type        = string
}

variable "gpus" {
  description = "Number of GPUs that the team's queue admits concurrently."
  type        = number
}

variable "gpu_type" {
  description = "GPU product of the pool's nodes, as in the label nvidia.com/gpu.product."
  type        = string
}

variable "storage" {
  description = "Size of the volume that all trainers share."
  type        = string
}

variable "storage_class" {
  description = "Storage class of the volume. If null, an NFS or CephFS class is chosen, otherwise the default class."
  type        = string
  default     = null
}

variable "tokens" {
  description = "Keys of the team's Secret, each with the environment variable from which its value is read."
  type        = map(string)
  default     = {}
}

variable "trainers" {
  description = "Name of each trainer, and how many GPUs it gets."
  type        = map(number)
}

variable "image" {
  description = "Image of the trainers."
  type        = string
  default     = "nvcr.io/nvidia/pytorch:23.12-py3"
}
