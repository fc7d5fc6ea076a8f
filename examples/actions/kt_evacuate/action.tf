variable "node" {
  type    = string
  default = "gpu-0"
}

resource "kt_compute" "trainer" {
  name     = "trainer"
  cpus     = "1"
  replicas = 2
  strategy = "RollingUpdate"

  pod_disruption_budget = {
    max_unavailable = "1"
  }
}

# terraform apply -invoke=action.kt_evacuate.trainer -var=node=gpu-0
action "kt_evacuate" "trainer" {
  config {
    id     = kt_compute.trainer.id
    node   = var.node
    cordon = true
  }
}
