variable "memory" {
  type    = string
  default = "64Gi"

  validation {
    condition     = provider::kt::quantity(var.memory) <= provider::kt::quantity("512Gi")
    error_message = "The nodes of the pool have 512Gi."
  }
}

output "bytes" {
  value = provider::kt::quantity(var.memory) # 68719476736
}

output "cores" {
  value = provider::kt::quantity("500m") # 0.5
}
