variable "team" {
  description = "Name of the team, also used in the names of its objects."
  type        = string
}

variable "gpus" {
  description = "GPU quota of the team."
  type        = number

  validation {
    condition     = var.gpus >= 0 && floor(var.gpus) == var.gpus
    error_message = "The number of GPUs must be an integer that is not negative."
  }
}

variable "gpu_type" {
  description = "GPU product of the pool's nodes, as in the label nvidia.com/gpu.product. Another label is \"key: value\", such as \"cloud.google.com/gke-accelerator: nvidia-l4\". gpu_type_label of the provider does not apply."
  type        = string
}

variable "flavor" {
  description = "Existing ResourceFlavor, such as the output flavor of another pool on the same nodes. If null, one with the name of the team is created."
  type        = string
  default     = null
}

variable "cohort" {
  description = "Cohort whose pools lend each other unused GPUs. If null, nothing is lent or borrowed."
  type        = string
  default     = null
}

variable "borrowing_limit" {
  description = "Number of GPUs that the team can borrow from the cohort. If null, there is no limit. CPUs and memory are borrowed without a limit."
  type        = number
  default     = null

  validation {
    condition     = var.borrowing_limit == null || var.cohort != null
    error_message = "A borrowing limit requires a cohort."
  }
}

variable "lending_limit" {
  description = "Number of unused GPUs that the team lends to the cohort. If null, it lends all of them."
  type        = number
  default     = null

  validation {
    condition     = var.lending_limit == null || var.cohort != null
    error_message = "A lending limit requires a cohort."
  }
}

variable "cpus_per_gpu" {
  description = "Number of CPUs for each GPU, in the quota and in the requests of the trainers."
  type        = number
  default     = 8
}

variable "memory_per_gpu" {
  description = "Memory for each GPU in GiB, in the quota and in the requests of the trainers."
  type        = number
  default     = 64
}

variable "storage" {
  description = "Size of the volume that all trainers share."
  type        = string
}

variable "storage_class" {
  description = "Storage class of the volume. If null, a class that shares volumes is chosen, otherwise the default class."
  type        = string
  default     = null
}

variable "tokens" {
  description = "Keys of the team's Secret, each with the environment variable of the machine that runs Terraform from which its value is read. Its name starts with POOL_."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for variable in values(var.tokens) : startswith(variable, "POOL_")])
    error_message = "The name of a variable must start with POOL_. Otherwise, a pool could read the credentials of the machine that runs Terraform, such as KUBE_TOKEN."
  }
}

variable "trainers" {
  description = "Name of each trainer, and how many GPUs it gets."
  type        = map(number)
  default     = {}
}

variable "image" {
  description = "Image of the trainers."
  type        = string
  default     = "nvcr.io/nvidia/pytorch:26.06-py3"
}

variable "inactivity_ttl" {
  description = "Duration without calls after which Kubetorch deletes a trainer, such as \"4h\". If null, trainers stay."
  type        = string
  default     = null
}

variable "on_expiry" {
  description = "What follows when Kubetorch has deleted a trainer because of inactivity_ttl: \"recreate\", so that the next apply creates it again, or \"keep_suspended\"."
  type        = string
  default     = "recreate"
}

variable "suspend" {
  description = "Whether all trainers are suspended: they have no pods, and their quota is free."
  type        = bool
  default     = false
}

variable "env_vars" {
  description = "Environment variables of all trainers. Use tokens for secret values."
  type        = map(string)
  default     = {}
}

variable "tolerations" {
  description = "Tolerations of all trainers, in addition to those for GPU nodes. They are not part of the ResourceFlavor."
  type = list(object({
    key      = optional(string)
    operator = optional(string)
    value    = optional(string)
    effect   = optional(string)
  }))
  default = []
}

variable "deletion_protection" {
  description = "Whether to protect the volume and the queue from deletion."
  type        = bool
  default     = true
}
