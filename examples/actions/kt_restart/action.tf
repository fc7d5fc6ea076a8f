variable "token" {
  type      = string
  ephemeral = true
}

variable "token_version" {
  type    = number
  default = 1
}

action "kt_restart" "trainer" {
  config {
    name = "trainer"
  }
}

# Running pods keep the environment variables with which they started. When the token changes, they are restarted.
resource "kt_secret" "token" {
  name              = "token"
  values_wo         = { API_TOKEN = var.token }
  values_wo_version = var.token_version

  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.kt_restart.trainer]
    }
  }
}

resource "kt_compute" "trainer" {
  name     = "trainer"
  cpus     = "1"
  replicas = 2
  secrets  = [kt_secret.token.ref]
}
