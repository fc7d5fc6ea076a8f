# A value from a secret store, which Terraform does not store. Increase the version to rotate it.
variable "wandb_api_key" {
  type      = string
  ephemeral = true
}

resource "kt_secret" "wandb" {
  name              = "wandb"
  values_wo         = { WANDB_API_KEY = var.wandb_api_key }
  values_wo_version = 1
}
