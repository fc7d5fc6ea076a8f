variable "inactivity_ttl" {
  type    = string
  default = "1h30m"

  validation {
    condition     = provider::kt::duration(var.inactivity_ttl) <= provider::kt::duration("2d")
    error_message = "Idle computes end after two days at the latest."
  }
}

output "seconds" {
  value = provider::kt::duration(var.inactivity_ttl) # 5400
}
