variable "gpus" {
  type    = number
  default = 1

  validation {
    condition     = var.gpus <= 8
    error_message = "A node has at most 8 GPUs."
  }
}

variable "token" {
  type      = string
  sensitive = true
}

resource "kt_secret" "huggingface" {
  name              = "huggingface"
  values_wo         = { HF_TOKEN = var.token }
  values_wo_version = 1
}

resource "kt_volume" "weights" {
  name       = "weights"
  size       = "200Gi"
  mount_path = "/weights"
}

resource "kt_image" "server" {
  name  = "server"
  base  = "python:3.12"
  steps = [{ pip_install = ["vllm"] }]
}

resource "kt_compute" "server" {
  name      = "server"
  image_ref = kt_image.server.ref
  gpus      = var.gpus
  secrets   = [kt_secret.huggingface.ref]
  volumes   = [kt_volume.weights.ref]
}
