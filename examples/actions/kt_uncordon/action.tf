variable "node" {
  type    = string
  default = "gpu-0"
}

# terraform apply -invoke=action.kt_uncordon.trainer -var=node=gpu-0
action "kt_uncordon" "trainer" {
  config {
    node = var.node
  }
}
