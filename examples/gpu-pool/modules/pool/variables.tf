variable "team" {
  description = "Name of the team, and of what is made for it."
  type        = string
}

variable "gpus" {
  description = "GPUs that the team's queue admits at a time."
  type        = number
}

variable "gpu_type" {
  description = "GPU product of the pool's nodes (label nvidia.com/gpu.product)."
  type        = string
}

variable "storage" {
  description = "Size of the volume that all trainers share."
  type        = string
}

variable "storage_class" {
  description = "Class of the volume; null finds an NFS or CephFS class, else the default one."
  type        = string
  default     = null
}

variable "tokens" {
  description = "Keys of the team's Secret, each with the environment variable that it is read from."
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
