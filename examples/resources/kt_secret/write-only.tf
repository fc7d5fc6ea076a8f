# From a secret store, kept by Terraform nowhere. Raise the version to rotate.
variable "wandb_api_key" {
  type      = string
  ephemeral = true
}

resource "kt_secret" "wandb" {
  name              = "wandb"
  values_wo         = { WANDB_API_KEY = var.wandb_api_key }
  values_wo_version = 1
}
