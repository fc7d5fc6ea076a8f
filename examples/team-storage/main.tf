variable "storage_class" {
  description = "Storage class of the shared volume. If null, a class that shares volumes is chosen, otherwise the default class."
  type        = string
  default     = null
}

# A volume that all computes of the team share.
resource "kt_volume" "datasets" {
  name                = "datasets"
  size                = "500Gi"
  mount_path          = "/datasets"
  storage_class       = var.storage_class
  deletion_protection = true
}

# The team's Hugging Face token, read from ~/.cache/huggingface/token or HF_TOKEN
# on the machine that runs Terraform. It is sent to the cluster only, and appears
# neither in the plan nor in the state.
resource "kt_secret" "huggingface" {
  name          = "huggingface"
  provider_name = "huggingface"
}

# The setup of the team's containers, which runs before the server starts.
resource "kt_image" "team" {
  name = "team"
  base = "pytorch"
  steps = [
    { pip_install = ["transformers==5.9.0", "datasets==4.4.1"] },
    { set_env_vars = { HF_HOME = "/datasets/huggingface" } },
  ]
}

resource "kt_compute" "notebook" {
  name      = "notebook"
  cpus      = 2
  memory    = "16Gi"
  image_ref = kt_image.team.ref
  volumes   = [kt_volume.datasets.ref]
  secrets   = [kt_secret.huggingface.ref]
}
