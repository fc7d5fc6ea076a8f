variable "replicas" {
  type    = number
  default = 2
}

resource "kt_compute" "trainer" {
  name     = "trainer"
  cpus     = "1"
  replicas = 2

  lifecycle {
    ignore_changes = [replicas] # the action changes it
  }
}

# terraform apply -invoke=action.kt_scale.trainer -var=replicas=4
action "kt_scale" "trainer" {
  config {
    id       = kt_compute.trainer.id
    replicas = var.replicas
  }
}
